// Memory that is in use, without what waits for the garbage collector: how much waits depends on the
// load of the machine.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects the garbage of this thread. */
export const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that this thread keeps, those of its buffers included. */
export function keptBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
