// Forwarding and masquerading, by which packets of devices leave the host: switched on at the
// start, undone at the end. If something cannot be switched on, that is a warning, not a failure.

import type { Amendment, PeerConfig } from '../contract.ts';
import type { GatewayFacts, GatewayOptions } from './descriptors.ts';
import {
  loadMasquerade,
  type Masquerade,
  type MasqueradeCounts,
  masqueradeRoutes,
  readMasqueradeCounts,
  removeMasquerade,
} from '../io/masquerade.ts';
import { enableForwarding, readFilesMax } from '../io/system.ts';
import type { Left } from '../io/relay.ts';
import { TcpRelay } from './tcp-relay.ts';
import { formatAddress } from '../wire/address.ts';
import { sameBytes } from '../wire/bytes.ts';
import { lostNetworks, type NetworkRange } from '../wire/network.ts';

/** The nft table that masquerades. */
export interface MasqueradeTable {
  readonly load: typeof loadMasquerade;
  readonly read: typeof readMasqueradeCounts;
}

const KERNEL: MasqueradeTable = { load: loadMasquerade, read: readMasqueradeCounts };

/** The egress of one gateway. */
export class Egress {
  readonly #options: GatewayOptions;
  readonly #table: MasqueradeTable;
  readonly #relay: TcpRelay | null;
  #isMasqueraded = false;
  /** Whether the table was there, has vanished, and is not loaded again yet. */
  #isLost = false;
  /** Whether it could not be read (EMFILE), so that it is not known whether it is there. */
  #isUnread = false;
  /** Why it could not be loaded as it should be, as it was logged last. */
  #error: string | null = null;

  constructor(options: GatewayOptions, table = KERNEL) {
    this.#options = options;
    this.#table = table;
    this.#relay =
      options.relaysTcp === true ? new TcpRelay({ ...options, filesMax: readFilesMax() }) : null;
  }

  /** Whether what leaves is masqueraded. */
  get isMasqueraded(): boolean {
    return this.#isMasqueraded;
  }

  /** Whether all tables were there when they were looked for last. */
  get isSettled(): boolean {
    return !this.#isLost && !this.#isUnread && this.#relay?.isLost !== true;
  }

  /** What the kernel refused to masquerade; null where that is not known. */
  get masqueradeCounts(): MasqueradeCounts | null {
    const counts = this.#counts();
    return counts === 'gone' ? null : counts;
  }

  #counts(): MasqueradeCounts | 'gone' | null {
    return this.#isMasqueraded ? this.#table.read(this.#options.interfaceName) : null;
  }

  /** How many TCP connections the relay had no room for. */
  get unrelayed(): number {
    return this.#relay?.refused ?? 0;
  }

  /** What people see of it. */
  get facts(): Pick<GatewayFacts, 'masquerade' | 'relayed'> {
    return { masquerade: this.#isMasqueraded, relayed: this.#relay?.carried ?? 0 };
  }

  async open(): Promise<void> {
    const { ipv4, ipv6, forwarding, log } = this.#options;
    if (forwarding === 'auto') {
      const errors = enableForwarding({ ipv4: ipv4 !== null, ipv6: ipv6 !== null });
      for (const error of errors) log('warn', error);
    }
    await this.#relay?.open();
    if (this.#masquerade().networks.length > 0) this.#load();
  }

  /**
   * Loads the tables again that somebody has removed, as `nft flush ruleset` does; returns whether
   * the one that masquerades was among them and is there again. Where the kernel refuses, the next
   * call tries again.
   */
  restore(): boolean {
    this.#relay?.restore();
    const { log, interfaceName } = this.#options;
    const wasLost = this.#isLost;
    const counts = this.#counts();
    this.#isUnread = this.#isMasqueraded && counts === null;
    if (counts === 'gone') {
      this.#isLost = true;
      log(
        'warn',
        `the nft table of ${interfaceName} has vanished and is loaded again; nft flush ruleset removes it too`,
      );
    }
    if (!this.#isLost) return false;
    this.#load();
    this.#isLost = !this.#isMasqueraded;
    if (wasLost && !this.#isLost) log('info', `the nft table of ${interfaceName} is loaded again`);
    return this.#isMasqueraded;
  }

  #load(): void {
    const { isMasqueraded, error } = this.#table.load(this.#masquerade());
    this.#isMasqueraded = isMasqueraded;
    if (error !== null && error !== this.#error) this.#options.log('warn', error);
    this.#error = error;
  }

  /** Masquerades what comes from networks behind devices; returns an error or null. */
  masqueradeRoutes(routes: readonly NetworkRange[]): string | null {
    return this.#isMasqueraded ? masqueradeRoutes(this.#masquerade(), routes) : null;
  }

  /**
   * Returns what ends the relayed connections from addresses and networks that peers lose by an
   * amendment. Ask before it is in force, when the peers have them, and call it afterwards.
   */
  endOfConnections(amendment: Amendment, peers: ReadonlyMap<string, PeerConfig>): () => void {
    const relay = this.#relay;
    if (relay === null) return () => undefined;
    const left = leftBy(amendment, peers);
    return () => {
      if (left.addresses.length > 0 || left.networks.length > 0) relay.resetFrom(left);
    };
  }

  async close(): Promise<void> {
    await this.#relay?.close();
    if (this.#isMasqueraded) removeMasquerade(this.#options.interfaceName);
  }

  #masquerade(): Masquerade {
    const { interfaceName, egressInterface, ipv4, ipv6, masqueradeIpv4, masqueradeIpv6 } =
      this.#options;
    const networks = [masqueradeIpv4 ? ipv4 : null, masqueradeIpv6 ? ipv6 : null].filter(
      (network) => network !== null,
    );
    return { interfaceName, networks, egressInterface };
  }
}

/** The addresses, and the networks behind them, that peers lose by an amendment. */
export function leftBy({ peers }: Amendment, before: ReadonlyMap<string, PeerConfig>): Left {
  const addresses: string[] = [];
  const networks: NetworkRange[] = [];
  for (const [key, peer] of peers) {
    const old = before.get(key);
    for (const family of ['ipv4', 'ipv6'] as const) {
      const address = old?.[family] ?? null;
      if (address !== null && !sameBytes(address, peer?.[family] ?? null))
        addresses.push(formatAddress(address));
    }
    networks.push(...lostNetworks(old?.routes, peer?.routes));
  }
  return { addresses, networks };
}
