// Addresses from which somebody signed in before. Passwords from them have places of their own in
// the queue, so that a crowd of strangers does not keep these people out. At first the addresses
// are those of the live sessions; each sign-in at this process adds one, up to KNOWN_MAX.

import type { Database } from '../../models/index.ts';
import { TunnelAddresses, type TunnelSettings } from '../kit/http/tunnel-addresses.ts';

/** The most scopes that are remembered; then the one is forgotten that was unused for longest. */
export const KNOWN_MAX = 10_000;

const knownOf = new WeakMap<Database, Promise<KnownAddresses>>();

/** The addresses that a database's process knows. */
export class KnownAddresses {
  /** In the order of their last use. */
  readonly #scopes = new Set<string>();
  readonly #tunnel: TunnelAddresses;

  constructor(config: TunnelSettings) {
    this.#tunnel = new TunnelAddresses(config);
  }

  /** The addresses of a database, read from its sessions once; a failure is not remembered. */
  static of(database: Database, config: TunnelSettings): Promise<KnownAddresses> {
    const present = knownOf.get(database);
    if (present !== undefined) return present;
    const reading = readKnown(database, config);
    knownOf.set(database, reading);
    reading.catch(() => knownOf.delete(database));
    return reading;
  }

  has(address: string): boolean {
    return this.#scopes.has(this.#tunnel.scopeOf(address));
  }

  add(address: string): void {
    const scope = this.#tunnel.scopeOf(address);
    this.#scopes.delete(scope);
    this.#scopes.add(scope);
    const [oldest] = this.#scopes;
    if (this.#scopes.size > KNOWN_MAX && oldest !== undefined) this.#scopes.delete(oldest);
  }
}

async function readKnown({ models }: Database, config: TunnelSettings): Promise<KnownAddresses> {
  const known = new KnownAddresses(config);
  const sessions = await models.Session.findAll({
    attributes: ['address'],
    where: { state: 'open' },
    order: [['seen_at', 'DESC']],
    limit: KNOWN_MAX,
    raw: true,
  });
  for (const { address } of sessions.toReversed()) if (address) known.add(address);
  return known;
}
