// Decides whose turn it is while whole lists are answered. Each page of a long list holds the main
// thread for about a millisecond, and a write goes there and back many times before it is in force:
// beside several lists it would wait at each step. So pages of all lists are read one after
// another, and each first lets the writes that are under way be answered.

import type { Request, Server } from '@hapi/hapi';

/** How long a page gives way at most, so that lists end under writes that never cease. */
const GIVE_WAY_MS = 50;
/** Pages that follow one which gave way for so long, and do not wait. */
const PAGES_AFTER = 4;

/** The turns of one server. */
export class ListTurns {
  #last: Promise<unknown> = Promise.resolve();
  #writes = 0;
  /** How many pages need not give way. */
  #excused = 0;
  /** Called when no write is under way any more. */
  readonly #listeners = new Set<() => void>();

  /** Reads a page when it is its turn. */
  take<Page>(read: () => Promise<Page>): Promise<Page> {
    const turn = this.#last.then(async () => {
      await this.#giveWay();
      return read();
    });
    // A page that cannot be read delays no other list.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Notes that a write is under way; the function that it returns says that it is answered. */
  beginWrite(): () => void {
    this.#writes += 1;
    return () => {
      this.#writes -= 1;
      if (this.#writes === 0) for (const listener of this.#listeners) listener();
    };
  }

  async #giveWay(): Promise<void> {
    if (this.#writes === 0) return;
    if (this.#excused > 0) {
      this.#excused -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#excused = PAGES_AFTER;
      resolve();
    }, GIVE_WAY_MS);
    this.#listeners.add(resolve);
    await promise;
    this.#listeners.delete(resolve);
    clearTimeout(timer);
  }
}

/** Makes lists wait for requests that write, from the end of their body to their answer. */
export function giveWayToWrites(server: Server, turns: ListTurns): void {
  const ends = new WeakMap<Request, () => void>();
  // After the body: a client that sends it slowly delays no list.
  server.ext('onPostAuth', (request, h) => {
    if (!['get', 'head', 'options'].includes(request.method)) ends.set(request, turns.beginWrite());
    return h.continue;
  });
  server.events.on('response', (request) => ends.get(request)?.());
}
