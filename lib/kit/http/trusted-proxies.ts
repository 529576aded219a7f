// The proxies of TRUSTED_PROXIES. An address or a network never changes. A name, such as that of a
// service of Docker Compose, is looked up when a request comes from an unknown peer, and again
// after a minute. A name is as trustworthy as the resolver of this host. Devices have addresses in
// the networks of the tunnel, so nobody there is a proxy by a range, only by an exact address.

import { lookup } from 'node:dns/promises';
import { type Config, isLoopback } from '../../../config/index.ts';
import type { NetworkRange } from '../../../dataplane/index.ts';
import type { Log } from '../process/log.ts';
import { messageOf } from '../process/message.ts';
import { cameByDoor, type Peer } from './door.ts';
import { canonical, isAddress, isInAny, parseRanges } from './client-address.ts';
import { TunnelAddresses, type TunnelSettings } from './tunnel-addresses.ts';

/** How long the addresses of a name are used. */
const KEEP_MS = 60_000;
/** The shortest time between two look-ups, because requests of strangers cause them. */
const PAUSE_MS = 2_000;
/** The longest time that a request waits for the resolver. */
const WAIT_MS = 1_000;

/** Finds the addresses of a name; rejects if there is none. */
export type LookUp = (name: string) => Promise<readonly string[]>;

const lookUpHere: LookUp = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** The proxies that one process trusts. */
export class TrustedProxies {
  readonly #names: readonly string[];
  readonly #fixed: readonly NetworkRange[];
  readonly #lookUp: LookUp;
  readonly #log: Log;
  /** The addresses that were found last, by name. */
  readonly #found = new Map<string, readonly NetworkRange[]>();
  readonly #missing = new Set<string>();
  readonly #tunnel: TunnelAddresses;
  #ranges: readonly NetworkRange[];
  #lookedAtMs = -Infinity;
  #looking: Promise<void> | null = null;

  constructor(
    config: TunnelSettings & Pick<Config, 'trustedProxies'>,
    log: Log,
    lookUp = lookUpHere,
  ) {
    const { addresses, names } = membersOf(config.trustedProxies);
    this.#tunnel = new TunnelAddresses(config);
    this.#names = names;
    this.#fixed = parseRanges(addresses.join(','));
    this.#ranges = this.#fixed;
    this.#lookUp = lookUp;
    this.#log = log;
  }

  /** True for a proxy, as far as the addresses of names are known. */
  readonly trusts = (address: string): boolean =>
    isInAny(address, this.#ranges) &&
    (!this.#tunnel.isOfDevice(address) || isInAny(address, this.#ranges.filter(isOneAddress)));

  /** True for the other end of a connection if it is a proxy; by a door only a device can be. */
  readonly trustsPeer = (peer: Peer): boolean => {
    const { remoteAddress: address = '' } = peer;
    return this.trusts(address) && (!cameByDoor(peer) || this.#tunnel.isOfDevice(address));
  };

  /** True for a proxy, and for this host: unnamed proxies may run here. */
  readonly standsForMany = (peer: Peer): boolean => {
    const { remoteAddress: address = '' } = peer;
    const isHere = !cameByDoor(peer) && isLoopback(canonical(address) ?? address);
    return isHere || this.trustsPeer(peer);
  };

  /** A promise to wait for before a peer that forwards requests is checked; null for none. */
  heed(peer: string, nowMs: number = performance.now()): Promise<unknown> | null {
    if (this.#names.length === 0) return null;
    const ageMs = nowMs - this.#lookedAtMs;
    const isKnown = this.trusts(peer);
    if (ageMs > (isKnown ? KEEP_MS : PAUSE_MS)) this.#look(nowMs);
    return isKnown || this.#looking === null ? null : waitFor(this.#looking);
  }

  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs;
    this.#looking ??= this.#readAll().finally(() => (this.#looking = null));
  }

  async #readAll(): Promise<void> {
    for (const name of this.#names) await this.#read(name);
    this.#ranges = [...this.#fixed, ...[...this.#found.values()].flat()];
  }

  async #read(name: string): Promise<void> {
    try {
      this.#found.set(name, parseRanges((await this.#lookUp(name)).map(withoutZone).join(',')));
      this.#missing.delete(name);
    } catch (error) {
      // Only ENOTFOUND says that the name is gone; the resolver may be away for a moment.
      if ((error as NodeJS.ErrnoException).code === 'ENOTFOUND') this.#found.delete(name);
      if (this.#missing.has(name)) return;
      this.#missing.add(name);
      const fields = { name, error: messageOf(error) };
      this.#log.warn(
        fields,
        'a name in TRUSTED_PROXIES is not found, so no proxy is trusted by it',
      );
    }
  }
}

function isOneAddress({ network, prefixBits }: NetworkRange): boolean {
  return prefixBits === 8 * network.length;
}

/** The names that a setting has beside addresses. */
export function namesOfProxies(setting: string | null): readonly string[] {
  return membersOf(setting).names;
}

function membersOf(setting: string | null): { addresses: string[]; names: string[] } {
  const members = (setting ?? '').split(',').map((one) => one.trim());
  const named = members.filter((one) => one !== '');
  return {
    addresses: named.filter(isAddress),
    names: named.filter((one) => !isAddress(one)),
  };
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}

async function waitFor(looking: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, WAIT_MS);
  });
  await Promise.race([looking, late]);
  clearTimeout(timer);
}
