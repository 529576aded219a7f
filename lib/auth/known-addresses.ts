// Addresses from which somebody signed in before. Their passwords have places of their own, so a
// crowd of strangers does not keep them out. The live sessions tell them at first, each sign-in of
// this process adds one; as many as the bound says are remembered.

import type { Database } from '../../models/index.ts';
import { addressScope } from '../http/client-address.ts';

/** Scopes that are remembered; beyond, the one that was used longest ago goes. */
export const KNOWN_MAX = 10_000;

const knownOf = new WeakMap<Database, Promise<KnownAddresses>>();

/** The addresses that a database's process knows. */
export class KnownAddresses {
  /** The one that was used last stands last. */
  readonly #scopes = new Set<string>();

  /** Those of a database; read from its sessions once, and again where that failed. */
  static of(database: Database): Promise<KnownAddresses> {
    const present = knownOf.get(database);
    if (present !== undefined) return present;
    const reading = readKnown(database);
    knownOf.set(database, reading);
    reading.catch(() => knownOf.delete(database));
    return reading;
  }

  has(address: string): boolean {
    return this.#scopes.has(addressScope(address));
  }

  add(address: string): void {
    const scope = addressScope(address);
    this.#scopes.delete(scope);
    this.#scopes.add(scope);
    const [oldest] = this.#scopes;
    if (this.#scopes.size > KNOWN_MAX && oldest !== undefined) this.#scopes.delete(oldest);
  }
}

async function readKnown({ models }: Database): Promise<KnownAddresses> {
  const known = new KnownAddresses();
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
