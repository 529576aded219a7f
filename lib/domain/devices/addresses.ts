// Addresses of devices: which addresses a network has, and which are taken. A pool goes round its
// network and remembers its place, so that a new device costs one look at an index; several
// processes may do so at once, because the address pool is locked and the columns are unique.
// docs/api.md#addresses-of-a-device.

import { formatAddress } from '../../../dataplane/index.ts';
import {
  type Database,
  type Family,
  Op,
  parseAddress,
  parseRange,
  type Transaction,
} from '../../../models/index.ts';

/** A network of devices, as the settings give it. */
export interface NetworkSettings {
  readonly family: Family;
  /** CIDR, as configured. */
  readonly network: string;
  /** The gateway's own address. */
  readonly gateway: string;
}

/** Why an address cannot be a device's. */
export type AddressError = 'outside' | 'reserved';

/** The columns that hold the sortable keys of addresses. */
export type KeyColumn = 'ipv4_key' | 'ipv6_key';

/** IPv6 networks wider than this are used from their first network of this prefix. */
const IPV6_PREFIX_MIN = 70;
/**
 * Taken addresses read at first in the search for a gap; each further look reads four times more.
 */
const FIRST_LOOK = 64;
const LOOK_MAX = 4_096;

/** The addresses of one family. Addresses are numbers here; columns hold them as hex. */
export class AddressPool {
  readonly network: string;
  readonly column: KeyColumn;
  readonly #family: Family;
  readonly #first: bigint;
  readonly #last: bigint;
  readonly #gateway: bigint;
  /** Where allocation ends; the network may go on beyond it. */
  readonly #lastAllocated: bigint;
  /** Where to look next; null before the first look. */
  #next: bigint | null = null;

  constructor({ family, network, gateway }: NetworkSettings) {
    const range = parseRange(network);
    const own = parseAddress(gateway);
    if (range?.family !== family || own?.family !== family)
      throw new Error(`${network} and ${gateway} are no IPv${family} network and address`);
    this.network = network;
    this.column = family === 4 ? 'ipv4_key' : 'ipv6_key';
    this.#family = family;
    this.#first = numberOf(range.start);
    this.#last = numberOf(range.end);
    this.#gateway = numberOf(own.key);
    const firstPart = this.#first + (1n << BigInt(128 - IPV6_PREFIX_MIN)) - 1n;
    this.#lastAllocated = family === 6 && firstPart < this.#last ? firstPart : this.#last - 1n;
  }

  /** Checks an address of this family; null when a device may have it. */
  check(key: string): AddressError | null {
    const address = numberOf(key);
    if (address < this.#first || address > this.#last) return 'outside';
    const isReserved = [this.#first, this.#last, this.#gateway].includes(address);
    return isReserved ? 'reserved' : null;
  }

  /** The keys of the addresses to try next without a look; none when nothing is known yet. */
  candidates(count: number): string[] {
    const keys: string[] = [];
    for (let next = this.#next; next !== null && keys.length < count; next = this.#after(next))
      keys.push(this.#keyOf(next));
    return keys;
  }

  /** Finds the key of a free address; null when the network is exhausted. The pool is locked. */
  async find(database: Database, transaction: Transaction): Promise<string | null> {
    const from = this.#next ?? (await this.#afterHighest(database, transaction));
    const found =
      (await this.#findBetween(database, transaction, from, this.#lastAllocated)) ??
      (await this.#findBetween(database, transaction, this.#first + 1n, from - 1n));
    return found === null ? null : this.#keyOf(found);
  }

  /** Goes on behind an address that was given out. */
  advance(key: string): void {
    this.#next = this.#after(numberOf(key));
  }

  /** The text of the address that a key stands for. */
  textOf(key: string): string {
    return formatAddress(Buffer.from(key, 'hex'));
  }

  /** Looks for a gap among the taken addresses, in their order. */
  async #findBetween(
    database: Database,
    transaction: Transaction,
    from: bigint,
    to: bigint,
  ): Promise<bigint | null> {
    let expected = this.#notGateway(from);
    for (let look = FIRST_LOOK; expected <= to; look = Math.min(look * 4, LOOK_MAX)) {
      const taken = await this.#readTaken(database, transaction, expected, to, look);
      for (const address of taken) {
        if (address > expected) return expected;
        expected = this.#notGateway(address + 1n);
      }
      if (taken.length < look) return expected <= to ? expected : null;
    }
    return null;
  }

  async #readTaken(
    database: Database,
    transaction: Transaction,
    from: bigint,
    to: bigint,
    limit: number,
  ): Promise<bigint[]> {
    const { column } = this;
    const rows = (await database.models.Device.findAll({
      attributes: [column],
      where: { [column]: { [Op.between]: [this.#keyOf(from), this.#keyOf(to)] } },
      order: [[column, 'ASC']],
      limit,
      raw: true,
      transaction,
    })) as unknown as Record<string, string>[];
    return rows.map((row) => numberOf(row[column] ?? ''));
  }

  async #afterHighest(database: Database, transaction: Transaction): Promise<bigint> {
    const between = [this.#keyOf(this.#first), this.#keyOf(this.#lastAllocated)];
    const highest: string | null = await database.models.Device.max(this.column, {
      where: { [this.column]: { [Op.between]: between } },
      transaction,
    });
    return this.#usable(highest === null ? this.#first + 1n : numberOf(highest) + 1n);
  }

  #after(address: bigint): bigint {
    return this.#usable(address + 1n);
  }

  /** The address itself, or where the round goes on from there. */
  #usable(address: bigint): bigint {
    const next = this.#notGateway(address);
    return next > this.#lastAllocated ? this.#notGateway(this.#first + 1n) : next;
  }

  #notGateway(address: bigint): bigint {
    return address === this.#gateway ? address + 1n : address;
  }

  #keyOf(address: bigint): string {
    return address.toString(16).padStart(this.#family === 4 ? 8 : 32, '0');
  }
}

function numberOf(key: string): bigint {
  return BigInt(`0x${key}`);
}
