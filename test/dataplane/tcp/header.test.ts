// What is written is read back.

import test from 'ava';
import { complete, isRight } from '../../../dataplane/tcp/checksum.ts';
import { Header, headerBytes, optionBytes, writeHeader } from '../../../dataplane/tcp/header.ts';
import { readSegment, Segment } from '../../../dataplane/tcp/segment.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { findMalformed } from '../../../dataplane/wire/malformed.ts';
import { Dice } from '../../support/tcp/world.ts';

test('headers of both families with random options', (t) => {
  const dice = new Dice(2);
  const [inner, segment] = [new InnerPacket(), new Segment()];
  const bytes = Buffer.alloc(400);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const header = new Header(new Ends());
  const { ends } = header;
  for (let i = 0; i < 2_000; i++) {
    ends.isIpv6 = dice.oneIn(2);
    const last = ends.isIpv6 ? [9, 10, 11] : [0, 0, 0];
    ends.words.set([0x0a000001, ...last, 0x0a000002, ...last, (80 << 16) | 5_000]);
    header.clear(0x10, dice.below(2 ** 32) | 0);
    header.acknowledgement = dice.below(2 ** 32) | 0;
    header.window = dice.below(65_536);
    header.mss = dice.pick([0, 1_200]);
    header.shift = dice.pick([-1, 7]);
    header.isSackPermitted = dice.oneIn(2);
    header.hasTimestamp = dice.oneIn(2);
    header.stamp = -5;
    header.echo = 6;
    header.blockCount = dice.below(5);
    for (let k = 0; k < 8; k++) header.blocks[k] = 100 + k;
    const payload = dice.below(200);
    const length = headerBytes(header);
    t.true(optionBytes(header) <= 40);
    writeHeader(view, 8, header, length, payload);
    t.is(parseInner(view, 8, bytes.length - 8, inner), 0);
    t.is(inner.length, length + payload);
    complete(view, 8 + inner.upperOffset, inner.length - inner.upperOffset);
    t.true(isRight(view, 8, 8 + inner.upperOffset, inner.length - inner.upperOffset));
    t.is(findMalformed(view, 8, inner), 0);
    t.is(inner.source0, 0x0a000001);
    t.is(inner.destination3, last[2]!);
    t.deepEqual([inner.sourcePort, inner.destinationPort], [80, 5_000]);
    t.true(readSegment(view, 8, inner, segment));
    t.is(segment.length, payload);
    for (const name of ['sequence', 'acknowledgement', 'window', 'mss', 'shift'] as const)
      t.is(segment[name], header[name]);
    t.is(segment.isSackPermitted, header.isSackPermitted);
    t.is(segment.hasTimestamp, header.hasTimestamp);
    if (header.hasTimestamp) t.deepEqual([segment.stamp, segment.echo], [-5, 6]);
    t.is(segment.blockCount, header.blockCount);
    for (let k = 0; k < 2 * header.blockCount; k++) t.is(segment.blocks[k], 100 + k);
  }
});

test('SACK blocks beside a timestamp: three, and four without', (t) => {
  const header = new Header(new Ends());
  header.clear(0x10, 1);
  header.blockCount = 4;
  t.is(optionBytes(header), 36);
  t.is(header.blockCount, 4);
  header.hasTimestamp = true;
  t.is(optionBytes(header), 12 + 28);
  t.is(header.blockCount, 3);
});
