// Whose turn it is while whole lists are answered. Each page of a long list holds the main thread
// for some milliseconds, so several lists at once would hold up a write at each of its steps: pages
// of all lists are read one after the other, and each first lets writes that run end.

import type { Writes } from './writes.ts';

/** How long one page gives way at most, so that lists end under writes that never cease. */
const GIVE_WAY_MS = 50;

/** The turns of one server. */
export class ListTurns {
  readonly #writes: Pick<Writes, 'whenIdle'>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(writes: Pick<Writes, 'whenIdle'>) {
    this.#writes = writes;
  }

  /** Reads a page when it is its turn. */
  take<Page>(read: () => Promise<Page>): Promise<Page> {
    const turn = this.#last.then(async () => {
      await this.#writes.whenIdle(GIVE_WAY_MS);
      return read();
    });
    // A page that cannot be read holds up no other list.
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
