// The host's side of networks behind devices: a route to the TUN for each, and masquerading of what
// comes from them. The routes vanish with the TUN. What the kernel refuses is a warning, is tried
// again, and holds up no other network.

import { messageOf } from './descriptors.ts';
import type { Egress } from './egress.ts';
import type { Addon } from './native/index.ts';
import { formatNetwork, type NetworkRange } from './wire/network.ts';

/** What routes are made with. */
export interface HostRoutesOptions {
  readonly interfaceName: string;
  readonly addon: Pick<Addon, 'changeRoute'>;
  readonly egress: Pick<Egress, 'masqueradeRoutes' | 'hasVanished' | 'restore'>;
  readonly log: (level: 'info' | 'warn', text: string) => void;
}

/** The routes that are there. */
export class HostRoutes {
  readonly #options: HostRoutesOptions;
  #wanted: readonly NetworkRange[] = [];
  /** By text. */
  #present = new Map<string, NetworkRange>();
  /** By text of a network that the kernel refused: why. */
  readonly #refused = new Map<string, string>();

  constructor(options: HostRoutesOptions) {
    this.#options = options;
  }

  /** Whether there is something to `retry`: a refused route, or an nft table that has vanished. */
  get isIncomplete(): boolean {
    return this.#refused.size > 0 || this.#options.egress.hasVanished;
  }

  /** Makes these the networks; a network that the kernel refused is tried again. */
  async set(networks: readonly NetworkRange[]): Promise<void> {
    this.#wanted = networks;
    const wanted = new Set(networks.map(formatNetwork));
    const before = this.#present;
    this.#present = new Map();
    for (const [text, range] of before)
      if (wanted.has(text)) this.#present.set(text, range);
      else this.#change(text, range, false);
    for (const text of this.#refused.keys()) if (!wanted.has(text)) this.#refused.delete(text);
    this.#add();
    await this.#masquerade();
  }

  /** Tries refused routes again, and loads the nft table again if it has vanished. */
  async retry(): Promise<void> {
    const isRestored = await this.#options.egress.restore();
    if (this.#add() || isRestored) await this.#masquerade();
  }

  /** Adds what is wanted and not there; returns whether the kernel took some of it. */
  #add(): boolean {
    const { size } = this.#present;
    for (const range of this.#wanted) {
      const text = formatNetwork(range);
      if (!this.#present.has(text) && this.#change(text, range, true))
        this.#present.set(text, range);
    }
    return this.#present.size > size;
  }

  async #masquerade(): Promise<void> {
    const fault = await this.#options.egress.masqueradeRoutes([...this.#present.values()]);
    if (fault !== null)
      this.#options.log('warn', `networks behind devices are not masqueraded: ${fault}`);
  }

  /** Makes all routes again, after the interface was made again. */
  renew(): Promise<void> {
    this.#present.clear();
    return this.set(this.#wanted);
  }

  #change(text: string, { network, prefixBits }: NetworkRange, isAdded: boolean): boolean {
    const { interfaceName, addon, log } = this.#options;
    try {
      addon.changeRoute(interfaceName, network, prefixBits, isAdded);
      if (this.#refused.delete(text))
        log('info', `the network ${text} behind a device is reached from the host now`);
      return true;
    } catch (error) {
      const code = (error as { code?: string }).code;
      // ESRCH: it has vanished, as with its interface.
      if (!isAdded && code === 'ESRCH') return true;
      const why = code === 'EEXIST' ? 'the host has another route to it' : messageOf(error);
      const done = isAdded ? 'is not reached from the host' : 'has a route that stays';
      // It is tried again and again; the same fault is logged once.
      if (this.#refused.get(text) !== why)
        log('warn', `the network ${text} behind a device ${done}: ${why}`);
      if (isAdded) this.#refused.set(text, why);
      return false;
    }
  }
}
