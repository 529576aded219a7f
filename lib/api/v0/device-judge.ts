// Judges what only the database knows of a device: whether its owner exists and may have another
// one, whether name, key and addresses are free. One statement looks at all that could stand in the
// way; a network is searched only when the next address in its round is taken. api.md, section 5.

import { type Device, Op, parseAddress, type Transaction } from '../../../models/index.ts';
import { AddressPool } from '../../devices/addresses.ts';
import { generateName } from '../../devices/names.ts';
import { judgeSettings, type Settings } from '../../devices/settings.ts';
import type { Services } from '../../services.ts';
import { addFault, type Faults, isFaultless, type Judged, type Mode } from '../judge.ts';
import { exhausted, messages, notInNetwork } from '../messages.ts';

/** What the fields of a device yield. */
export interface DeviceValues extends Partial<Settings> {
  user_id?: string;
  name?: string;
  description?: string | null;
  public_key?: string;
  preshared_key?: string;
  ipv4?: string | null;
  ipv6?: string | null;
}

/** What judging adds to the values of a device that is made. */
export interface FoundRow {
  user_id: string;
  name: string;
  ipv4: string | null;
  ipv6: string | null;
}

/** A device that may stand in the way. */
type Neighbour = Pick<Device, 'id' | 'user_id' | 'name' | 'public_key' | 'ipv4_key' | 'ipv6_key'>;

type Family = 'ipv4' | 'ipv6';
type Addresses = Partial<Record<Family, string>>;

const families = ['ipv4', 'ipv6'] as const;

/** The judge of one server; it knows the networks and who has what in them. */
export class DeviceJudge {
  readonly #services: Services;
  /** Null for a family that is switched off. */
  readonly #pools: Readonly<Record<Family, AddressPool | null>>;

  constructor(services: Services) {
    const { config } = services;
    this.#services = services;
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
   * Judges a device that is to be made, and finds what was left out. The address pool is locked.
   */
  async forCreate(
    input: Judged<DeviceValues>,
    transaction: Transaction,
  ): Promise<{ faults: Faults; row: FoundRow }> {
    const { values } = input;
    const faults = { ...input.faults };
    judgeSettings(values, null, faults);
    const wanted = this.#wantedKeys(values, faults, 'create');
    const owner = faults['user_id'] === undefined ? values.user_id : undefined;
    const neighbours = await this.#readNeighbours(owner, values.public_key, wanted, transaction);
    const siblings = neighbours.filter((neighbour) => neighbour.user_id === owner);
    if (owner !== undefined) await this.#judgeOwner(owner, siblings.length, faults, transaction);
    const taken = this.#judgeTaken(values, wanted, neighbours, siblings, faults);
    const row = {
      user_id: owner ?? '',
      name: values.name ?? generateName(new Set(siblings.map(({ name }) => name))),
      ipv4: await this.#addressOf('ipv4', values, wanted, taken, faults, transaction),
      ipv6: await this.#addressOf('ipv6', values, wanted, taken, faults, transaction),
    };
    return { faults, row };
  }

  /** Judges changes of a device. The address pool is locked if they move it. */
  async forUpdate(
    input: Judged<DeviceValues>,
    present: Device,
    transaction: Transaction,
  ): Promise<Faults> {
    const { values } = input;
    const faults = { ...input.faults };
    judgeSettings(values, present, faults);
    const wanted = this.#wantedKeys(values, faults, 'update');
    const owner = values.name === undefined ? undefined : present.user_id;
    const found = await this.#readNeighbours(owner, values.public_key, wanted, transaction);
    const neighbours = found.filter((neighbour) => neighbour.id !== present.id);
    const siblings = neighbours.filter((neighbour) => neighbour.user_id === owner);
    this.#judgeTaken(values, wanted, neighbours, siblings, faults);
    return faults;
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

  /** Judges whether the owner exists and may have another device. */
  async #judgeOwner(
    owner: string,
    deviceCount: number,
    faults: Faults,
    transaction: Transaction,
  ): Promise<void> {
    const { database, config } = this.#services;
    const options = { attributes: ['id'], raw: true, transaction };
    // Whoever has a device exists.
    const exists =
      deviceCount > 0 || (await database.models.User.findByPk(owner, options)) !== null;
    if (!exists) addFault(faults, 'user_id', messages.absent);
    else if (deviceCount >= config.maxDevicesPerUser)
      addFault(faults, 'base', messages.deviceLimit);
  }

  /** The keys to look for: of the addresses that were sent, or of the next ones in the round. */
  #wantedKeys(values: DeviceValues, faults: Faults, mode: Mode): Addresses {
    const wanted: Addresses = {};
    for (const field of families) {
      const pool = this.#pools[field];
      const value = values[field] ?? null;
      if (faults[field] !== undefined) continue;
      if (pool === null) {
        if (value !== null) addFault(faults, field, messages.invalid);
      } else if (value === null) {
        if (mode === 'create' && pool.candidate !== null) wanted[field] = pool.candidate;
        if (mode === 'update' && values[field] === null) addFault(faults, field, messages.blank);
      } else {
        const key = parseAddress(value)?.key ?? '';
        const fault = pool.judge(key);
        if (fault === null) wanted[field] = key;
        else
          addFault(
            faults,
            field,
            fault === 'reserved' ? messages.reserved : notInNetwork(pool.network),
          );
      }
    }
    return wanted;
  }

  /** Reads, in one statement, the devices of an owner and those that have a key or an address. */
  async #readNeighbours(
    owner: string | undefined,
    publicKey: string | undefined,
    { ipv4, ipv6 }: Addresses,
    transaction: Transaction,
  ): Promise<Neighbour[]> {
    const conditions: Partial<Neighbour>[] = [];
    if (owner !== undefined) conditions.push({ user_id: owner });
    if (publicKey !== undefined) conditions.push({ public_key: publicKey });
    if (ipv4 !== undefined) conditions.push({ ipv4_key: ipv4 });
    if (ipv6 !== undefined) conditions.push({ ipv6_key: ipv6 });
    if (conditions.length === 0) return [];
    return this.#services.database.models.Device.findAll({
      attributes: ['id', 'user_id', 'name', 'public_key', 'ipv4_key', 'ipv6_key'],
      where: { [Op.or]: conditions },
      raw: true,
      transaction,
    });
  }

  /** Complains of what was sent and is taken; returns the families whose wanted address is. */
  #judgeTaken(
    values: DeviceValues,
    wanted: Addresses,
    neighbours: readonly Neighbour[],
    siblings: readonly Neighbour[],
    faults: Faults,
  ): ReadonlySet<Family> {
    const { name, public_key } = values;
    if (name !== undefined && siblings.some((sibling) => sibling.name === name))
      addFault(faults, 'name', messages.taken);
    const isOwnKey = public_key === this.#services.serverPublicKey;
    if (isOwnKey || neighbours.some((other) => other.public_key === public_key))
      addFault(faults, 'public_key', messages.taken);
    const taken = families.filter((field) => {
      const key = wanted[field];
      return key !== undefined && neighbours.some((other) => other[`${field}_key`] === key);
    });
    // An address that was not sent is simply another one.
    for (const field of taken)
      if (typeof values[field] === 'string') addFault(faults, field, messages.taken);
    return new Set(taken);
  }

  /**
   * The address that a new device gets: the one that was sent, the next one, or any that is free.
   */
  async #addressOf(
    field: Family,
    values: DeviceValues,
    wanted: Addresses,
    taken: ReadonlySet<Family>,
    faults: Faults,
    transaction: Transaction,
  ): Promise<string | null> {
    const pool = this.#pools[field];
    const given = values[field] ?? null;
    if (pool === null || given !== null || faults[field] !== undefined) return given;
    const next = taken.has(field) ? undefined : wanted[field];
    const key = next ?? (await pool.find(this.#services.database, transaction));
    if (key === null) {
      addFault(faults, 'base', exhausted(pool.network));
      return null;
    }
    if (isFaultless(faults)) pool.advance(key);
    return pool.textOf(key);
  }
}
