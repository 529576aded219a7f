// A capture that arrives in pieces: whole blocks are handed on, and their packets are counted.

import test from 'ava';
import {
  blockMemory,
  interfaceBlock,
  packetBlockBytes,
  sectionHeader,
  statisticsBlock,
  writePacketBlock,
} from '../../../../lib/observe/capture/pcapng.ts';
import { WholeBlocks } from '../../../../lib/observe/capture/whole-blocks.ts';

function packetBlock(bytes: number): Buffer {
  const comment = Buffer.from('accept');
  const fields = { interface: 0, wallMs: 1, length: bytes, isOutbound: false, comment };
  const packet = { ...fields, bytes: new Uint8Array(bytes) };
  const block = Buffer.alloc(packetBlockBytes(packet));
  writePacketBlock(blockMemory(block), 0, packet);
  return block;
}

function statistics(place: number, lost: number): Buffer {
  const comment = 'a comment comes before the counts';
  return statisticsBlock({ interface: place, beganMs: 1, nowMs: 2, received: 9, lost, comment });
}

const file = [
  sectionHeader('Postern', 'about it'),
  interfaceBlock({ name: 'a', description: 'b' }, 128),
  packetBlock(61),
  packetBlock(0),
  statistics(0, 3),
  statistics(1, 4),
  packetBlock(1_500),
  statistics(0, 5),
];

test('whatever the pieces, blocks come whole and all of them come', (t) => {
  const whole = Buffer.concat(file);
  const ends = file.map((_, i) => Buffer.concat(file.slice(0, i + 1)).length);
  for (const size of [1, 2, 7, 64, 500, 10_000]) {
    const blocks = new WholeBlocks();
    const out: Buffer[] = [];
    for (let at = 0; at < whole.length; at += size) {
      out.push(Buffer.from(blocks.add(whole.subarray(at, at + size))));
      const { length } = Buffer.concat(out);
      t.true(length === 0 || ends.includes(length), `${length} bytes end a block`);
    }
    t.deepEqual(Buffer.concat(out), whole);
    t.is(blocks.packets, 3);
    t.is(blocks.lost, 5 + 4);
  }
});

test('half a block at the end is not handed on', (t) => {
  const blocks = new WholeBlocks();
  const head = Buffer.concat(file.slice(0, 3));
  t.deepEqual(blocks.add(Buffer.concat([head, packetBlock(99).subarray(0, -1)])), head);
  t.is(blocks.packets, 1);
});

test('what is no capture is refused before it takes memory', (t) => {
  for (const text of ['{"error":"not_found"}', '\u0006\0\0\0\0\0\0\0....', 'aaaa\xff\xff\xff\x7f'])
    t.throws(() => new WholeBlocks().add(Buffer.from(text, 'latin1')), {
      message: 'what arrives is no capture',
    });
});
