// What V8 has compiled, and the time of a thread that compiles.

import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

/** A method of a class. */
export type Method = readonly [{ readonly prototype: object }, name: string];

/** V8's own word on whether a method is compiled to machine code by its two best compilers. */
export function isOptimized([{ prototype }, name]: Method): boolean {
  setFlagsFromString('--allow-natives-syntax');
  const statusOf = runInThisContext('(f) => %GetOptimizationStatus(f)') as (f: unknown) => number;
  // Bits of v8/src/runtime/runtime.h: maglevved, turbofanned.
  return (statusOf(Reflect.get(prototype, name)) & ((1 << 5) | (1 << 6))) !== 0;
}

/** How long this thread has had a core, in ms. */
export function coreMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
