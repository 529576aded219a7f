// What the database says: all of it, or the rows that changed since a revision. One consistent
// state each time: the revision first, then the rows, in one transaction.

import {
  currentRevision,
  type Database,
  type DeviceRow,
  readChanges,
  readConfiguration,
  readDevices,
  readRules,
  readTransaction,
  readUsers,
  type Revision,
  type RuleRow,
  type Transaction,
  type UserRow,
} from '../../models/index.ts';

/** Rows that the data plane obeys, by id, as of one revision; null for a row that is gone. */
export interface RowChanges {
  readonly revision: Revision;
  /** True: there are no other rows than these. */
  readonly isEverything: boolean;
  readonly users: ReadonlyMap<string, UserRow | null>;
  readonly devices: ReadonlyMap<string, DeviceRow | null>;
  readonly rules: ReadonlyMap<string, RuleRow | null>;
  /** Null: as before. */
  readonly settings: RowSettings | null;
}

/** What the configuration says to the data plane. */
export interface RowSettings {
  /** Seconds; 0 means that sessions do not end. */
  readonly vpnSessionDuration: number;
  /** The MTU of devices that have none of their own; null: the tunnel's. */
  readonly defaultClientMtu: number | null;
}

/** Reads everything. */
export function readAll(database: Database): Promise<RowChanges> {
  return readTransaction(database, (transaction) => readEverything(database, transaction));
}

/** Reads what changed after a revision, or everything where the changes are not known any more. */
export function readSince(database: Database, revision: Revision): Promise<RowChanges> {
  return readTransaction(database, async (transaction) => {
    const since = await readChanges(database, revision, transaction);
    if (since.full === true) return readEverything(database, transaction);
    const changedIn = (table: string): string[] =>
      since.changes.filter((change) => change.table === table).map((change) => change.id);
    const namesConfiguration = changedIn('configurations').length > 0;
    return {
      revision: since.revision,
      isEverything: false,
      users: await named(readUsers, changedIn('users')),
      devices: await named(readDevices, changedIn('devices')),
      rules: await named(readRules, changedIn('rules')),
      settings: namesConfiguration ? await readSettings(database, transaction) : null,
    };

    /** The rows of some ids; one that is not found was removed. */
    async function named<Row extends { id: string }>(
      read: (
        database: Database,
        selection: { ids: string[]; transaction: Transaction },
      ) => Promise<Row[]>,
      ids: string[],
    ): Promise<Map<string, Row | null>> {
      const rows = new Map<string, Row | null>(ids.map((id) => [id, null]));
      if (ids.length === 0) return rows;
      for (const row of await read(database, { ids, transaction })) rows.set(row.id, row);
      return rows;
    }
  });
}

async function readEverything(database: Database, transaction: Transaction): Promise<RowChanges> {
  // The first statement fixes the state that all the others see.
  const revision = await currentRevision(database, transaction);
  const users = await readUsers(database, { transaction });
  const devices = await readDevices(database, { transaction });
  const rules = await readRules(database, { transaction });
  return {
    revision,
    isEverything: true,
    users: byId(users),
    devices: byId(devices),
    rules: byId(rules),
    settings: await readSettings(database, transaction),
  };
}

async function readSettings(database: Database, transaction: Transaction): Promise<RowSettings> {
  const configuration = await readConfiguration(database, transaction);
  return {
    vpnSessionDuration: configuration?.vpn_session_duration ?? 0,
    defaultClientMtu: configuration?.default_client_mtu ?? null,
  };
}

function byId<Row extends { id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
