// Pauses that let small packets share a turn: where they come fast, and nowhere else.

import { NativeBench } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { EVENT_TUN } from '../../../dataplane/native/index.ts';

/** How long a pause is, in ms, and how many packets after it make it worth its time. */
const PAUSE_MS = 0.1;
const WORTH = 6;
const SMALL = counting(80, 0x45);
const LARGE = counting(1_200, 0x45);

/** Reads so many packets in each of some turns; returns how long each wait took, in ms. */
function waits(
  bench: NativeBench,
  turns: number,
  packets: readonly Uint8Array[],
  timeoutMs = 100,
): number[] {
  return Array.from({ length: turns }, () => {
    for (const packet of packets) bench.feed(packet);
    const began = performance.now();
    const events = bench.engine.poll(timeoutMs);
    const tookMs = performance.now() - began;
    if (events !== EVENT_TUN) throw new Error(`${events}`);
    bench.engine.readTun();
    return tookMs;
  });
}

const copies = (packet: Uint8Array, count: number): Uint8Array[] => Array(count).fill(packet);
const pausesAmong = (all: readonly number[]): number =>
  all.filter((tookMs) => tookMs >= PAUSE_MS).length;

for (const { name, packets, timeoutMs = 100, pauses } of [
  { name: 'many small packets', packets: copies(SMALL, WORTH), pauses: true },
  { name: 'so many that they share a turn anyway', packets: copies(SMALL, 48), pauses: false },
  { name: 'one small packet at a time', packets: [SMALL], pauses: false },
  { name: 'large packets', packets: copies(LARGE, WORTH), pauses: false },
  {
    name: 'small packets beside large ones',
    packets: [...copies(SMALL, 4), ...copies(LARGE, 2)],
    pauses: false,
  },
  {
    name: 'small packets, while something else is to be done',
    packets: copies(SMALL, WORTH),
    timeoutMs: 0,
    pauses: false,
  },
])
  nativeTest(`${name}: ${pauses ? 'each wait begins with a pause' : 'no pause'}`, (t, native) => {
    const bench = new NativeBench(native);
    try {
      const [, ...later] = waits(bench, 41, packets, timeoutMs);
      // On a busy machine a wait without a pause may be long too, but not each of them.
      if (pauses) t.is(pausesAmong(later), later.length, later.join(', '));
      else t.true(pausesAmong(later) < later.length / 2, later.join(', '));
    } finally {
      bench.close();
    }
  });

nativeTest('turns of small packets between turns of large ones: no pause', (t, native) => {
  const bench = new NativeBench(native);
  try {
    const took = Array.from({ length: 40 }, () => [
      ...waits(bench, 1, copies(LARGE, WORTH)),
      ...waits(bench, 2, copies(SMALL, WORTH)),
    ]).flat();
    t.true(pausesAmong(took) < took.length / 4, took.join(', '));
    const later = waits(bench, 400, copies(SMALL, WORTH)).slice(300);
    t.is(pausesAmong(later), later.length, 'once the large ones are long ago');
  } finally {
    bench.close();
  }
});

nativeTest('pauses that bring too little are tried less and less often', (t, native) => {
  const bench = new NativeBench(native);
  try {
    const few = waits(bench, 600, copies(SMALL, WORTH - 1));
    // After 1, 2, 4 and so on to 256 turns; the rest is the machine.
    t.true(pausesAmong(few) < 100, `${pausesAmong(few)}`);
    t.true(pausesAmong(few) >= 5, `${pausesAmong(few)}`);
    // At the latest after 256 turns a pause is tried again, and pays.
    const many = waits(bench, 300, copies(SMALL, WORTH)).slice(258);
    t.is(pausesAmong(many), many.length, many.join(', '));
  } finally {
    bench.close();
  }
});
