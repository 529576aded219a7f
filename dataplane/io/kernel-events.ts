// What the kernel tells by itself of changes to links, addresses, routes and nft tables, so that
// nobody has to ask for all of them each second. It tells that something has changed, not what:
// whoever hears it looks, as at first. Where it cannot tell, something may have changed each time.

import type { Addon } from '../native/index.ts';

/** Without news it is looked all the same so often, in looks: a kernel may forget to tell. */
const LOOKS_MAX = 30;

/** The functions of the addon by which the kernel is heard. */
export type EventAddon = Pick<Addon, 'openEvents' | 'takeEvents' | 'closeFd'>;

/** Changes of one kind. */
export class KernelEvents {
  readonly #addon: EventAddon | null;
  readonly #isNetfilter: boolean;
  /** Null before the first look, and while the kernel cannot be heard. */
  #fd: number | null = null;
  #looksWithoutNews = 0;
  #isClosed = false;

  /** `isNetfilter`: changes of nft tables, in place of links, addresses and routes. */
  constructor(addon: EventAddon | null, isNetfilter: boolean) {
    this.#addon = addon;
    this.#isNetfilter = isNetfilter;
  }

  /** Whether something may have changed since the last call. */
  take(): boolean {
    this.#looksWithoutNews += 1;
    const hasNews = this.#hear() || this.#looksWithoutNews >= LOOKS_MAX;
    if (hasNews) this.#looksWithoutNews = 0;
    return hasNews;
  }

  close(): void {
    this.#isClosed = true;
    this.#forget();
  }

  #hear(): boolean {
    if (this.#addon === null || this.#isClosed) return true;
    try {
      if (this.#fd !== null) return this.#addon.takeEvents(this.#fd);
      // Whoever looks after this call misses nothing that comes later.
      this.#fd = this.#addon.openEvents(this.#isNetfilter);
    } catch {
      // EPERM: only with CAP_NET_ADMIN are nft tables heard of; EMFILE: the next call tries again.
      this.#forget();
    }
    return true;
  }

  #forget(): void {
    if (this.#fd !== null) this.#addon?.closeFd(this.#fd);
    this.#fd = null;
  }
}
