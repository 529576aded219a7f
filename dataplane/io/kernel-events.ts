// Changes of links, addresses, routes and nft tables that the kernel reports by itself, so that
// nobody has to ask for all of them each second. The kernel reports that something has changed, but
// not what: the caller then looks at everything, as at the start. If the kernel cannot report, each
// call says that something may have changed.

import type { Addon } from '../native/index.ts';

/**
 * After so many calls without news, a call says that something may have changed: a kernel may
 * forget to report.
 */
const LOOKS_MAX = 30;

/** The functions of the addon that take reports of the kernel. */
export type EventAddon = Pick<Addon, 'openEvents' | 'takeEvents' | 'closeFd'>;

/** Changes of one kind. */
export class KernelEvents {
  readonly #addon: EventAddon | null;
  readonly #isNetfilter: boolean;
  /** Null before the first call, and while the kernel cannot report. */
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
      // A caller that looks after this call misses no later change.
      this.#fd = this.#addon.openEvents(this.#isNetfilter);
    } catch {
      // EPERM: changes of nft tables are reported only with CAP_NET_ADMIN. EMFILE: the next call
      // tries again.
      this.#forget();
    }
    return true;
  }

  #forget(): void {
    if (this.#fd !== null) this.#addon?.closeFd(this.#fd);
    this.#fd = null;
  }
}
