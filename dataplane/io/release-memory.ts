// What loading and compiling took of malloc's memory, and does not need any more, goes back to the
// kernel.

import { loadAddon } from '../native/index.ts';

/** Gives back the memory that this process holds and does not use; takes milliseconds. */
export function releaseMemory(): void {
  loadAddon().addon?.releaseMemory();
}
