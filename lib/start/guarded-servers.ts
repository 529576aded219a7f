// The servers that this gateway itself needs, at private addresses: its database and its identity
// providers. Where packets of devices leave by sockets, such a server takes them for packets of the
// gateway, so the data plane lets a device reach it only by a rule that names exactly its address.
// Names are looked up again and again, as the program does that connects.

import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { type Config, databaseHost, hostOf } from '../../config/index.ts';
import { type Database, readConfiguration } from '../../models/index.ts';
import type { Log } from '../kit/process/log.ts';
import { messageOf } from '../kit/process/message.ts';

/** Names and providers are looked at again after so long. */
const LOOK_MS = 10_000;
/** An address of a name stays guarded for so long: a name may give its addresses in turn. */
const KEEP_MS = 600_000;
/** So many addresses are taken of one answer: whoever answers for a name chooses them. */
const ADDRESSES_MAX = 32;
/** A name that nobody answers delays no start for longer. */
const FIRST_LOOK_MS = 2_000;

/** What is looked at; tests give other answers. */
export interface GuardedOptions {
  /** The names or addresses of the servers. */
  readonly hosts: () => Promise<readonly string[]>;
  readonly lookUp?: (host: string) => Promise<readonly string[]>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds; virtual time in tests. */
  readonly now?: () => number;
}

const lookUpHere = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** The private addresses of these servers. */
export class GuardedServers {
  readonly #options: GuardedOptions;
  /** By host: the addresses that were found, and when. */
  readonly #found = new Map<string, ReadonlyMap<string, number>>();
  /** Whether the last look failed, so that a long failure is said once. */
  #hasFailed = false;
  #addresses: readonly Uint8Array[] = [];
  #text = '';
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: GuardedOptions) {
    this.#options = options;
  }

  /** Bytes of the addresses; the same list until they change. */
  get addresses(): readonly Uint8Array[] {
    return this.#addresses;
  }

  /** Looks now, and again and again until `stop`. */
  async follow(): Promise<void> {
    await this.look();
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.follow(), LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /**
   * Looks once, one name after the other: each is guarded as soon as it is found. What cannot be
   * found stays as it was.
   */
  async look(): Promise<void> {
    const { hosts, lookUp = lookUpHere, log, now = () => performance.now() } = this.#options;
    try {
      const wanted = await hosts();
      for (const host of this.#found.keys()) if (!wanted.includes(host)) this.#found.delete(host);
      for (const host of wanted) {
        const found = await lookUp(host).catch(() => null);
        if (found === null) continue;
        const at = now();
        const kept = [...(this.#found.get(host) ?? [])].filter(([, seen]) => seen + KEEP_MS > at);
        const fresh = found.slice(0, ADDRESSES_MAX).map((address) => [address, at] as const);
        this.#found.set(host, new Map([...kept, ...fresh]));
        this.#publish();
      }
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        log.warn({ fault: messageOf(error) }, 'the servers to be guarded could not be read');
      this.#hasFailed = true;
    }
    this.#publish();
  }

  #publish(): void {
    const found = [...this.#found.values()].flatMap((one) => [...one.keys()]);
    const all = [...new Set(found.filter(isPrivate))].toSorted();
    if (all.join(' ') === this.#text) return;
    this.#text = all.join(' ');
    this.#addresses = all.map((address) => Uint8Array.from(ipaddr.process(address).toByteArray()));
  }
}

/**
 * Guards the servers of a gateway whose packets may leave by sockets, and waits for the first look.
 * `hasTun`: nothing is guarded with a TUN, so nothing is asked.
 */
export async function startGuarding(
  { config, database, log }: { config: Config; database: Database; log: Log },
  hasTun: () => boolean,
): Promise<GuardedServers> {
  const hosts = async () => (hasTun() ? [] : hostsToGuard(config, database));
  const guarded = new GuardedServers({ hosts, log });
  if (config.wireguardTun === 'auto' || config.wireguardTun === 'sockets')
    await Promise.race([guarded.follow(), sleep(FIRST_LOOK_MS, null, { ref: false })]);
  return guarded;
}

/** The hosts of the database and of the identity providers. */
async function hostsToGuard(config: Config, database: Database): Promise<string[]> {
  const row = await readConfiguration(database);
  const { openid_connect_providers: oidc = [], saml_identity_providers: saml = [] } = row ?? {};
  const urls = [
    ...oidc.map(({ discovery_document_uri }) => discovery_document_uri),
    ...saml.flatMap((one) => ('metadata_url' in one ? [String(one.metadata_url)] : [])),
  ];
  const hosts = [databaseHost(config), ...urls.filter((url) => URL.canParse(url)).map(hostOf)];
  return [...new Set(hosts.filter((host) => host !== null))];
}

function isPrivate(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() !== 'unicast';
}
