// A datagram that is cut, and put together again.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import {
  createPacketBatch,
  DESCRIPTOR_WORDS,
  LENGTH,
  OFFSET,
} from '../../../dataplane/contract.ts';
import { Fragmenter } from '../../../dataplane/sockets/fragmenter.ts';
import { Joiner } from '../../../dataplane/sockets/joiner.ts';
import { Outbox } from '../../../dataplane/sockets/outbox.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { parseAddress } from '../../../dataplane/wire/address.ts';
import { InnerPacket, parseInner, PROTOCOL_UDP } from '../../../dataplane/wire/ip.ts';
import { wordsOf } from '../../../dataplane/wire/network.ts';
import { viewOf } from '../../support/dataplane/packets.ts';

function endsOf(source: string, destination: string): Ends {
  const ends = new Ends();
  ends.isIpv6 = source.includes(':');
  ends.words.set(wordsOf(parseAddress(source)!), 0);
  ends.words.set(wordsOf(parseAddress(destination)!), 4);
  return ends;
}

for (const [ends, headers] of [
  [endsOf('192.0.2.7', '10.8.0.2'), 20],
  [endsOf('2001:db8::7', 'fd00::2'), 40],
] as const)
  test(`a datagram over IPv${ends.isIpv6 ? 6 : 4} comes in parts that fit`, (t) => {
    const batch = createPacketBatch();
    const outbox = new Outbox(batch, true);
    const fragmenter = new Fragmenter(1);
    const joiner = new Joiner();
    // A UDP header with its length: the packets are read as those of a device are.
    const upper = randomBytes(60_000);
    upper.writeUInt16BE(60_000, 4);
    upper.copy(fragmenter.bytes);
    fragmenter.begin(ends, PROTOCOL_UDP, upper.length, 1_280);
    let isWhole = false;
    const packet = new InnerPacket();
    let count = 0;
    outbox.most = 10;
    while (fragmenter.isBusy) {
      fragmenter.emit(outbox);
      t.true(batch.count <= 10);
      for (let i = 0; i < batch.count; i++, count++) {
        t.false(isWhole);
        const at = i * DESCRIPTOR_WORDS;
        const [offset, length] = [batch.descriptors[at + OFFSET]!, batch.descriptors[at + LENGTH]!];
        t.true(length <= 1_280);
        t.is(parseInner(batch.view, offset, length, packet), 0);
        isWhole = joiner.take(3, batch.bytes, batch.view, offset, packet);
      }
      batch.count = 0;
    }
    t.true(isWhole);
    t.is(packet.length, headers + upper.length);
    t.deepEqual(Buffer.from(joiner.bytes.subarray(headers, packet.length)), upper);
    t.true(count >= 48);
  });

test('fragments of another device, or after a hole, are not put together', (t) => {
  const batch = createPacketBatch();
  const outbox = new Outbox(batch, true);
  const fragmenter = new Fragmenter(1);
  fragmenter.bytes.writeUInt16BE(3_000, 4);
  fragmenter.begin(endsOf('192.0.2.7', '10.8.0.2'), PROTOCOL_UDP, 3_000, 1_280);
  fragmenter.emit(outbox);
  const packet = new InnerPacket();
  const take = (joiner: Joiner, device: number, i: number): boolean => {
    const at = i * DESCRIPTOR_WORDS;
    const [offset, length] = [batch.descriptors[at + OFFSET]!, batch.descriptors[at + LENGTH]!];
    t.is(parseInner(viewOf(batch.bytes), offset, length, packet), 0);
    return joiner.take(device, batch.bytes, batch.view, offset, packet);
  };
  t.is(batch.count, 3);
  const whole = new Joiner();
  t.deepEqual([take(whole, 1, 0), take(whole, 1, 1), take(whole, 1, 2)], [false, false, true]);
  const hole = new Joiner();
  t.deepEqual([take(hole, 1, 0), take(hole, 1, 2)], [false, false]);
  const other = new Joiner();
  t.deepEqual([take(other, 1, 0), take(other, 2, 1), take(other, 1, 2)], [false, false, false]);
});

test('what waits can be dropped', (t) => {
  const fragmenter = new Fragmenter(1);
  fragmenter.begin(endsOf('192.0.2.7', '10.8.0.2'), PROTOCOL_UDP, 3_000, 1_280);
  t.true(fragmenter.isBusy);
  fragmenter.clear();
  t.false(fragmenter.isBusy);
});
