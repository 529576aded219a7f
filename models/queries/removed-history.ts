// The history of devices and rules that are removed. A small number of rows is deleted in the same
// transaction. The rest stays for a chore, which deletes it in small steps with pauses; nobody can
// read it meanwhile, because every read of a history looks for its owner. docs/state.md#history.

import { QueryTypes, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { giveWay } from '../storage/give-way.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { SERIES } from './history.ts';

/** Rows of each table that are deleted in the transaction of a removal. */
export const GONE_AT_ONCE = 500;
/** Rows that one statement of the chore deletes, and subjects that one statement looks at. */
const ROWS_PER_STEP = 250;
const SUBJECTS_PER_LOOK = 250;

/** A table whose rows belong to records of another one. */
export interface Belonging {
  readonly table: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** The column that names the owner, and the owners' table. */
  readonly subject: string;
  readonly owners: 'devices' | 'rules';
}

/** All tables of the history whose rows go with a record. */
export const BELONGINGS: readonly Belonging[] = [
  ...[SERIES.device, SERIES.rule].map(({ table, subject, owners }) => ({
    table,
    key: [subject ?? '', 'step', 'start', 'gateway_id'],
    subject: subject ?? '',
    owners: owners === 'rules' ? ('rules' as const) : ('devices' as const),
  })),
  { table: 'connections', key: ['id'], subject: 'device_id', owners: 'devices' },
];

/** Deletes a limited number of rows of the history of records that are about to be removed. */
export async function takeHistoryAlong(
  database: Database,
  owners: Belonging['owners'],
  ids: readonly string[],
  transaction: Transaction,
): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all(
    BELONGINGS.filter((one) => one.owners === owners).map((one) =>
      deleteSome(database, one, {
        where: `${one.subject} IN (:ids)`,
        limit: GONE_AT_ONCE,
        replacements: { ids },
        transaction,
      }),
    ),
  );
}

/**
 * Deletes the rows that removed devices and rules left, some at a time. Returns how many were
 * deleted. Several processes may do so at once; if one is killed, the next call deletes the rows
 * that it did not reach.
 */
export async function forgetRemoved(
  database: Database,
  isStopping: () => boolean = () => false,
): Promise<number> {
  let count = 0;
  for (const one of BELONGINGS)
    for await (const id of removedOf(database, one, isStopping))
      for (let deleted = ROWS_PER_STEP; deleted === ROWS_PER_STEP && !isStopping();) {
        const startedAt = performance.now();
        deleted = await rerunOnConflict(database, () =>
          deleteSome(database, one, {
            where: `${one.subject} = :id AND NOT EXISTS (SELECT 1 FROM ${one.owners} WHERE id = :id)`,
            limit: ROWS_PER_STEP,
            replacements: { id },
          }),
        );
        count += deleted;
        await giveWay(startedAt);
      }
  return count;
}

/** Ids of removed records that have rows in a table. */
async function* removedOf(
  database: Database,
  one: Belonging,
  isStopping: () => boolean,
): AsyncGenerator<string> {
  for (let after = ''; !isStopping();) {
    const rows = await database.sequelize.query<{ id: string; is_owned: number }>(
      `${subjectsOf(database, one)}
       SELECT subjects.id AS id,
         EXISTS (SELECT 1 FROM ${one.owners} WHERE ${one.owners}.id = subjects.id) AS is_owned
       FROM subjects WHERE subjects.id IS NOT NULL ORDER BY subjects.id`,
      { ...plainSelect(), replacements: { after } },
    );
    for (const { id, is_owned: isOwned } of rows) if (Number(isOwned) === 0) yield id;
    const last = rows.at(-1)?.id;
    if (last === undefined || rows.length < SUBJECTS_PER_LOOK) return;
    after = last;
    await giveWay(performance.now());
  }
}

/** The next subjects of a table. SQLite skips in the index only if the statement says so. */
function subjectsOf({ kind }: Database, { table, subject }: Belonging): string {
  if (kind === 'mysql')
    return `WITH subjects AS (SELECT DISTINCT ${subject} AS id FROM ${table}
      WHERE ${subject} > :after ORDER BY ${subject} LIMIT ${SUBJECTS_PER_LOOK})`;
  const next = (after: string): string =>
    `SELECT MIN(${subject}) FROM ${table} WHERE ${subject} > ${after}`;
  return `WITH RECURSIVE subjects (id) AS (${next(':after')} UNION ALL
    SELECT (${next('subjects.id')}) FROM subjects WHERE subjects.id IS NOT NULL
    LIMIT ${SUBJECTS_PER_LOOK})`;
}

/** Deletes some of the rows that fit; returns how many. */
function deleteSome(
  { kind, sequelize }: Database,
  { table, key }: Belonging,
  wanted: {
    readonly where: string;
    readonly limit: number;
    readonly replacements: Record<string, unknown>;
    readonly transaction?: Transaction;
  },
): Promise<number> {
  const { where, limit, ...options } = wanted;
  const columns = key.join(', ');
  const some =
    kind === 'mysql'
      ? `WHERE ${where} LIMIT ${limit}`
      : // SQLite is built without LIMIT of a DELETE.
        `WHERE (${columns}) IN (SELECT ${columns} FROM ${table} WHERE ${where} LIMIT ${limit})`;
  return sequelize.query(`DELETE FROM ${table} ${some}`, {
    ...options,
    type: QueryTypes.BULKDELETE,
  });
}
