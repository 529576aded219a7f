// The addresses of the TUN while the gateway runs. When somebody sets the interface down, the
// kernel removes its IPv6 addresses for good; `ip addr flush` removes all of an interface that
// stays up.

import type { NetworkConfig } from '../contract.ts';
import { messageOf } from './descriptors.ts';
import { readAddressesOf } from '../io/system.ts';
import type { Addon } from '../native/index.ts';
import { formatAddress } from '../wire/address.ts';
import { sameBytes } from '../wire/bytes.ts';

/** The interface that has the addresses, and what makes them. */
export interface TunAddressesOptions {
  readonly interfaceName: string;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly addon: Pick<Addon, 'addAddress' | 'isLinkUp'>;
  readonly log: (level: 'info' | 'warn', text: string) => void;
}

/** The addresses that the interface should have. */
export class TunAddresses {
  readonly #options: TunAddressesOptions;
  readonly #wanted: readonly NetworkConfig[];
  readonly #read: (interfaceName: string) => Uint8Array[];
  /** Whether all were there when they were looked for last; an error after that is logged once. */
  #wereThere = false;
  /**
   * The addresses that were there once. An address that never was there, for example because IPv6
   * is off, is not missing.
   */
  readonly #once = new Set<NetworkConfig>();
  #isSettled = false;
  /** Why the kernel refuses one of these addresses now. */
  #error: string | null = null;

  constructor(options: TunAddressesOptions, read = readAddressesOf) {
    this.#options = options;
    this.#wanted = [options.ipv4, options.ipv6].filter((one) => one !== null);
    this.#read = read;
  }

  /** Which address the interface has lost and why the kernel refuses it; null: it refuses none. */
  get error(): string | null {
    return this.#error;
  }

  /** Whether all addresses are there that were there once. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /**
   * Adds what is missing where the interface is up; returns whether it added some. `here`: the
   * addresses of the host, which may be a second old.
   */
  restore(here: readonly Uint8Array[]): boolean {
    const missing = this.#missingIn(here);
    for (const one of this.#wanted) if (!missing.includes(one)) this.#once.add(one);
    this.#isSettled = !missing.some((one) => this.#once.has(one));
    if (missing.length === 0) {
      this.#wereThere = true;
      this.#error = null;
      return false;
    }
    const present = this.#present();
    // Nothing is added while the interface is down, because somebody set it down on purpose. A
    // flushed interface has no address either, so the kernel is asked whether it is up.
    if (present === null || (present.length === 0 && !this.#isUp())) return false;
    this.#error = null;
    // Each address is tried, also when one is refused.
    return this.#missingIn(present)
      .map((one) => this.#add(one))
      .includes(true);
  }

  /**
   * Tries those again that never were there, where the interface is up: no news of the kernel says
   * that IPv6 was switched on. Returns whether it added some.
   */
  addAbsent(): boolean {
    const absent = this.#wanted.filter((one) => !this.#once.has(one));
    if (absent.length === 0 || !this.#isUp()) return false;
    return absent.map((one) => this.#add(one)).includes(true);
  }

  #missingIn(addresses: readonly Uint8Array[]): NetworkConfig[] {
    return this.#wanted.filter(({ address }) => !addresses.some((one) => sameBytes(one, address)));
  }

  /** Null: they cannot be read (EMFILE), and it is looked again in a second. */
  #present(): Uint8Array[] | null {
    try {
      return this.#read(this.#options.interfaceName);
    } catch {
      return null;
    }
  }

  #isUp(): boolean {
    const { interfaceName, addon } = this.#options;
    try {
      return addon.isLinkUp(interfaceName);
    } catch {
      // The interface has vanished, or EMFILE.
      return false;
    }
  }

  #add(one: NetworkConfig): boolean {
    const { address, prefixBits } = one;
    const { interfaceName, addon, log } = this.#options;
    try {
      addon.addAddress(interfaceName, address, prefixBits);
      this.#once.add(one);
      return true;
    } catch (error) {
      const message = `${interfaceName} has lost ${formatAddress(address)}: ${messageOf(error)}`;
      if (this.#wereThere) log('warn', message);
      this.#wereThere = false;
      if (this.#once.has(one)) this.#error ??= message;
      return false;
    }
  }
}
