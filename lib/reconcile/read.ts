// What the database says: all of it, or the rows that changed since a revision. One consistent
// state each time: the revision first, then the rows, in one transaction. Everything comes page by
// page, so that what was read is garbage soon and a start holds no table as a whole.

import {
  type Change,
  type Configuration,
  currentRevision,
  type Database,
  type DeviceEnd,
  type ObeyedDevice,
  readChanges,
  readConfiguration,
  readDeviceEnds,
  inPages,
  readDevices,
  readGroupsOfUsers,
  readRules,
  readSessionDuration,
  readTransaction,
  readUserEnds,
  readUsers,
  type Revision,
  type ObeyedRule,
  type Selection,
  type Transaction,
  type ObeyedUser,
  type UserEnd,
} from '../../models/index.ts';
import { effectiveFields } from '../kit/records/effective-configuration.ts';

/**
 * Rows that the data plane obeys, by id; null for a row that is gone. They have the fields that
 * the tables of models/fields mark as obeyed: no other can change which packets pass.
 */
export interface RowChanges {
  /** All ids that there are, where everything was read, with its last rows: others are gone. */
  readonly all: AllIds | null;
  readonly users: ReadonlyMap<string, ObeyedUser | null>;
  /** By id of the user: the ids of all groups that the user is in. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly devices: ReadonlyMap<string, ObeyedDevice | null>;
  readonly rules: ReadonlyMap<string, ObeyedRule | null>;
  /** Null: as before. */
  readonly settings: RowSettings | null;
}

/** The ids of all rows. */
export interface AllIds {
  readonly users: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
  readonly rules: ReadonlySet<string>;
}

/** Whoever takes rows as they are read; no more are asked for until it has. */
export type TakeRows = (changes: RowChanges) => Promise<void> | void;

/** The ends of rows, by id; null for a row that is gone. */
export interface RowEnds {
  /** Whether these are all rows that there are: others are gone. */
  readonly isAll: boolean;
  readonly users: ReadonlyMap<string, UserEnd | null>;
  readonly devices: ReadonlyMap<string, DeviceEnd | null>;
  /** Seconds; null: as before. */
  readonly vpnSessionDuration: number | null;
}

/** Whoever takes what readings on a later schema say. */
export interface HearLater {
  /** Which step is later; null: none. Hears it before the ends are read. */
  readonly hear: (step: string | null) => Promise<void>;
  readonly takeEnds: (ends: RowEnds) => void;
}

/** The fields of the configuration that packets obey. */
export const OBEYED_SETTINGS = [
  'vpn_session_duration',
  'default_client_mtu',
  'default_limit_down',
  'default_limit_up',
  'default_quota',
  'default_action',
] as const;

/** What the configuration says to the data plane. */
export type RowSettings = Readonly<Pick<Configuration, (typeof OBEYED_SETTINGS)[number]>>;

/** What a configuration says that does not exist yet. */
export const NO_SETTINGS: RowSettings = {
  vpn_session_duration: 0,
  default_client_mtu: null,
  default_limit_down: null,
  default_limit_up: null,
  default_quota: null,
  default_action: 'accept',
};

const NOTHING: RowChanges = {
  all: null,
  users: new Map(),
  groups: new Map(),
  devices: new Map(),
  rules: new Map(),
  settings: null,
};
const PAGE = 1_000;

/** Reads everything; resolves to the revision that it belongs to. Rejects on a later schema. */
export function readAll(database: Database, take: TakeRows): Promise<Revision> {
  return readTransaction(database, (transaction) => readEverything(database, transaction, take));
}

/**
 * Reads what changed after a revision, or everything where the changes are not known any more; on a
 * later schema what ends of it, and nothing else.
 */
export function readSince(
  database: Database,
  revision: Revision,
  take: TakeRows,
  { hear, takeEnds }: HearLater,
): Promise<Revision> {
  return readTransaction(database, async (transaction) => {
    const since = await readChanges(database, revision, transaction);
    await hear(since.later?.step ?? null);
    if (since.later !== null) {
      takeEnds(await readEnds(database, since.full === true ? null : since.changes, transaction));
      return since.revision;
    }
    if (since.full === true) return readEverything(database, transaction, take);
    const changedIn = (table: string): string[] => idsIn(since.changes, table);
    const namesConfiguration = changedIn('configurations').length > 0;
    await take({
      all: null,
      users: await named(readUsers, changedIn('users')),
      groups: await groupsOf(database, changedIn('group_memberships'), transaction),
      devices: await named(readDevices, changedIn('devices')),
      rules: await named(readRules, changedIn('rules')),
      settings: namesConfiguration ? await readSettings(database, transaction) : null,
    });
    return since.revision;

    /** The rows of some ids; one that is not found was removed. */
    async function named<Row extends { id: string }>(
      read: (
        database: Database,
        selection: { ids: string[]; transaction: Transaction },
      ) => Promise<Row[]>,
      ids: string[],
    ): Promise<Map<string, Row | null>> {
      return rowsById(ids, ids.length === 0 ? [] : await read(database, { ids, transaction }));
    }
  });
}

/**
 * Reads rows of these ids in a transaction that changed them, with the owners of the devices, the
 * devices of the users among them and their groups.
 */
export async function readChanged(
  database: Database,
  changes: readonly Change[],
  transaction: Transaction,
): Promise<RowChanges> {
  const changedIn = (table: string): string[] => idsIn(changes, table);
  const users = rowsById(changedIn('users'), await readUsers(database, ofIds('users')));
  const moved = changedIn('group_memberships').filter((id) => !users.has(id));
  for (const row of await readUsers(database, { ids: moved, transaction })) users.set(row.id, row);
  const devices = rowsById(changedIn('devices'), await readDevices(database, ofIds('devices')));
  const userIds = [...users].flatMap(([id, row]) => (row === null ? [] : [id]));
  for (const device of await readDevices(database, { userIds, transaction }))
    devices.set(device.id, device);
  const owners = [...devices.values()].flatMap((row) =>
    row === null || users.has(row.user_id) ? [] : [row.user_id],
  );
  if (owners.length > 0)
    for (const row of await readUsers(database, { ids: [...new Set(owners)], transaction }))
      users.set(row.id, row);
  return {
    all: null,
    users,
    groups: await groupsOf(database, [...users.keys()], transaction),
    devices,
    rules: rowsById(changedIn('rules'), await readRules(database, ofIds('rules'))),
    settings:
      changedIn('configurations').length > 0 ? await readSettings(database, transaction) : null,
  };

  function ofIds(table: string): { ids: string[]; transaction: Transaction } {
    return { ids: changedIn(table), transaction };
  }
}

/** Reads what ends of the rows that changed; null: of all. */
async function readEnds(
  database: Database,
  changes: readonly Change[] | null,
  transaction: Transaction,
): Promise<RowEnds> {
  if (changes === null) {
    const users = await readUserEnds(database, { transaction });
    const devices = await readDeviceEnds(database, { transaction });
    return {
      isAll: true,
      users: rowsById([], users),
      devices: rowsById([], devices),
      vpnSessionDuration: await readSessionDuration(database, transaction),
    };
  }
  const users = idsIn(changes, 'users');
  const devices = idsIn(changes, 'devices');
  const namesConfiguration = idsIn(changes, 'configurations').length > 0;
  return {
    isAll: false,
    users: rowsById(users, await readUserEnds(database, { ids: users, transaction })),
    devices: rowsById(devices, await readDeviceEnds(database, { ids: devices, transaction })),
    vpnSessionDuration: namesConfiguration
      ? await readSessionDuration(database, transaction)
      : null,
  };
}

/** The ids of the rows that changed in a table. */
function idsIn(changes: readonly Change[], table: string): string[] {
  return changes.filter((change) => change.table === table).map(({ id }) => id);
}

/** Rows by id; null for one that was not found, because it was removed. */
function rowsById<Row extends { id: string }>(
  ids: readonly string[],
  rows: readonly Row[],
): Map<string, Row | null> {
  const byId = new Map<string, Row | null>(ids.map((id) => [id, null]));
  for (const row of rows) byId.set(row.id, row);
  return byId;
}

async function readEverything(
  database: Database,
  transaction: Transaction,
  take: TakeRows,
): Promise<Revision> {
  // The first statement fixes the state that all the others see.
  const revision = await currentRevision(database, transaction);
  database.refuseLater();
  // The settings come before the rows that depend on them.
  await take({ ...NOTHING, settings: await readSettings(database, transaction) });
  const users = await pages(readUsers, async (rows) => {
    const groups = await groupsOf(database, [...rows.keys()], transaction);
    await take({ ...NOTHING, users: rows, groups });
  });
  const rules = await pages(readRules, (rows) => take({ ...NOTHING, rules: rows }));
  // Last, so that a device may be served once its page is here.
  const devices = await pages(readDevices, (rows) => take({ ...NOTHING, devices: rows }));
  await take({ ...NOTHING, all: { users, devices, rules } });
  return revision;

  /** Reads a table; returns the ids of its rows. */
  async function pages<Row extends { id: string; inserted_at: Date }>(
    read: (database: Database, selection: Selection) => Promise<Row[]>,
    takePage: (rows: Map<string, Row>) => Promise<void> | void,
  ): Promise<Set<string>> {
    const ids = new Set<string>();
    for await (const page of inPages(PAGE, (some) => read(database, { ...some, transaction }))) {
      await takePage(new Map(page.map((row) => [row.id, row])));
      for (const { id } of page) ids.add(id);
    }
    return ids;
  }
}

/** The groups of each of these users, also of those who are in none. */
async function groupsOf(
  database: Database,
  userIds: readonly string[],
  transaction: Transaction,
): Promise<Map<string, readonly string[]>> {
  const found = await readGroupsOfUsers(database, userIds, transaction);
  return new Map(userIds.map((id) => [id, found.get(id) ?? []]));
}

async function readSettings(database: Database, transaction: Transaction): Promise<RowSettings> {
  const configuration = (await readConfiguration(database, transaction)) ?? NO_SETTINGS;
  return effectiveFields(OBEYED_SETTINGS, configuration, {});
}
