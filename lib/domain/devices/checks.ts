// Checks what only the database knows of devices: whether an owner exists and may have another one,
// whether name, key and addresses are free. One statement finds all rows that could conflict with
// the devices that are made together; a network is searched only when the next address in its round
// is taken. docs/api.md#devices.

import { MAX_PEERS } from '../../../dataplane/index.ts';
import {
  countAllDevices,
  type Device,
  type deviceFields,
  parseAddress,
  readRivalDevices,
  type RivalDevice,
  type Rivals,
  readAllRivalDevices,
  readUserIds,
  type SentOf,
  type Transaction,
} from '../../../models/index.ts';
import { AddressPool } from './addresses.ts';
import { generateName } from './names.ts';
import { RouteNeighbours, validateRoutes } from './routes.ts';
import { validateSettings } from './settings.ts';
import type { Shared } from '../../kit/process/shared.ts';
import {
  addError,
  type Errors,
  hasNoErrors,
  type Validated,
} from '../../kit/validation/validate.ts';
import { exhausted, messages, noPlace, notInNetwork } from '../../kit/validation/messages.ts';

/** What the fields of a device yield. */
export type DeviceValues = SentOf<typeof deviceFields>;

/** The values that checking adds to a device that is made. */
export type FoundRow = Pick<Device, 'user_id' | 'name' | 'ipv4' | 'ipv6'>;

/** The result of checking a device that is to be made; the row counts if there is no error. */
export interface CheckedDevice {
  readonly errors: Errors;
  readonly row: FoundRow;
}

/** What checking needs of the server. */
export interface CheckServices extends Pick<Shared, 'config' | 'database'> {
  /** The gateway's public key, base64. */
  readonly serverPublicKey: string;
  /** Devices that the data plane has places for; MAX_PEERS where it is left out. */
  readonly maxPeers?: number;
  /** How many devices were there a moment ago; left out where nobody counts. */
  readonly observed?: { readonly deviceCount: () => number };
}

/** So close to the most devices they are counted in the transaction: gateways may add at once. */
const COUNTED_MARGIN = 4_096;

type Family = 'ipv4' | 'ipv6';
/** By family: an address, or its sortable key. */
type Addresses = Partial<Record<Family, string>>;

const families = ['ipv4', 'ipv6'] as const;

/** A device that is asked for, and what can be said of it without reading the database. */
interface AskedDevice {
  readonly values: DeviceValues;
  readonly errors: Errors;
  /** Undefined where none was named, or it has errors. */
  readonly owner: string | undefined;
  /** The keys of the addresses that were sent. */
  readonly keys: Addresses;
  /** Families whose address was left out and is ours to choose; none in an update. */
  readonly chosen: readonly Family[];
}

/**
 * The devices that exist before many devices are made. They are read once, and made devices are
 * added.
 */
export interface Standing {
  readonly rivals: RivalIndex;
  readonly neighbours: RouteNeighbours;
  total: number;
}

/** What exists beside devices that are to be made. */
interface Surroundings {
  readonly rivals: RivalIndex;
  /** Ids of the users who exist. */
  readonly owners: ReadonlySet<string>;
  /** How many devices exist, plus the checked ones that may be made. */
  readonly total: number;
  readonly transaction: Transaction;
}

/** Checks the devices of one server; it knows the networks, and which addresses are taken. */
export class DeviceChecks {
  readonly #services: CheckServices;
  readonly #maxPeers: number;
  /** Null for a family that is switched off. */
  readonly #pools: Readonly<Record<Family, AddressPool | null>>;

  constructor(services: CheckServices) {
    const { config, maxPeers = MAX_PEERS } = services;
    this.#services = services;
    this.#maxPeers = maxPeers;
    this.#pools = {
      ipv4: config.wireguardIpv4Enabled
        ? new AddressPool({
            family: 4,
            network: config.wireguardIpv4Network,
            gateway: config.wireguardIpv4Address,
          })
        : null,
      ipv6: config.wireguardIpv6Enabled
        ? new AddressPool({
            family: 6,
            network: config.wireguardIpv6Network,
            gateway: config.wireguardIpv6Address,
          })
        : null,
    };
  }

  /**
   * Checks devices that are to be made, and finds addresses that were left out. It checks the first
   * inputs, at least one, up to the first that needs a search for an address. Each is checked as if
   * those before it were made. The address pool is locked.
   */
  async forCreate(
    inputs: readonly Validated<DeviceValues>[],
    transaction: Transaction,
    present?: Standing,
  ): Promise<CheckedDevice[]> {
    // Where many devices are made, a device that has errors already is not worth the search for an
    // address.
    const wishes = inputs
      .map((input) => this.#wishOf(input))
      .map((wish) =>
        present === undefined || hasNoErrors(wish.errors) ? wish : { ...wish, chosen: [] },
      );
    const { standing, owners } = await this.#surroundings(wishes, transaction, present);
    const checked: CheckedDevice[] = [];
    for (const wish of wishes) {
      const searched = wish.chosen.filter((field) => this.#needsSearch(field, standing.rivals));
      // A search sees what is written, not what was checked.
      if (searched.length > 0 && checked.length > 0) break;
      const { rivals, neighbours, total } = standing;
      await this.#validateRoutes(wish, neighbours);
      const around = { rivals, owners, total, transaction };
      const one = await this.#validateCreate(wish, searched, around);
      checked.push(one);
      if (!hasNoErrors(one.errors)) continue;
      rivals.add(rivalOf(one.row, wish.values));
      const { routes } = wish.values;
      if (hasRoutes(routes)) await neighbours.add({ name: one.row.name, routes });
      standing.total += 1;
    }
    return checked;
  }

  /** Reads all rows that can conflict with devices, once for many batches of devices. */
  async standing(transaction: Transaction): Promise<Standing> {
    const { database } = this.#services;
    return {
      rivals: new RivalIndex(await readAllRivalDevices(database, transaction)),
      neighbours: new RouteNeighbours({ services: this.#services, transaction }, null),
      total: await countAllDevices(database, transaction),
    };
  }

  /** The rows that could conflict with these devices, and which of their owners exist. */
  async #surroundings(
    wishes: readonly AskedDevice[],
    transaction: Transaction,
    present: Standing | undefined,
  ): Promise<{ standing: Standing; owners: ReadonlySet<string> }> {
    const { database } = this.#services;
    if (present !== undefined) {
      const ids = [...new Set(wishes.map(({ owner }) => owner).filter(isGiven))];
      return { standing: present, owners: await readUserIds(database, ids, { transaction }) };
    }
    const [{ devices, owners }, total] = await Promise.all([
      this.#readRivals(wishes, transaction),
      this.#countDevices(transaction),
    ]);
    const neighbours = new RouteNeighbours({ services: this.#services, transaction }, null);
    return { standing: { rivals: new RivalIndex(devices), neighbours, total }, owners };
  }

  /** Checks changes of a device. The address pool is locked if they move it. */
  async forUpdate(
    input: Validated<DeviceValues>,
    present: Device,
    transaction: Transaction,
  ): Promise<Errors> {
    const { values } = input;
    const errors = { ...input.errors };
    validateSettings(values, present, errors);
    const keys = this.#keysOf(values, errors);
    for (const field of families)
      if (values[field] === null && this.#pools[field] !== null)
        addError(errors, field, messages.blank);
    const owner = values.name === undefined ? undefined : present.user_id;
    const wish = { values, errors, owner, keys, chosen: [] };
    const { devices } = await this.#readRivals([wish], transaction);
    this.#validateTaken(wish, new RivalIndex(devices.filter(({ id }) => id !== present.id)));
    const context = { services: this.#services, transaction };
    await this.#validateRoutes(wish, new RouteNeighbours(context, present.id));
    return errors;
  }

  /** Checks the networks that were sent, beside those of other devices. */
  async #validateRoutes(
    { values: { routes }, errors }: AskedDevice,
    near: RouteNeighbours,
  ): Promise<void> {
    if (hasRoutes(routes) && errors['routes'] === undefined)
      await validateRoutes(routes, near, errors);
  }

  /** The addresses that an update sets: none of a family that is switched off. */
  addressesOf(values: DeviceValues): Addresses {
    const addresses: Addresses = {};
    for (const field of families) {
      const value = values[field];
      if (this.#pools[field] !== null && typeof value === 'string') addresses[field] = value;
    }
    return addresses;
  }

  #wishOf({ values, errors: present }: Validated<DeviceValues>): AskedDevice {
    const errors = { ...present };
    validateSettings(values, null, errors);
    const keys = this.#keysOf(values, errors);
    const chosen = families.filter(
      (field) => (values[field] ?? null) === null && !errors[field] && this.#pools[field] !== null,
    );
    return { values, errors, owner: errors['user_id'] ? undefined : values.user_id, keys, chosen };
  }

  /** The keys of the addresses that were sent, of those that a device may have. */
  #keysOf(values: DeviceValues, errors: Errors): Addresses {
    const keys: Addresses = {};
    for (const field of families) {
      const pool = this.#pools[field];
      const value = values[field] ?? null;
      if (value === null || errors[field] !== undefined) continue;
      const key = parseAddress(value)?.key ?? '';
      if (pool === null) addError(errors, field, messages.invalid);
      else if (pool.check(key) === 'reserved') addError(errors, field, messages.reserved);
      else if (pool.check(key) === 'outside') addError(errors, field, notInNetwork(pool.network));
      else keys[field] = key;
    }
    return keys;
  }

  /** While there is much room, what the reconciler knows is enough: nothing has to be counted. */
  async #countDevices(transaction: Transaction): Promise<number> {
    const { database, observed } = this.#services;
    const known = observed?.deviceCount();
    return known !== undefined && known < this.#maxPeers - COUNTED_MARGIN
      ? known
      : countAllDevices(database, transaction);
  }

  /** Reads the owners with their devices, and those that have a key or an address in question. */
  #readRivals(wishes: readonly AskedDevice[], transaction: Transaction): Promise<Rivals> {
    const keysOf = (field: Family): string[] => {
      const chosen = wishes.filter((wish) => wish.chosen.includes(field)).length;
      const sent = wishes.map(({ keys }) => keys[field]).filter(isGiven);
      return [...sent, ...(this.#pools[field]?.candidates(chosen) ?? [])];
    };
    return readRivalDevices(
      this.#services.database,
      {
        user_id: wishes.map(({ owner }) => owner).filter(isGiven),
        public_key: wishes.map(({ values }) => values.public_key).filter(isGiven),
        ipv4_key: keysOf('ipv4'),
        ipv6_key: keysOf('ipv6'),
      },
      transaction,
    );
  }

  /** True where the next address of the round is taken, or not known. */
  #needsSearch(field: Family, rivals: RivalIndex): boolean {
    const [next] = this.#pools[field]?.candidates(1) ?? [];
    return next === undefined || rivals.has(`${field}_key`, next);
  }

  async #validateCreate(
    wish: AskedDevice,
    searched: readonly Family[],
    { rivals, owners, total, transaction }: Surroundings,
  ): Promise<CheckedDevice> {
    const { values, errors, owner } = wish;
    if (total >= this.#maxPeers) addError(errors, 'base', noPlace(this.#maxPeers));
    const siblings = rivals.namesOf(owner);
    if (owner !== undefined && !owners.has(owner)) addError(errors, 'user_id', messages.absent);
    else if (siblings.size >= this.#services.config.maxDevicesPerUser && owner !== undefined)
      addError(errors, 'base', messages.deviceLimit);
    this.#validateTaken(wish, rivals);
    const chosen = await this.#choose(wish, searched, transaction);
    const row = {
      user_id: owner ?? '',
      name: values.name ?? generateName(siblings),
      ipv4: values.ipv4 ?? chosen.ipv4 ?? null,
      ipv6: values.ipv6 ?? chosen.ipv6 ?? null,
    };
    return { errors, row };
  }

  /** Chooses the addresses that were left out: the next ones of the round, or any that are free. */
  async #choose(
    wish: AskedDevice,
    searched: readonly Family[],
    transaction: Transaction,
  ): Promise<Addresses> {
    const chosen: Addresses = {};
    for (const field of wish.chosen) {
      const pool = this.#pools[field];
      if (pool === null) continue;
      const key = searched.includes(field)
        ? await pool.find(this.#services.database, transaction)
        : (pool.candidates(1)[0] ?? null);
      if (key === null) {
        addError(wish.errors, 'base', exhausted(pool.network));
      } else {
        chosen[field] = pool.textOf(key);
        if (hasNoErrors(wish.errors)) pool.advance(key);
      }
    }
    return chosen;
  }

  /** Adds errors for sent values that are taken. */
  #validateTaken({ values, errors, owner, keys }: AskedDevice, rivals: RivalIndex): void {
    const { name, public_key } = values;
    if (name !== undefined && rivals.namesOf(owner).has(name))
      addError(errors, 'name', messages.taken);
    const isOwnKey = public_key === this.#services.serverPublicKey;
    if (isOwnKey || rivals.has('public_key', public_key))
      addError(errors, 'public_key', messages.taken);
    for (const field of families)
      if (rivals.has(`${field}_key`, keys[field])) addError(errors, field, messages.taken);
  }
}

type RivalColumn = 'public_key' | 'ipv4_key' | 'ipv6_key';

/** Rivals by their values: finding one costs the same however many there are. */
class RivalIndex {
  readonly #values: Readonly<Record<RivalColumn, Set<string>>> = {
    public_key: new Set(),
    ipv4_key: new Set(),
    ipv6_key: new Set(),
  };
  readonly #names = new Map<string, Set<string>>();

  constructor(rivals: readonly RivalDevice[]) {
    for (const rival of rivals) this.add(rival);
  }

  add(rival: RivalDevice): void {
    for (const column of ['public_key', 'ipv4_key', 'ipv6_key'] as const) {
      const value = rival[column];
      if (value !== null) this.#values[column].add(value);
    }
    const names = this.#names.get(rival.user_id);
    if (names === undefined) this.#names.set(rival.user_id, new Set([rival.name]));
    else names.add(rival.name);
  }

  has(column: RivalColumn, value: string | undefined): boolean {
    return value !== undefined && this.#values[column].has(value);
  }

  /** The names of the devices of a user. */
  namesOf(owner: string | undefined): ReadonlySet<string> {
    return (owner === undefined ? undefined : this.#names.get(owner)) ?? NO_NAMES;
  }
}

const NO_NAMES: ReadonlySet<string> = new Set();

function hasRoutes(routes: readonly string[] | null | undefined): routes is readonly string[] {
  return routes !== undefined && routes !== null && routes.length > 0;
}

/** A device that is to be made, as the rival of the next. */
function rivalOf(
  { user_id, name, ipv4, ipv6 }: FoundRow,
  { public_key }: DeviceValues,
): RivalDevice {
  const keyOf = (text: string | null): string | null =>
    text === null ? null : (parseAddress(text)?.key ?? null);
  return {
    id: '',
    user_id,
    name,
    public_key: public_key ?? '',
    ipv4_key: keyOf(ipv4),
    ipv6_key: keyOf(ipv6),
  };
}

function isGiven<T>(value: T | undefined): value is T {
  return value !== undefined;
}
