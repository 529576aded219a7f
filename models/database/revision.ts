// The revision: one number that moves with every committed change, and beside it the rows that
// each step touched. Gateways read it to learn what to look at again. The row of the number is
// locked last and until the commit, so revisions become visible in their order, without a gap.
// docs/state.md#revisions.

import { QueryTypes, type Transaction } from 'sequelize';
import type { Database } from './database.ts';
import {
  isSchemaError,
  type LaterSchema,
  laterStep,
  noneIsLater,
  readLater,
  SchemaNewerError,
  zeroOrError,
} from './later-schema.ts';
import { driverError, rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect, shortSelect } from '../storage/select.ts';
import type { Change, Revision } from '../storage/tracking.ts';

/** More changes than this are not worth looking up one by one: a full read is asked for. */
const CHANGES_READ_MAX = 20_000;
/** Revisions whose changes are deleted in one statement, so that writers wait only briefly. */
const PRUNE_STEP = 500;
/** Change rows in one statement on MySQL. */
const ROWS_PER_INSERT = 1000;
/** The number itself; null, which no change may have, where its row is missing. */
const NUMBER = '(SELECT number FROM revisions WHERE id = 1)';
const MISSING = 'The revision row is missing; run the migrations';

/**
 * What happened since a revision: the rows to look at, or a request to read everything. `later`
 * says whether a later version migrated the database.
 */
export type ChangesSince = { revision: Revision; later: LaterSchema | null } & (
  { full?: false; changes: Change[] } | { full: true }
);

/** Reads the revision of the database: 0 before the first change. */
export async function currentRevision(
  database: Database,
  transaction?: Transaction,
): Promise<Revision> {
  // A parameter, though it is always 1: statements with parameters stay prepared on SQLite.
  const [row] = await database.sequelize.query<{ number: Revision; later: string | null }>(
    `SELECT number, ${laterStep(database.kind, database.lastStep)} AS later
     FROM revisions WHERE id = $id`,
    { ...shortSelect(transaction), bind: { id: 1 } },
  );
  if (row === undefined) missingRow();
  database.noteLater(readLater(row.later));
  return row.number;
}

/**
 * Whether no write has changed anything since a revision, and no later version has migrated the
 * database; false where there was none. The version of the database moves also because a gateway
 * says that it lives. On SQLite the main thread reads it.
 */
export async function isUnchangedSince(
  database: Database,
  revision: Revision | null,
): Promise<boolean> {
  if (revision === null) return false;
  return (await currentRevision(database)) === revision && database.later === null;
}

/**
 * Reads the revision at the end of a write that changed nothing; fails where a later version
 * migrated the database.
 */
export async function unchangedRevision(
  database: Database,
  transaction: Transaction,
): Promise<Revision> {
  if (database.kind === 'sqlite') {
    const revision = await currentRevision(database, transaction);
    database.refuseLater();
    return revision;
  }
  const [row] = await database.sequelize.query<{ number: Revision }>(
    `SELECT number + ${zeroOrError(database.lastStep)} AS number FROM revisions WHERE id = 1`,
    plainSelect(transaction),
  );
  return row?.number ?? missingRow();
}

/** Moves the revision on and names the changed rows under it; the last act of a transaction. */
export async function appendChanges(
  database: Database,
  changes: readonly Change[],
  transaction: Transaction,
): Promise<Revision> {
  return database.kind === 'sqlite'
    ? appendOnSqlite(database, changes, transaction)
    : appendOnMysql(database, changes, transaction);
}

/**
 * Reads which rows changed after a revision. A gap in the numbers, changes that were pruned, a
 * database older than the revision, or very many changes give `full`: read everything.
 */
export async function readChanges(
  database: Database,
  afterRevision: Revision,
  transaction?: Transaction,
): Promise<ChangesSince> {
  // One statement, though there is seldom a change: every request asks this, and a trip costs more.
  const rows = await database.sequelize.query<ChangeRow>(
    `SELECT revisions.number, revision, table_name, row_id,
       ${laterStep(database.kind, database.lastStep)} AS later
     FROM revisions LEFT JOIN changes ON revision > $after AND revision <= revisions.number
     WHERE revisions.id = 1 ORDER BY revision LIMIT ${CHANGES_READ_MAX + 1}`,
    { ...shortSelect(transaction), bind: { after: afterRevision } },
  );
  const [first] = rows;
  if (first === undefined) missingRow();
  const revision = first.number;
  const later = readLater(first.later);
  database.noteLater(later);
  if (revision === afterRevision) return { revision, later, changes: [] };
  const revisions = new Set(rows.map((row) => row.revision));
  // Each revision has at least one change, so fewer revisions than steps means a gap.
  const isWhole = revisions.size === revision - afterRevision && !revisions.has(null);
  if (!isWhole || rows.length > CHANGES_READ_MAX) return { revision, later, full: true };
  const changes = new Map<string, Change>();
  for (const { table_name: table, row_id: id } of rows)
    changes.set(`${table}/${id}`, { table, id });
  return { revision, later, changes: [...changes.values()] };
}

/** A change, beside the present revision; null where there is none. */
interface ChangeRow {
  number: Revision;
  revision: number | null;
  table_name: string;
  row_id: string;
  later: string | null;
}

/** Forgets the changes of all but the last `keep` revisions; returns how many rows went. */
export async function pruneChanges(database: Database, keep: number): Promise<number> {
  const last = (await currentRevision(database)) - keep;
  const [oldest] = await database.sequelize.query<{ revision: number | null }>(
    'SELECT MIN(revision) AS revision FROM changes',
    plainSelect(),
  );
  let count = 0;
  for (let step = oldest?.revision ?? last + 1; step <= last; step += PRUNE_STEP) {
    const upTo = Math.min(step + PRUNE_STEP - 1, last);
    count += await rerunOnConflict(database, () =>
      database.sequelize.query('DELETE FROM changes WHERE revision <= :upTo', {
        replacements: { upTo },
        type: QueryTypes.BULKDELETE,
      }),
    );
  }
  return count;
}

/**
 * One statement for both: a trigger (migration 0001) moves the number to that of the rows. Every
 * statement saved is a tenth of a small write here, and one text for any number of rows stays
 * prepared.
 */
async function appendOnSqlite(
  database: Database,
  changes: readonly Change[],
  transaction: Transaction,
): Promise<Revision> {
  const [row] = await database.sequelize.query<{ revision: Revision }>(
    `WITH next AS (SELECT number + 1 AS revision FROM revisions
       WHERE id = 1 AND ${noneIsLater(database.lastStep)})
     INSERT INTO changes (revision, table_name, row_id)
     SELECT revision, value ->> 'table', value ->> 'id' FROM next, json_each($changes)
     RETURNING revision`,
    { ...plainSelect(transaction), bind: { changes: JSON.stringify(changes) } },
  );
  if (row !== undefined) return row.revision;
  await currentRevision(database, transaction);
  database.refuseLater();
  return missingRow();
}

async function appendOnMysql(
  database: Database,
  changes: readonly Change[],
  transaction: Transaction,
): Promise<Revision> {
  // LAST_INSERT_ID(value) hands the value back with the answer: one round trip, no SELECT.
  const moved = database.sequelize.query(
    `UPDATE revisions
     SET number = LAST_INSERT_ID(number + 1 + ${zeroOrError(database.lastStep)}) WHERE id = 1`,
    { transaction },
  );
  const inserts: Promise<unknown>[] = [];
  for (let start = 0; start < changes.length; start += ROWS_PER_INSERT) {
    const rows = changes.slice(start, start + ROWS_PER_INSERT);
    inserts.push(
      database.sequelize.query(
        `INSERT INTO changes (revision, table_name, row_id)
         VALUES ${rows.map(() => `(${NUMBER}, ?, ?)`).join(', ')}`,
        {
          replacements: rows.flatMap(({ table, id }) => [table, id]),
          type: QueryTypes.INSERT,
          transaction,
        },
      ),
    );
  }
  const [[, header]] = await Promise.all([moved, ...inserts]);
  return (header as { insertId: Revision }).insertId;
}

/**
 * The error of an end of a transaction, in words where the row of the number is not there, or a
 * later version migrated the database.
 */
export function withoutRevision(error: unknown): unknown {
  if (isSchemaError(error)) return new SchemaNewerError();
  return driverError(error).code === 'ER_BAD_NULL_ERROR' ? new Error(MISSING) : error;
}

function missingRow(): never {
  throw new Error(MISSING);
}
