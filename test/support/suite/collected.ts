// What test files that share a process import as `ava` (shared-process.ts): it collects their tests.
// It knows what such files use of AVA. A file that uses more wants a process of its own.

import type { ExecutionContext } from 'ava';

export { registerCompletionHandler } from 'ava';

/** A test as its file declared it. */
export interface CollectedTest {
  title: string;
  body: (t: ExecutionContext) => void | Promise<void>;
  /** Whether it runs while no other test of its file does. */
  isSerial: boolean;
}

/** What is to run after each test of this process. */
export interface CollectedHook {
  title: string;
  body: (t: ExecutionContext) => void;
}

/** Hooks of files that tests import, and so of all tests. */
export const hooks: CollectedHook[] = [];

let collected: CollectedTest[] = [];

/** Returns the tests that were collected since the last call. */
export function takeCollected(): CollectedTest[] {
  const taken = collected;
  collected = [];
  return taken;
}

function collect(isSerial: boolean) {
  return (title: string, body: CollectedTest['body']): void => {
    collected.push({ title, body, isSerial });
  };
}

const afterEach = {
  always: (title: string, body: CollectedHook['body']): void => void hooks.push({ title, body }),
};

export default Object.assign(collect(false), { serial: collect(true), afterEach });
