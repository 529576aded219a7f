// How many workers carry packets, and how much of a table each has.

import { availableParallelism } from 'node:os';
import { MAX_WORKERS } from './constants.ts';

/** What decides how many workers there are. */
export interface WorkersWanted {
  /** The TypeScript engine has one worker. */
  readonly engine: 'auto' | 'native' | 'typescript';
  /** How many workers carry packets, 1 to MAX_WORKERS; auto: one less than there are cores. */
  readonly workers: 'auto' | number;
  /** Whether packets leave by sockets in place of a TUN, where that is known already. */
  readonly hasSockets?: boolean;
}

/** How many workers a gateway has; one where the kernel cannot divide the work. */
export function workersOf({ engine, workers }: WorkersWanted): number {
  if (engine === 'typescript') return 1;
  if (workers !== 'auto') return workers;
  return Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1));
}

/** The part of a table that each of so many workers has: a power of two, as the whole is. */
export function shareOf(whole: number, workers: number): number {
  return whole >> Math.ceil(Math.log2(workers));
}
