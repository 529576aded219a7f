// How long something lasts that a test starts: as the test itself, whose context is a `Lasting`, or as
// its file, where the tests of a file can share it.

import type { ExecutionContext } from 'ava';

/** What takes notice of how something is ended. */
export type Lasting = Pick<ExecutionContext, 'teardown'>;

/** A test file: `test.after.always(() => file.end())` ends what lasts as long as it. */
export class LastingFile implements Lasting {
  readonly #ends: (() => unknown)[] = [];

  teardown(end: () => unknown): void {
    this.#ends.unshift(end);
  }

  /** Ends everything, the latest first. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0)) await end();
  }
}
