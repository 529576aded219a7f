// The clock that decides which rows are old enough to be deleted. It follows the clock of the
// database server, or ours if the server has none, but a jump moves it by 25 hours at most: so a
// start with a wrong clock costs the oldest day of rows, and not everything. If this clock is
// behind, it gains an extra hour for each hour that a gateway runs. docs/state.md#forgetting.

import { QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { readClocks } from './clocks.ts';

/** A run may be a day after the one before, and a little late. */
export const JUMP_MAX_MS = 25 * 3_600_000;
const NAME = 'clock';

/** The result of a look at the clock. */
export interface ForgettingClock {
  /** The time by which to forget; never later than the clock that it follows. */
  readonly time: Date;
  /** How long ago the last look was, by the followed clock; negative: that clock was set back. */
  readonly sinceMs: number;
  /** How far this clock is behind the followed one. */
  readonly behindMs: number;
}

/** A look at the clock. */
export interface ForgettingLook {
  /** For how long this process has run since its last look, by a clock that does not jump. */
  readonly runningMs: number;
  /** In place of the clock of the database server, or ours. */
  readonly now?: Date;
}

interface Row {
  readonly clock_ms: number | string;
  readonly ran_ms: number | string;
}

/**
 * Starts the clock if there is none. Call it before a gateway says that it starts: the time at
 * which a gateway was seen last is then still known, so that an upgrade with a wrong clock is
 * recognised.
 */
export async function beginForgettingClock(database: Database, now?: Date): Promise<void> {
  if ((await read(database)) !== undefined) return;
  const { server, lastSeen } = await readClocks(database);
  const nowMs = (now ?? server ?? new Date()).getTime();
  const ms = Math.min(nowMs, lastSeen?.getTime() ?? nowMs);
  const verb = database.kind === 'sqlite' ? 'INSERT OR IGNORE' : 'INSERT IGNORE';
  await rerunOnConflict(database, () =>
    database.sequelize.query(
      `${verb} INTO forgetting (name, clock_ms, ran_ms) VALUES (:name, :ms, :ms)`,
      { replacements: { name: NAME, ms: Math.round(ms) }, type: QueryTypes.INSERT },
    ),
  );
}

/** Reads the clock and moves nothing; null where nothing was forgotten yet. */
export async function readForgettingClock(
  database: Database,
  now?: Date,
): Promise<ForgettingClock | null> {
  const row = await read(database);
  if (row === undefined) return null;
  const nowMs = (now ?? (await readClocks(database)).server ?? new Date()).getTime();
  const time = new Date(Math.min(Number(row.clock_ms), nowMs));
  const behindMs = nowMs - time.getTime();
  return { time, sinceMs: nowMs - Number(row.ran_ms), behindMs };
}

/** Moves the clock, and reads it. */
export async function moveForgettingClock(
  database: Database,
  { runningMs, now }: ForgettingLook,
): Promise<ForgettingClock> {
  await beginForgettingClock(database, now);
  const nowMs = Math.round((now ?? (await readClocks(database)).server ?? new Date()).getTime());
  return rerunOnConflict(database, () =>
    database.sequelize.transaction(async (transaction) => {
      const row = await read(database, transaction);
      const [clockMs, ranMs] = [Number(row?.clock_ms ?? nowMs), Number(row?.ran_ms ?? nowMs)];
      const sinceMs = nowMs - ranMs;
      const extraMs = Math.min(Math.round(runningMs), Math.max(0, sinceMs));
      const mostMs = Math.min(Math.abs(sinceMs), JUMP_MAX_MS) + extraMs;
      const movedMs = clockMs + Math.max(-mostMs, Math.min(mostMs, nowMs - clockMs));
      await database.sequelize.query(
        'UPDATE forgetting SET clock_ms = :movedMs, ran_ms = :nowMs WHERE name = :name',
        { replacements: { movedMs, nowMs, name: NAME }, type: QueryTypes.UPDATE, transaction },
      );
      const time = new Date(Math.min(movedMs, nowMs));
      return { time, sinceMs, behindMs: nowMs - time.getTime() };
    }),
  );
}

async function read(
  database: Database,
  transaction?: Parameters<typeof plainSelect>[0],
): Promise<Row | undefined> {
  const lock = database.kind === 'mysql' && transaction !== undefined ? 'FOR UPDATE' : '';
  const [row] = await database.sequelize.query<Row>(
    `SELECT clock_ms, ran_ms FROM forgetting WHERE name = '${NAME}' ${lock}`,
    plainSelect(transaction),
  );
  return row;
}
