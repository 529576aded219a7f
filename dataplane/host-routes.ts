// The host's side of networks behind devices: a route to the TUN for each, and masquerading of what
// comes from them. The routes vanish with the TUN. What the kernel refuses is a warning, and all
// other networks work.

import { messageOf } from './descriptors.ts';
import type { Egress } from './egress.ts';
import type { Addon } from './native/index.ts';
import { formatNetwork, type NetworkRange } from './wire/network.ts';

/** What routes are made with. */
export interface HostRoutesOptions {
  readonly interfaceName: string;
  readonly addon: Pick<Addon, 'changeRoute'>;
  readonly egress: Pick<Egress, 'masqueradeRoutes'>;
  readonly log: (level: 'warn', text: string) => void;
}

/** The routes that are there. */
export class HostRoutes {
  readonly #options: HostRoutesOptions;
  /** By text. */
  #present = new Map<string, NetworkRange>();

  constructor(options: HostRoutesOptions) {
    this.#options = options;
  }

  /** Makes these the networks; a network that the kernel refused is tried again. */
  async set(networks: readonly NetworkRange[]): Promise<void> {
    const wanted = new Map(networks.map((range) => [formatNetwork(range), range]));
    const before = this.#present;
    this.#present = new Map();
    for (const [text, range] of before)
      if (wanted.has(text)) this.#present.set(text, range);
      else this.#change(text, range, false);
    for (const [text, range] of wanted)
      if (!this.#present.has(text) && this.#change(text, range, true))
        this.#present.set(text, range);
    const fault = await this.#options.egress.masqueradeRoutes([...this.#present.values()]);
    if (fault !== null)
      this.#options.log('warn', `networks behind devices are not masqueraded: ${fault}`);
  }

  /** Makes all routes again, after the interface was made again. */
  renew(): Promise<void> {
    const networks = [...this.#present.values()];
    this.#present.clear();
    return this.set(networks);
  }

  #change(text: string, { network, prefixBits }: NetworkRange, isAdded: boolean): boolean {
    const { interfaceName, addon, log } = this.#options;
    try {
      addon.changeRoute(interfaceName, network, prefixBits, isAdded);
      return true;
    } catch (error) {
      const code = (error as { code?: string }).code;
      // ESRCH: it has vanished, as with its interface.
      if (!isAdded && code === 'ESRCH') return true;
      const why = code === 'EEXIST' ? 'the host has another route to it' : messageOf(error);
      const done = isAdded ? 'is not reached from the host' : 'has a route that stays';
      log('warn', `the network ${text} behind a device ${done}: ${why}`);
      return false;
    }
  }
}
