// Makes sums of the history longer as they get old: steps of ten minutes are added up to hours,
// hours to days, and days are deleted. In batches, each a transaction, so that others have their
// turn. It does not matter how many gateways do it at once, nor where one is killed: a batch locks
// the rows that it adds up and deletes them, so nothing is counted twice or lost.
// docs/state.md#history.

import { setTimeout as sleep } from 'node:timers/promises';
import { QueryTypes, Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { addingTo, columnsOf, KEPT_S, SERIES, type Series, type Step, STEPS } from './history.ts';

/** Owners that one statement looks at for rows that are old enough. */
const OWNERS_PER_LOOK = 250;
/** Owners whose rows are in one batch: some hundred rows each hour, while all is well. */
const OWNERS_PER_BATCH = 25;
/** A pause between batches, in which others write. */
const PAUSE_MS = 2;
/** Connections that are kept of one device, so that none fills the disk by coming and going. */
export const CONNECTIONS_MAX = 1_000;

/** What a roll-up came to. */
export interface RolledUp {
  /** Rows that became part of rows of longer steps. */
  readonly joined: number;
  /** Rows that were deleted because of their age. */
  readonly forgotten: number;
}

/** Rows of one step that are to be moved to the next one, or away. */
interface Aged {
  readonly step: Step;
  /** Null: away. */
  readonly into: Step | null;
  /** Unix time in seconds: rows that begin earlier are meant. */
  readonly before: number;
}

/**
 * Makes longer steps of what is old enough, and forgets all that began `retentionS` seconds before
 * `now` or earlier; connections too, by when they began. `isStopping` ends it between two batches.
 */
export async function rollUpHistory(
  database: Database,
  retentionS: number,
  now: Date = new Date(),
  isStopping: () => boolean = () => false,
): Promise<RolledUp> {
  const nowS = Math.floor(now.getTime() / 1_000);
  const done = { joined: 0, forgotten: 0 };
  const moves = agedAt(nowS, retentionS);
  for (const series of Object.values(SERIES))
    for await (const owners of batchesOf(database, series, moves, isStopping))
      for (const move of moves) {
        const count = await age(database, series, owners, move);
        done[move.into === null ? 'forgotten' : 'joined'] += count;
      }
  const beforeMs = (nowS - retentionS) * 1_000;
  for await (const look of looksAt(database, 'devices', isStopping))
    done.forgotten += await forgetConnections(database, look, beforeMs);
  return done;
}

/** Which rows have aged, in the order in which they are moved. */
function agedAt(nowS: number, retentionS: number): Aged[] {
  const moves = ([600, 3_600] as const).map((step, i) => {
    const into = STEPS[i + 1] as Step;
    const oldest = nowS - KEPT_S[step];
    // Whole steps alone: so a time has rows of one step for every reader.
    return { step, into, before: oldest - (oldest % into) };
  });
  // A step is forgotten when all of it is too old.
  const forgotten = STEPS.map((step) => ({
    step,
    into: null,
    before: nowS - retentionS - step + 1,
  }));
  return [
    ...moves,
    // What is younger was moved on before it was so old.
    ...forgotten.filter(({ step }) => step === 86_400 || retentionS <= KEPT_S[step] + 86_400),
  ];
}

/** The ids that one statement looks at: all after `after`, up to `last`. */
interface Look {
  readonly after: string;
  readonly last: string;
}

/** Walks through the ids of a table, some at a time. */
async function* looksAt(
  database: Database,
  table: string,
  isStopping: () => boolean,
): AsyncGenerator<Look> {
  for (let after = ''; !isStopping();) {
    const rows = await database.sequelize.query<{ id: string }>(
      `SELECT id FROM ${table} WHERE id > :after ORDER BY id LIMIT ${OWNERS_PER_LOOK}`,
      { ...plainSelect(), replacements: { after } },
    );
    const last = rows.at(-1)?.id;
    if (last === undefined) return;
    yield { after, last };
    after = last;
    await sleep(PAUSE_MS);
  }
}

/**
 * Ids of owners with rows that are old enough, some at a time; one batch without ids where there
 * are no owners to walk through. Most owners have no such rows, so one statement looks at many.
 */
async function* batchesOf(
  database: Database,
  { table, subject, owners }: Series,
  moves: readonly Aged[],
  isStopping: () => boolean,
): AsyncGenerator<readonly string[] | null> {
  if (owners === null) return yield null;
  const hasAged = moves.map(
    ({ step, before }) =>
      `EXISTS (SELECT 1 FROM ${table} WHERE ${subject} = ${owners}.id AND step = ${step} AND start < ${before})`,
  );
  for await (const look of looksAt(database, owners, isStopping)) {
    const rows = await database.sequelize.query<{ id: string }>(
      `SELECT id FROM ${owners} WHERE id > :after AND id <= :last AND (${hasAged.join(' OR ')})`,
      { ...plainSelect(), replacements: { ...look } },
    );
    for (let i = 0; i < rows.length && !isStopping(); i += OWNERS_PER_BATCH) {
      yield rows.slice(i, i + OWNERS_PER_BATCH).map(({ id }) => id);
      await sleep(PAUSE_MS);
    }
  }
}

/** Moves the rows of some owners on; returns how many there were. */
async function age(
  database: Database,
  series: Series,
  owners: readonly string[] | null,
  { step, into, before }: Aged,
): Promise<number> {
  const { table, subject, counts } = series;
  const where = `WHERE ${owners === null ? '' : `${subject} IN (:owners) AND `}
    step = ${step} AND start < :before`;
  const options = { replacements: { owners, before } };
  const select = `SELECT 1 FROM ${table} ${where}`;
  const [first] = await database.sequelize.query(`${select} LIMIT 1`, {
    ...plainSelect(),
    ...options,
  });
  if (first === undefined) return 0;
  return inTransaction(database, async (transaction) => {
    // A second process waits here, and then finds nothing.
    const lock = database.kind === 'mysql' ? 'FOR UPDATE' : '';
    const rows = await database.sequelize.query(`${select} ${lock}`, {
      ...plainSelect(transaction),
      ...options,
    });
    if (into !== null && rows.length > 0) {
      const began = `start - start % ${into}`;
      const of = subject === null ? '' : `${subject}, `;
      await database.sequelize.query(
        `INSERT INTO ${table} (${columnsOf(series)}) SELECT * FROM (
           SELECT ${of}${into} AS longer, ${began} AS began, gateway_id,
             ${counts.map((count) => `SUM(${count}) AS ${count}`).join(', ')}
           FROM ${table} ${where} GROUP BY ${of}${began}, gateway_id
         ) AS sums WHERE true ${addingTo(database, series)}`,
        { ...options, type: QueryTypes.INSERT, transaction },
      );
    }
    await database.sequelize.query(`DELETE FROM ${table} ${where}`, {
      ...options,
      type: QueryTypes.BULKDELETE,
      transaction,
    });
    return rows.length;
  });
}

/** On MySQL what is locked includes what is not there yet: nobody adds rows in between. */
function inTransaction<T>(
  database: Database,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const options =
    database.kind === 'mysql'
      ? { isolationLevel: Transaction.ISOLATION_LEVELS.REPEATABLE_READ }
      : {};
  return rerunOnConflict(database, () => database.sequelize.transaction(options, work));
}

/** Deletes connections that began before a time, and the oldest of a device that has too many. */
async function forgetConnections(
  database: Database,
  look: Look,
  beforeMs: number,
): Promise<number> {
  const found = await database.sequelize.query<{ id: string; count: number; oldest: number }>(
    `SELECT device_id AS id, COUNT(*) AS count, MIN(connected_at) AS oldest FROM connections
     WHERE device_id > :after AND device_id <= :last GROUP BY device_id
     HAVING COUNT(*) > ${CONNECTIONS_MAX} OR MIN(connected_at) < :beforeMs`,
    { ...plainSelect(), replacements: { ...look, beforeMs } },
  );
  let forgotten = 0;
  for (const { id, count, oldest } of found) {
    const limits = [
      ...(Number(oldest) < beforeMs ? [beforeMs] : []),
      ...(count > CONNECTIONS_MAX ? [await timeOfConnection(database, id, CONNECTIONS_MAX)] : []),
    ];
    if (limits.length > 0)
      forgotten += await forgetConnectionsOf(database, id, Math.max(...limits));
  }
  return forgotten;
}

/** When one connection of a device began; `place` counts from the latest on. */
async function timeOfConnection(database: Database, id: string, place: number): Promise<number> {
  const [row] = await database.sequelize.query<{ time: number }>(
    `SELECT connected_at AS time FROM connections WHERE device_id = :id
     ORDER BY connected_at DESC LIMIT 1 OFFSET ${place - 1}`,
    { ...plainSelect(), replacements: { id } },
  );
  return Number(row?.time ?? 0);
}

async function forgetConnectionsOf(
  database: Database,
  id: string,
  beforeMs: number,
): Promise<number> {
  const where = 'WHERE device_id = :id AND connected_at < :beforeMs';
  return inTransaction(database, async (transaction) => {
    const options = { replacements: { id, beforeMs } };
    const [row] = await database.sequelize.query<{ count: number }>(
      `SELECT COUNT(*) AS count FROM connections ${where}`,
      { ...plainSelect(transaction), ...options },
    );
    await database.sequelize.query(`DELETE FROM connections ${where}`, {
      ...options,
      type: QueryTypes.BULKDELETE,
      transaction,
    });
    return row?.count ?? 0;
  });
}
