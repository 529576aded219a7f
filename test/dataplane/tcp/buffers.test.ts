// The pool of buffers: no chunk is given twice, shares of devices hold, memory is given back.

import test from 'ava';
import { Buffers, CHUNK_BYTES, NO_CHUNK } from '../../../dataplane/tcp/buffers.ts';
import { Dice } from '../../support/tcp/world.ts';

const MIB = 1_048_576;

test('a device gets a quarter of the pool, and leaves to others as much as it has', (t) => {
  const buffers = new Buffers(4 * MIB, 8);
  const taken: number[] = [];
  const takeAll = (device: number): number => {
    for (let count = 0; ; count++) {
      const chunk = buffers.take(device);
      if (chunk === NO_CHUNK) return count;
      taken.push(chunk);
    }
  };
  t.deepEqual([0, 1, 2, 3, 4].map(takeAll), [64, 64, 64, 32, 16]);
  t.is(new Set(taken).size, taken.length);
  t.is(buffers.bytes, 240 * CHUNK_BYTES);
  t.is(buffers.roomOf(0), 0);
  const room = buffers.roomOf(7);
  t.is(takeAll(7) * CHUNK_BYTES, room, 'the room is what it gets');
  t.deepEqual([5, 6].map(takeAll), [4, 2], 'the last ones get some too');
  for (const chunk of taken.splice(0, 64)) buffers.give(chunk, 0);
  t.true(buffers.roomOf(0) > 0);
  t.true(takeAll(0) > 0);
});

test('chunks do not overlap', (t) => {
  const buffers = new Buffers(2 * MIB, 1);
  const chunks = Array.from({ length: 32 }, () => buffers.take(0));
  for (const chunk of chunks) {
    const at = buffers.offsetOf(chunk);
    buffers.bytesOf(chunk).fill(chunk, at, at + CHUNK_BYTES);
  }
  for (const chunk of chunks) {
    const at = buffers.offsetOf(chunk);
    t.true(
      buffers
        .bytesOf(chunk)
        .subarray(at, at + CHUNK_BYTES)
        .every((byte) => byte === chunk),
    );
  }
});

test('chance takes and gives, and nothing is lost', (t) => {
  const buffers = new Buffers(8 * MIB, 4);
  const dice = new Dice(3);
  const held: [chunk: number, device: number][] = [];
  for (let i = 0; i < 20_000; i++) {
    if (held.length > 0 && dice.oneIn(2)) {
      const [chunk, device] = held.splice(dice.below(held.length), 1)[0]!;
      buffers.give(chunk, device);
    } else {
      const device = dice.below(4);
      const chunk = buffers.take(device);
      if (chunk !== NO_CHUNK) held.push([chunk, device]);
    }
    t.is(buffers.bytes, held.length * CHUNK_BYTES);
  }
  t.is(new Set(held.map(([chunk]) => chunk)).size, held.length);
  for (const [chunk, device] of held) buffers.give(chunk, device);
  t.is(buffers.bytes, 0);
  t.is(buffers.roomOf(0), 2 * MIB);
});

test('a slab whose chunks are all free gives its memory back, but for the current one', (t) => {
  const buffers = new Buffers(4 * MIB, 4);
  const taken = [0, 1, 2].flatMap((device) =>
    Array.from({ length: 64 }, () => [buffers.take(device), device] as const),
  );
  for (const [chunk, device] of taken) buffers.give(chunk, device);
  const memory = taken.filter(([chunk]) => (buffers.bytesOf(chunk) as Buffer | null) !== null);
  t.is(memory.length, 64);
});

test('chunks that were used before come first, so memory is as much as was used at once', (t) => {
  const pool = Buffer.alloc(16 * MIB);
  const buffers = new Buffers(pool.length, 1, pool);
  const most = 4 * MIB;
  const used = new Set<number>();
  const dice = new Dice(5);
  for (let round = 0; round < 200; round++) {
    const chunks = Array.from({ length: most / CHUNK_BYTES }, () => buffers.take(0));
    for (const chunk of chunks) used.add(chunk);
    while (chunks.length > 0) buffers.give(chunks.splice(dice.below(chunks.length), 1)[0]!, 0);
  }
  t.is(used.size * CHUNK_BYTES, most);
});
