// Queues of bytes in chunks: every byte is at the place that its position says.

import test from 'ava';
import { Buffers, CHUNK_BYTES } from '../../../dataplane/tcp/buffers.ts';
import { Streams } from '../../../dataplane/tcp/streams.ts';
import { bytesAt } from '../../support/tcp/ends.ts';
import { Dice } from '../../support/tcp/world.ts';

const QUEUE = 4;

function make(bytes = 8 * 1_048_576): { buffers: Buffers; streams: Streams } {
  const buffers = new Buffers(bytes, 2);
  return { buffers, streams: new Streams(new Int32Array(16), buffers) };
}

test('bytes are read as they were written, also backwards and past 2^32', (t) => {
  for (const base of [0, 7, CHUNK_BYTES - 1, -100, 0x7fff_ff00]) {
    const { streams, buffers } = make();
    const data = bytesAt(0, 100_000);
    t.true(streams.extend(QUEUE, 1, base, (base + data.length - 1) | 0));
    streams.write(QUEUE, base, data, 0, data.length);
    const out = Buffer.alloc(data.length);
    for (const at of [0, 99_000, 16_000, 50_000, 3])
      streams.read(QUEUE, (base + at) | 0, out, at, Math.min(40_000, data.length - at));
    for (const at of [0, 99_000, 16_000, 50_000, 3])
      t.deepEqual(out.subarray(at, at + 900), data.subarray(at, at + 900));
    streams.trim(QUEUE, 1, (base + 60_000) | 0);
    streams.read(QUEUE, (base + 60_000) | 0, out, 0, 40_000);
    t.deepEqual(out.subarray(0, 40_000), data.subarray(60_000));
    t.is(buffers.bytes <= 4 * CHUNK_BYTES, true);
    streams.clear(QUEUE, 1);
    t.true(streams.isEmpty(QUEUE));
    t.is(buffers.bytes, 0);
  }
});

test('a queue moves along with random writes and reads', (t) => {
  const { streams, buffers } = make();
  const dice = new Dice(11);
  let [start, end] = [-50_000, -50_000];
  const out = Buffer.alloc(70_000);
  for (let i = 0; i < 3_000; i++) {
    const more = dice.below(60_000);
    if (end - start < 300_000 && streams.extend(QUEUE, 0, start, end + more)) {
      streams.write(QUEUE, end, bytesAt(end + 50_000, more), 0, more);
      end += more;
    }
    const count = Math.min(end - start, dice.below(60_000));
    streams.read(QUEUE, start, out, 0, count);
    if (dice.oneIn(20)) t.deepEqual(out.subarray(0, count), bytesAt(start + 50_000, count));
    start += count;
    if (start === end) streams.clear(QUEUE, 0);
    else streams.trim(QUEUE, 0, start);
  }
  streams.clear(QUEUE, 0);
  t.is(buffers.bytes, 0);
});

test('without memory a queue has as much as it was given, and says how much', (t) => {
  const { streams } = make(1_048_576);
  t.false(streams.extend(QUEUE, 0, 0, 2_000_000));
  t.is(streams.roomAfter(QUEUE, 0), 16 * CHUNK_BYTES);
  t.is(streams.roomAfter(QUEUE, 5), 16 * CHUNK_BYTES - 5);
  t.is(streams.roomAfter(QUEUE, 16 * CHUNK_BYTES - 1), 1);
  t.is(streams.roomAfter(QUEUE, 16 * CHUNK_BYTES), 0);
  t.is(streams.roomAfter(QUEUE, 17 * CHUNK_BYTES), 0);
});
