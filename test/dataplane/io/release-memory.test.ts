// Memory that was allocated and freed goes back to the kernel.

import { readFileSync } from 'node:fs';
import { getHeapCodeStatistics } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { releaseMemory } from '../../../dataplane/io/release-memory.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { collectGarbage } from '../../support/suite/kept-memory.ts';

const PIECES = 20_000;
const PIECE_BYTES = 2_000;

nativeTest('what is free below memory that is in use goes back to the kernel', (t) => {
  // malloc gives back by itself only what is free behind the last piece in use.
  const pieces = Array.from({ length: PIECES }, () => new Uint8Array(PIECE_BYTES).fill(1));
  const last = pieces.pop();
  pieces.length = 0;
  collectGarbage();
  const before = residentKib();
  releaseMemory();
  const given = before - residentKib();
  t.is(last?.length, PIECE_BYTES);
  t.true(given > 10_000, `${given} KiB of ${before}`);
});

nativeTest('the pages of the program go too, and what is used comes back', (t) => {
  const before = programKib();
  releaseMemory();
  const after = programKib();
  t.true(after < 0.8 * before, `${after} KiB of ${before}`);
  t.is(Intl.NumberFormat('en').format(1_234_567), '1,234,567');
});

nativeTest(
  'functions that no longer run lose their bytecode, and run when they are called',
  (t) => {
    // Each of them is a source of its own, so that each has bytecode of its own.
    const functions = Array.from({ length: 300 }, (_, k) => newFunction(k));
    const made = functions.map((one) => one(1));
    const before = getHeapCodeStatistics().bytecode_and_metadata_size;
    // `lib/postern` starts Node with --expose-gc.
    globalThis.gc = collectGarbage as NonNullable<typeof globalThis.gc>;
    t.teardown(() => (globalThis.gc = undefined));
    releaseMemory();
    const after = getHeapCodeStatistics().bytecode_and_metadata_size;
    t.true(before - after > 300 * 1_000, `${after} of ${before} bytes`);
    t.deepEqual(
      functions.map((one) => one(1)),
      made,
    );
  },
);

/** A function with more than 1,000 bytes of bytecode. */
function newFunction(k: number): (n: number) => number {
  const steps = Array.from({ length: 200 }, (_, step) => `n = n * ${step + 2} + ${k + step};`);
  return runInThisContext(`(n) => { ${steps.join(' ')} return n % 1000003; }`) as (
    n: number,
  ) => number;
}

/** The resident pages of files, most of which are those of Node. */
function programKib(): number {
  return Number(/^RssFile:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

function residentKib(): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}
