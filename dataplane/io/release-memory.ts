// Gives memory back to the kernel that loading and compiling took and no longer need.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { loadAddon } from '../native/index.ts';

/** A larger heap holds rows, which live: to collect it takes longer than it gives. */
const HEAP_BYTES_MAX = 96 * 1024 * 1024;

/**
 * Gives back the memory that this thread holds and does not use, and the pages of Node's own file;
 * takes some 100 ms.
 */
export function releaseMemory(): void {
  if (getHeapStatistics().used_heap_size <= HEAP_BYTES_MAX) shrinkHeap();
  const { addon } = loadAddon();
  addon?.releaseMemory();
  addon?.releaseProgram();
}

/**
 * Loading grows the young generation to its limit, and no other collection makes it small again. It
 * also drops the bytecode of functions that do not run any more. V8 keeps it for six collections,
 * and a gateway at rest has none. Without `--expose-gc` V8 alone decides.
 */
function shrinkHeap(): void {
  setFlagsFromString('--bytecode-old-age=1');
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--bytecode-old-age=6');
}
