// What the database says, held in memory and brought up to date by the rows that a change names.
// One consistent state each time: the revision first, then the rows, in one transaction.

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

/** The rows that the data plane obeys, by id, as of one revision. */
export interface Rows {
  readonly revision: Revision;
  readonly users: ReadonlyMap<string, UserRow>;
  readonly devices: ReadonlyMap<string, DeviceRow>;
  readonly rules: ReadonlyMap<string, RuleRow>;
  /** Seconds; 0 means that sessions do not end. */
  readonly vpnSessionDuration: number;
  /** The MTU of devices that have none of their own; null: the tunnel's. */
  readonly defaultClientMtu: number | null;
}

/** Reads everything. */
export function readAll(database: Database): Promise<Rows> {
  return readTransaction(database, (transaction) => readEverything(database, transaction));
}

/**
 * Reads what changed since `rows`, or everything where the changes are not known any more. Rows
 * that did not change are the same objects as before.
 */
export function readSince(database: Database, rows: Rows): Promise<Rows> {
  return readTransaction(database, async (transaction) => {
    const since = await readChanges(database, rows.revision, transaction);
    if (since.full === true) return readEverything(database, transaction);
    if (since.revision === rows.revision) return rows;
    const idsOf = (table: string): string[] =>
      since.changes.filter((change) => change.table === table).map((change) => change.id);
    const ids = { users: idsOf('users'), devices: idsOf('devices'), rules: idsOf('rules') };
    return {
      revision: since.revision,
      users: replaced(rows.users, ids.users, await some(readUsers, ids.users)),
      devices: replaced(rows.devices, ids.devices, await some(readDevices, ids.devices)),
      rules: replaced(rows.rules, ids.rules, await some(readRules, ids.rules)),
      ...(since.changes.some((change) => change.table === 'configurations')
        ? await readSettings(database, transaction)
        : { vpnSessionDuration: rows.vpnSessionDuration, defaultClientMtu: rows.defaultClientMtu }),
    };

    async function some<Row>(
      read: (
        database: Database,
        selection: { ids: string[]; transaction: Transaction },
      ) => Promise<Row[]>,
      wanted: string[],
    ): Promise<Row[]> {
      return wanted.length === 0 ? [] : read(database, { ids: wanted, transaction });
    }
  });
}

async function readEverything(database: Database, transaction: Transaction): Promise<Rows> {
  // The first statement fixes the state that all the others see.
  const revision = await currentRevision(database, transaction);
  const users = await readUsers(database, { transaction });
  const devices = await readDevices(database, { transaction });
  const rules = await readRules(database, { transaction });
  return {
    revision,
    users: byId(users),
    devices: byId(devices),
    rules: byId(rules),
    ...(await readSettings(database, transaction)),
  };
}

/** What the configuration says to the data plane. */
async function readSettings(
  database: Database,
  transaction: Transaction,
): Promise<Pick<Rows, 'vpnSessionDuration' | 'defaultClientMtu'>> {
  const configuration = await readConfiguration(database, transaction);
  return {
    vpnSessionDuration: configuration?.vpn_session_duration ?? 0,
    defaultClientMtu: configuration?.default_client_mtu ?? null,
  };
}

function byId<Row extends { id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** A map with the rows of `ids` as they were read; one that was not found is a removal. */
function replaced<Row extends { id: string }>(
  present: ReadonlyMap<string, Row>,
  ids: readonly string[],
  rows: readonly Row[],
): ReadonlyMap<string, Row> {
  if (ids.length === 0) return present;
  const next = new Map(present);
  for (const id of ids) next.delete(id);
  for (const row of rows) next.set(row.id, row);
  return next;
}
