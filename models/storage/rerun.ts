// Runs work again after a conflict that does not last: a deadlock or a lock that came too late on
// MySQL, a busy SQLite file. The work is run again from its start, a few times, after a short
// random pause.

import { setTimeout as sleep } from 'node:timers/promises';
import { BaseError, DatabaseError } from 'sequelize';

/** Where this room reports what an administrator may want to know; pino's loggers fit. */
export interface DatabaseLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/** How often work is run again after its first run: each run may have waited seconds for a lock. */
const RERUNS_MAX = 5;
/**
 * How often after deadlocks, which are reported at once. Each commit on one node of a Galera
 * cluster ends the writers under way on the others with that error, so a busy cluster needs more.
 */
const DEADLOCK_RERUNS_MAX = 15;
/**
 * How long a statement waits for a SQLite file that another program holds. A write that has waited
 * about so long, for that or for its turn behind writes that did, is refused and not run again; so
 * the wait is bounded, however many stand before it.
 */
export const BUSY_TIMEOUT_MS = 5_000;
/** The first pause is up to this long, each further one up to twice as long, to a limit. */
const FIRST_PAUSE_MS = 10;
const PAUSE_MS_MAX = 160;

const ER_LOCK_WAIT_TIMEOUT = 1205;
const ER_LOCK_DEADLOCK = 1213;

/** The database ended a transaction by itself to break a deadlock. */
export class TransactionLostError extends Error {
  override name = 'TransactionLostError';
}

/** Runs work, again where it met a passing conflict; the work must be whole and repeatable. */
export async function rerunOnConflict<T>(
  { log }: { readonly log: DatabaseLog | null },
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  for (let rerun = 1; ; rerun += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || rerun > rerunsMax(error)) throw error;
      if (isBusy(error) && performance.now() - startedAt >= BUSY_TIMEOUT_MS) throw error;
      const text = 'a transaction met a conflict and is run again';
      log?.info({ rerun, conflict: (error as Error).message }, text);
      await pauseBefore(rerun);
    }
  }
}

/** Waits a short random time, so that two writers do not meet again at each of their reruns. */
export async function pauseBefore(rerun: number): Promise<void> {
  await sleep(Math.random() * Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** (rerun - 1)));
}

function rerunsMax(error: unknown): number {
  const isDeadlock =
    error instanceof TransactionLostError || driverError(error).errno === ER_LOCK_DEADLOCK;
  return isDeadlock ? DEADLOCK_RERUNS_MAX : RERUNS_MAX;
}

/** True when another program holds the SQLite file. */
export function isBusy(error: unknown): boolean {
  return driverError(error).code === 'SQLITE_BUSY';
}

/** True for what a rerun may resolve. */
export function isConflict(error: unknown): boolean {
  if (error instanceof TransactionLostError) return true;
  const { errno } = driverError(error);
  return errno === ER_LOCK_DEADLOCK || errno === ER_LOCK_WAIT_TIMEOUT || isBusy(error);
}

/** MySQL's errors for a disk, or a table, that takes nothing more; others only quote the system. */
const FULL_ERRNOS: ReadonlySet<number | undefined> = new Set([1021, 1114]);
const FULL_CODES: ReadonlySet<string | undefined> = new Set(['SQLITE_FULL', 'ENOSPC']);
const ENOSPC_QUOTED = /Errcode: 28\b|Got error 28\b/;

/** True when there is no room on the disk: it passes when somebody makes some. */
export function isFull(error: unknown): boolean {
  const { code, errno, message } = driverError(error);
  return FULL_CODES.has(code) || FULL_ERRNOS.has(errno) || ENOSPC_QUOTED.test(message);
}

/** True for errors at which SQLite may roll the whole transaction back (its lang_transaction). */
export function isDiskError(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|NOMEM)(_|$)/.test(driverError(error).code ?? '');
}

/** What the driver said, inside the error that Sequelize made of it. */
export function driverError(error: unknown): { code?: string; errno?: number; message: string } {
  const cause =
    error instanceof DatabaseError
      ? error.parent
      : error instanceof BaseError && 'parent' in error
        ? error.parent
        : error;
  return cause instanceof Error ? cause : { message: String(cause) };
}
