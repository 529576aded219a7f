// The host's side of networks behind devices: a route to the TUN for each, and masquerading of what
// comes from them. The routes vanish with the TUN, and when somebody sets it down. A route that the
// kernel refuses is logged as a warning and tried again, and holds up no other network.

import { messageOf } from './descriptors.ts';
import type { Egress } from './egress.ts';
import type { Addon } from '../native/index.ts';
import { TunAddresses, type TunAddressesOptions } from './tun-addresses.ts';
import { formatNetwork, isInNetwork, type NetworkRange } from '../wire/network.ts';

/** What routes are made with. */
export interface HostRoutesOptions extends TunAddressesOptions {
  readonly addon: Pick<Addon, 'addAddress' | 'changeRoute' | 'isLinkUp'>;
  readonly egress: Pick<Egress, 'isMasqueraded' | 'isSettled' | 'masqueradeRoutes' | 'restore'>;
}

/** What is needed of the addresses of the interface. */
type Addresses = Pick<TunAddresses, 'addAbsent' | 'error' | 'isSettled' | 'restore'>;

/** How many routes a look asks for, beside the first of each family: it costs 0.1 ms for each. */
const ASKED_PER_LOOK = 16;

/** The routes that are there. */
export class HostRoutes {
  readonly #options: HostRoutesOptions;
  readonly #addresses: Addresses;
  #wanted: readonly NetworkRange[] = [];
  /** By text. */
  #present = new Map<string, NetworkRange>();
  /** By text of a network that the kernel refused: why. */
  readonly #refused = new Map<string, string>();
  /** Why the networks were not masqueraded the last time; null: they were. */
  #error: string | null = null;
  /** How many of the routes that are there were asked for in this round. */
  #asked = 0;
  /** How many must be asked for before it is known that no other was deleted. */
  #unasked = 0;

  constructor(options: HostRoutesOptions, addresses: Addresses = new TunAddresses(options)) {
    this.#options = options;
    this.#addresses = addresses;
  }

  /** Makes these the networks; a network that the kernel refused is tried again. */
  set(networks: readonly NetworkRange[]): void {
    this.#wanted = networks;
    const wanted = new Set(networks.map(formatNetwork));
    const before = this.#present;
    this.#present = new Map();
    for (const [text, range] of before)
      if (wanted.has(text)) this.#present.set(text, range);
      else this.#change(text, range, false);
    for (const text of this.#refused.keys()) if (!wanted.has(text)) this.#refused.delete(text);
    this.#add();
    this.#masquerade();
  }

  /** Which address of the interface is lost, and why the kernel refuses it; null: none. */
  get addressError(): string | null {
    return this.#addresses.error;
  }

  /** Whether nothing is missing that only a look puts back, whether or not something changes. */
  get isSettled(): boolean {
    const isRefused = this.#refused.size > 0 || this.#error !== null;
    const isKnown = this.#unasked <= 0 && this.#addresses.isSettled;
    return isKnown && !isRefused && this.#options.egress.isSettled;
  }

  /** Whether a route to an address is there. */
  has(address: Uint8Array): boolean {
    for (const range of this.#present.values()) if (isInNetwork(address, range)) return true;
    return false;
  }

  /**
   * Puts back what has vanished from the host, and tries refused routes again. `here`: the host's
   * addresses, which may be a second old. `hasNews`: the host has changed since the last look.
   */
  look(here: readonly Uint8Array[], hasNews = true): void {
    const { egress } = this.#options;
    if (hasNews) this.#unasked = this.#present.size;
    const hasLostAddresses = this.#addresses.restore(here);
    // Both families are asked: IPv6 alone may have been switched off and on.
    const hasLostRoutes = [this.#putBack(4), this.#putBack(16)].includes(true);
    if (hasLostAddresses || hasLostRoutes) this.#sayLost(hasLostAddresses, hasLostRoutes);
    else this.#putBackSome();
    const isRestored = egress.restore();
    const isAdded = (this.#refused.size > 0 || hasLostRoutes) && this.#add();
    if (isAdded || isRestored || this.#error !== null) this.#masquerade();
  }

  /** What is left of a look where nothing has changed. */
  lookBriefly(): void {
    if (this.#addresses.addAbsent()) this.#sayLost(true, false);
  }

  /**
   * Makes the routes of a family again that the kernel has removed; returns whether it had. The
   * kernel removes all routes at once, when the interface is set down, so it is enough to add the
   * first one: that is refused if the route exists, and if the interface is still down.
   */
  #putBack(length: number): boolean {
    let hasLost = false;
    for (const [text, range] of this.#present) {
      if (range.network.length !== length) continue;
      const error = this.#ask(range);
      if (error === null) hasLost = true;
      else if (!hasLost) return false;
      // It is then added like a new route, which also reports why the kernel refuses it.
      else if (error !== 'EEXIST') this.#present.delete(text);
    }
    return hasLost;
  }

  /** Makes single routes again that somebody has deleted. It asks for some of them, in turn. */
  #putBackSome(): void {
    const { interfaceName, log } = this.#options;
    if (this.#asked >= this.#present.size) this.#asked = 0;
    const some = [...this.#present].slice(this.#asked, this.#asked + ASKED_PER_LOOK);
    this.#asked += some.length;
    for (const [text, range] of some) {
      const error = this.#ask(range);
      // If the interface is down, the kernel reports when it is up; after EMFILE it reports
      // nothing.
      const isKnown = error === null || error === 'EEXIST' || error === 'ENETDOWN';
      this.#unasked = isKnown ? this.#unasked - 1 : this.#present.size;
      if (error === null)
        log(
          'warn',
          `${interfaceName} had lost the route to ${text}, and has it again; somebody has deleted it`,
        );
    }
  }

  /** Adds a route that should be there. Null: it was not; else why the kernel refuses it. */
  #ask({ network, prefixBits }: NetworkRange): string | null {
    const { interfaceName, addon } = this.#options;
    try {
      addon.changeRoute(interfaceName, network, prefixBits, true);
      return null;
    } catch (error) {
      return (error as { code?: string }).code ?? '';
    }
  }

  #sayLost(addresses: boolean, routes: boolean): void {
    const { interfaceName, log } = this.#options;
    const what = [...(addresses ? ['addresses'] : []), ...(routes ? ['routes'] : [])].join(' and ');
    log(
      'warn',
      `${interfaceName} had lost its ${what}, and has them again; ip link set down and ip addr flush remove them`,
    );
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

  #masquerade(): void {
    const { egress, log } = this.#options;
    const error = egress.masqueradeRoutes([...this.#present.values()]);
    // It is tried again at each look; the same error is logged once.
    if (error !== null && error !== this.#error)
      log('warn', `networks behind devices are not masqueraded: ${error}`);
    if (error === null && this.#error !== null && egress.isMasqueraded)
      log('info', 'networks behind devices are masqueraded now');
    this.#error = error;
  }

  /** Makes all routes again, after the interface was made again. */
  renew(): void {
    this.#present.clear();
    this.set(this.#wanted);
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
      // It is tried again and again; the same error is logged once.
      if (this.#refused.get(text) !== why)
        log('warn', `the network ${text} behind a device ${done}: ${why}`);
      if (isAdded) this.#refused.set(text, why);
      return false;
    }
  }
}
