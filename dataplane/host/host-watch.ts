// Watches the parts of the host on which the gateway depends: its addresses, and the address, the
// routes and the nft tables of the TUN. A look costs a tenth of a millisecond or more, so the
// gateway looks when the kernel reports a change, and each second while something is missing.

import type { HostAddresses } from '../contract.ts';
import type { HostRoutes } from './host-routes.ts';
import { readHostAddresses } from '../io/host-addresses.ts';
import { type EventAddon, KernelEvents } from '../io/kernel-events.ts';

const SECOND_MS = 1_000;

/** Calls back once a second, by its own timer, until the function that it returns is called. */
export function eachSecond(call: () => void): () => void {
  const timer = setInterval(call, SECOND_MS).unref();
  return () => clearInterval(timer);
}

/** What is watched. */
export interface HostWatchOptions {
  readonly addon: EventAddon | null;
  /** Null without a TUN. */
  readonly routes: Pick<HostRoutes, 'isSettled' | 'look' | 'lookBriefly'> | null;
  /** Number of a process in another network, that of the host: of it there is no news. Or null. */
  readonly hostProcess: number | null;
  readonly read?: typeof readHostAddresses;
  /** Private addresses of servers that the gateway itself needs; the same list until it changes. */
  readonly guarded?: (() => readonly Uint8Array[]) | undefined;
}

const NO_ADDRESSES: readonly Uint8Array[] = [];

/** The watch over one host. */
export class HostWatch {
  readonly #options: HostWatchOptions;
  readonly #network: KernelEvents;
  readonly #tables: KernelEvents;
  #addresses: HostAddresses = { here: [], outside: [] };

  constructor(options: HostWatchOptions) {
    this.#options = options;
    this.#network = new KernelEvents(options.addon, false);
    this.#tables = new KernelEvents(options.addon, true);
  }

  /** The addresses of this host as they were read last. */
  get addresses(): HostAddresses {
    return this.#addresses;
  }

  /** Reads the addresses of this host; returns whether they have changed. */
  readAddresses(): boolean {
    const before = this.#addresses;
    const { hostProcess, read = readHostAddresses } = this.#options;
    this.#addresses = read(hostProcess, before);
    return this.#guard() || this.#addresses !== before;
  }

  /** Takes the servers that the gateway needs; returns whether they have changed. */
  #guard(): boolean {
    const guarded = this.#options.guarded?.() ?? NO_ADDRESSES;
    const { guarded: before = NO_ADDRESSES, here, outside } = this.#addresses;
    if (guarded === before || (guarded.length === 0 && before.length === 0)) return false;
    this.#addresses = { here, outside, guarded };
    return true;
  }

  /**
   * Looks where something may have changed, and puts back what the TUN has lost; returns whether
   * the addresses of this host have changed. Called once a second.
   */
  look(): boolean {
    const { hostProcess, routes } = this.#options;
    const hasMoved = this.#network.take();
    const reads = hasMoved || hostProcess !== null;
    const hasChanged = reads ? this.readAddresses() : this.#guard();
    if (routes === null) return hasChanged;
    // Both are asked: what one of them has heard is heard once.
    const hasNews = [hasMoved, this.#tables.take()].includes(true);
    if (hasNews || !routes.isSettled) routes.look(this.#addresses.here, hasNews);
    else routes.lookBriefly();
    return hasChanged;
  }

  /** Hears nothing more. */
  close(): void {
    this.#network.close();
    this.#tables.close();
  }
}
