// Memory that was allocated and freed goes back to the kernel.

import { readFileSync } from 'node:fs';
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

function residentKib(): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}
