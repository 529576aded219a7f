// Timestamps: their form, and that they only ever grow.

import test from 'ava';
import fc from 'fast-check';
import { isLaterTimestamp, TimestampSource } from '../../../dataplane/noise/tai64n.ts';
import { viewOf } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const STEP_NANOSECONDS = 2 ** 24;

/** A source and one peer's last timestamp. */
class Stamper {
  readonly #source: TimestampSource;
  readonly #last = new Uint8Array(12);

  constructor(source = new TimestampSource()) {
    this.#source = source;
  }

  at(wallMs: number): Uint8Array {
    this.#source.renew(this.#last, wallMs);
    return this.#last.slice();
  }
}

function stamp(stamper: Stamper, wallMs: number): Uint8Array {
  return stamper.at(wallMs);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

// 2^62 + 10 + Unix seconds, as the kernel writes it; nanoseconds in steps of 2^24.
const table: readonly [wallMs: number, wanted: string][] = [
  [1_000, '400000000000000b00000000'],
  [1_000_000_000_000, '400000003b9aca0a00000000'],
  [1_700_000_000_999, '400000006553f10a3b000000'],
  [1_700_000_000_016, '400000006553f10a00000000'],
  [1_700_000_000_017, '400000006553f10a01000000'],
];

for (const [wallMs, wanted] of table) {
  test(`${wallMs} ms of Unix time are ${wanted}`, (t) => {
    t.is(hex(stamp(new Stamper(), wallMs)), wanted);
  });
}

test('two timestamps of the same moment are one step apart', (t) => {
  const source = new Stamper();
  const first = viewOf(stamp(source, 5_000)).getUint32(8);
  t.is(viewOf(stamp(source, 5_000)).getUint32(8), first + STEP_NANOSECONDS);
});

test('a step over the end of a second begins the next one', (t) => {
  const source = new Stamper();
  stamp(source, 5_999);
  t.is(hex(stamp(source, 5_999)), hex(stamp(new Stamper(), 6_000)));
});

// docs/bugs-of-others.md#bug-11: system clock stepped back.
test('a clock that is set back an hour does not take timestamps back', (t) => {
  const source = new Stamper();
  const before = stamp(source, 7_200_000);
  const after = stamp(source, 3_600_000);
  t.true(isLaterTimestamp(after, before));
  t.true(isLaterTimestamp(stamp(source, 3_600_001), after));
});

test('a clock that catches up again is followed', (t) => {
  const source = new Stamper();
  stamp(source, 10_000);
  stamp(source, 5_000);
  t.is(hex(stamp(source, 20_000)), hex(stamp(new Stamper(), 20_000)));
});

test('a clock before the epoch stops nothing', (t) => {
  const source = new Stamper();
  const first = stamp(source, -5_000);
  t.true(isLaterTimestamp(stamp(source, -5_000), first));
});

test('whatever the clock does, each timestamp is later than the one before', (t) => {
  const wall = fc.oneof(
    fc.integer({ min: 0, max: 4_000_000_000_000 }),
    fc.double({ min: 0, max: 5_000, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(wall, { minLength: 2, size: '+1' }), (clock) => {
      const source = new Stamper();
      const stamps = clock.map((wallMs) => stamp(source, wallMs));
      for (let i = 1; i < stamps.length; i++) {
        t.true(isLaterTimestamp(stamps[i]!, stamps[i - 1]!));
        t.true(viewOf(stamps[i]!).getUint32(8) < 1e9);
        t.is(viewOf(stamps[i]!).getUint32(8) % STEP_NANOSECONDS, 0);
      }
    }),
    SEEDED,
  );
});

test('peers may be sent the same time, and none of them holds up another', (t) => {
  const source = new TimestampSource();
  const stamps = Array.from({ length: 10_000 }, () => new Stamper(source).at(5_000));
  t.is(new Set(stamps.map(hex)).size, 1);
});

test('a clock that was set back before a restart starts at the floor, for every peer', (t) => {
  const source = new TimestampSource(7_200_000);
  const [a, b] = [new Stamper(source), new Stamper(source)];
  const floor = new Stamper().at(7_200_000);
  t.deepEqual(a.at(3_600_000), floor);
  t.deepEqual(b.at(3_600_001), floor);
  t.true(isLaterTimestamp(a.at(3_600_002), floor));
  t.deepEqual(a.at(7_300_000), new Stamper().at(7_300_000));
});

test('later means greater in the first byte that differs', (t) => {
  const base = new Uint8Array(12).fill(5);
  t.false(isLaterTimestamp(base, base.slice()));
  for (let i = 0; i < 12; i++) {
    const greater = base.slice();
    greater[i] = 6;
    greater.fill(0, i + 1);
    t.true(isLaterTimestamp(greater, base));
    t.false(isLaterTimestamp(base, greater));
  }
});

test('every timestamp is later than none', (t) => {
  t.true(isLaterTimestamp(stamp(new Stamper(), 0), new Uint8Array(12)));
});
