// No descriptor, however wrong, is followed out of an arena by the addon.

import fc from 'fast-check';
import { SLOT_BYTES } from '../../../dataplane/constants.ts';
import {
  ADDRESS,
  type Batch,
  GENERATION,
  KEY,
  LENGTH,
  OFFSET,
  MARK,
  MARK_DROP,
  MARK_OPEN,
  MARK_OPEN_FAILED,
  MARK_SEAL,
  MARK_SEAL_EXHAUSTED,
  MARK_SEAL_INVALID,
  MARK_SEALED,
  MARK_TUN,
} from '../../../dataplane/contract.ts';
import { type Addon } from '../../../dataplane/native/index.ts';
import { setMarks, NativeBench, TARGET, markOf } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

// ---- descriptors out of bounds ---------------------------------------------------------------

const ARENA = 64 * SLOT_BYTES;

/** Numbers that are wrong in every way a 32-bit number can be, and a few that are right. */
const anyNumber = fc.oneof(
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.integer({ min: -40, max: 80 }),
  fc.integer({ min: ARENA - 80, max: ARENA + 80 }),
  fc.constantFrom(0, 1, -1, ARENA, ARENA - 1, ARENA + 1, 2 ** 31 - 1, -(2 ** 31)),
);

const anyDescriptor = fc.record({
  offset: anyNumber,
  length: anyNumber,
  slot: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: anyNumber }),
  generation: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: anyNumber },
  ),
  address: fc.oneof(
    { weight: 3, arbitrary: fc.constant(TARGET) },
    { weight: 1, arbitrary: anyNumber },
  ),
});

interface Descriptor {
  offset: number;
  length: number;
  slot: number;
  generation: number;
  address: number;
}

function write(batch: Batch, i: number, descriptor: Descriptor, mark: number): void {
  const { offset, length, slot, generation, address } = descriptor;
  setMarks(batch, i, { mark, key: { slot, generation }, address, offset, length });
}

/** A bench whose arenas hold a pattern, and a check that nothing of it has moved. */
function patterned(native: Addon): {
  bench: NativeBench;
  isUntouched: () => boolean;
  reset: () => void;
} {
  const bench = new NativeBench(native);
  bench.engine.installKey(counting(32), counting(32), 1);
  const { datagrams, packets } = bench.engine;
  const reset = (): void => {
    for (const batch of [datagrams, packets]) {
      batch.bytes.fill(0x5a);
      batch.count = 0;
    }
  };
  reset();
  const pattern = Buffer.alloc(ARENA, 0x5a);
  return {
    bench,
    reset,
    isUntouched: () => pattern.equals(datagrams.bytes) && pattern.equals(packets.bytes),
  };
}

function fits({ offset, length }: Descriptor, before: number, behind: number): boolean {
  return offset >= before && length >= 0 && offset + length + behind <= ARENA;
}

nativeTest(
  'opening follows no descriptor out of its arena, and touches nothing by mistake',
  (t, native) => {
    const { bench, isUntouched, reset } = patterned(native);
    try {
      fc.assert(
        fc.property(fc.array(anyDescriptor, { minLength: 1, maxLength: 20 }), (descriptors) => {
          const { datagrams } = bench.engine;
          datagrams.count = 0;
          for (const [i, descriptor] of descriptors.entries())
            write(datagrams, i, descriptor, MARK_OPEN);
          bench.engine.open(datagrams);
          // No key opens the pattern; decrypting in place may have overwritten what is inside.
          const touches = descriptors.some(
            (one) => fits(one, 0, 0) && one.length > 32 && one.slot === 0 && one.generation === 0,
          );
          const failed = descriptors.every((_, i) => markOf(datagrams, i) === MARK_OPEN_FAILED);
          const untouched = touches || isUntouched();
          if (touches) reset();
          return failed && untouched;
        }),
        { ...SEEDED, numRuns: 400 },
      );
    } finally {
      bench.close();
    }
    t.pass();
  },
);

for (const which of ['packets', 'datagrams'] as const) {
  nativeTest(
    `sealing ${which} follows no descriptor out of the arena and leaves it as it was`,
    (t, native) => {
      const { bench, isUntouched } = patterned(native);
      const seen = new Set<number>();
      try {
        fc.assert(
          fc.property(fc.array(anyDescriptor, { minLength: 1, maxLength: 20 }), (descriptors) => {
            const batch = bench.engine[which];
            batch.count = 0;
            for (const [i, descriptor] of descriptors.entries())
              write(batch, i, descriptor, MARK_SEAL);
            bench.engine.seal(batch);
            bench.engine.flush();
            return (
              descriptors.every((one, i) => {
                const mark = markOf(batch, i);
                seen.add(mark);
                const isIn = fits(one, which === 'packets' ? 10 : 0, 16);
                const isTarget = one.address >= 0 && one.address < 128;
                if (!isIn || !isTarget) return mark === MARK_SEAL_INVALID;
                if (one.slot !== 0 || one.generation !== 0) return mark === MARK_SEAL_EXHAUSTED;
                return mark === MARK_SEALED || mark === MARK_SEAL_INVALID;
              }) && isUntouched()
            );
          }),
          { ...SEEDED, numRuns: 400 },
        );
      } finally {
        bench.close();
      }
      t.true(seen.has(MARK_SEAL_INVALID) && seen.has(MARK_SEAL_EXHAUSTED));
      t.true(seen.has(MARK_SEALED));
    },
  );

  nativeTest(`writing ${which} follows no descriptor out of the arena`, (t, native) => {
    const { bench, isUntouched } = patterned(native);
    try {
      fc.assert(
        fc.property(fc.array(anyDescriptor, { minLength: 1, maxLength: 20 }), (descriptors) => {
          const batch = bench.engine[which];
          batch.count = 0;
          for (const [i, descriptor] of descriptors.entries())
            write(batch, i, descriptor, MARK_TUN);
          bench.engine.writeTun(batch);
          const wanted = descriptors
            .filter((one) => fits(one, 0, 0) && one.length >= 20)
            .map((one) => one.length);
          const out = bench.drain();
          const lost = wanted.length - out.length;
          return (
            isUntouched() &&
            descriptors.every((_, i) => markOf(batch, i) === MARK_DROP) &&
            // Packets larger than the pair's memory are lost, and counted.
            (lost === 0
              ? isSame(
                  out.map(({ packet }) => packet.length),
                  wanted,
                )
              : lost > 0)
          );
        }),
        { ...SEEDED, numRuns: 300 },
      );
    } finally {
      bench.close();
    }
    t.pass();
  });
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

nativeTest(
  'a descriptor at the very end of the arena is taken, one byte later refused',
  (t, native) => {
    const { bench } = patterned(native);
    try {
      const { packets } = bench.engine;
      const last = { slot: 0, generation: 0, address: TARGET, length: 40 };
      write(packets, 0, { ...last, offset: ARENA - 56 }, MARK_SEAL);
      write(packets, 1, { ...last, offset: ARENA - 55 }, MARK_SEAL);
      packets.bytes.fill(0, ARENA - 66, ARENA - 56);
      bench.engine.seal(packets);
      t.is(markOf(packets, 0), MARK_SEALED);
      t.is(markOf(packets, 1), MARK_SEAL_INVALID);
    } finally {
      bench.close();
    }
  },
);

nativeTest('what a descriptor says beside its place survives a refusal', (t, native) => {
  const { bench } = patterned(native);
  try {
    const { packets } = bench.engine;
    write(packets, 0, { offset: -1, length: -1, slot: 9, generation: 8, address: 7 }, MARK_SEAL);
    bench.engine.seal(packets);
    const d = packets.descriptors;
    t.deepEqual(
      [OFFSET, LENGTH, KEY, GENERATION, MARK, ADDRESS].map((word) => d[word]),
      [-1, -1, 9, 8, MARK_SEAL_INVALID, 7],
    );
  } finally {
    bench.close();
  }
});
