// The migration lease: one row that says which process may migrate, and until when. Three gateways
// may start together, and MySQL's DDL commits by itself, so a transaction cannot guard it. The
// times are the database's, so that the clocks of the gateways do not matter. A holder that is
// known to have died (sign-of-life.ts) is not waited for.

import { setTimeout as sleep } from 'node:timers/promises';
import { DataTypes, QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { createTable, insertIfAbsent } from './schema.ts';
import { forgetLife, lifeOf, showLife } from './sign-of-life.ts';

/** How a lease is kept; replaced in tests by shorter times. */
export interface LeaseTimes {
  /** How long a lease holds when its owner dies. */
  expiresMs: number;
  /** How often the owner renews it. */
  renewMs: number;
  /** How often another process looks whether it is free. */
  pollMs: number;
  /** How long another process waits at most. */
  waitMs: number;
}

const TIMES: LeaseTimes = { expiresMs: 30_000, renewMs: 5_000, pollMs: 100, waitMs: 120_000 };
const NAME = 'migration';
/** How often a waiting process says so. */
const SAY_MS = 5_000;

/** Thrown when the lease does not come free, or is lost while the work runs. */
export class LeaseError extends Error {
  override name = 'LeaseError';
}

/** A lease that is held. */
export interface Lease {
  /** Throws LeaseError unless the lease is still ours; asked before each step. */
  assertHeld: () => Promise<void>;
}

/** Waits for the lease, does the work while renewing the lease, and gives it back in any case. */
export async function withLease<T>(
  database: Database,
  work: (lease: Lease) => Promise<T>,
  times: LeaseTimes = TIMES,
): Promise<T> {
  await rerunOnConflict(database, () => createLease(database));
  const life = await showLife(database);
  try {
    await acquire(database, life.owner, times);
    return await workAsOwner(database, life.owner, work, times);
  } finally {
    await life.end();
  }
}

async function createLease(database: Database): Promise<void> {
  await createTable(database, 'leases', {
    columns: {
      name: { type: DataTypes.STRING(32), primaryKey: true, allowNull: false },
      owner: { type: DataTypes.CHAR(36), allowNull: false },
      expires_ms: { type: DataTypes.BIGINT, allowNull: false },
    },
  });
  await insertIfAbsent(database, 'leases', { name: NAME, owner: '', expires_ms: 0 });
}

async function workAsOwner<T>(
  database: Database,
  owner: string,
  work: (lease: Lease) => Promise<T>,
  times: LeaseTimes,
): Promise<T> {
  let isLost = false;
  const renewal = setInterval(() => {
    // assertHeld reports a renewal that fails, or the row does when the next one succeeds.
    renew(database, owner, times).then(
      (held) => (isLost ||= !held),
      () => undefined,
    );
  }, times.renewMs);
  renewal.unref();
  const assertHeld = async (): Promise<void> => {
    if (isLost || !(await renew(database, owner, times)))
      throw new LeaseError('The migration lease was lost: this process stood still for too long');
  };
  try {
    return await work({ assertHeld });
  } finally {
    clearInterval(renewal);
    await write(database, `expires_ms = 0, owner = ''`, 'owner = :owner', { owner });
  }
}

async function acquire(database: Database, owner: string, times: LeaseTimes): Promise<void> {
  const waitUntilMs = Date.now() + times.waitMs;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  for (let tries = 0; ; tries++) {
    const now = await nowMs(database);
    const before = (await read(database))?.owner ?? '';
    const life = before === '' ? 'unknown' : await lifeOf(database, before);
    const values = { owner, now, before, expires: now + times.expiresMs };
    const isFree = life === 'dead' ? 'owner = :before' : 'expires_ms < :now';
    await write(database, 'owner = :owner, expires_ms = :expires', isFree, values);
    const holder = await read(database);
    if (holder?.owner === owner) {
      forgetLife(database, before);
      return;
    }
    if (tries > 0 && performance.now() - saidAtMs >= SAY_MS) {
      saidAtMs = performance.now();
      sayWaiting(database, holder, life === 'alive' ? null : now);
    }
    if (Date.now() > waitUntilMs)
      throw new LeaseError(
        `Another process (${holder?.owner}) has been migrating this database for more than ` +
          `${times.waitMs} ms; start again when it is done`,
      );
    await sleep(times.pollMs * (0.5 + Math.random()));
  }
}

/**
 * Says which holder is waited for, and for how long: `now` is null if the holder is known to live.
 */
function sayWaiting(database: Database, holder: Holder | undefined, now: number | null): void {
  const seconds = now === null ? null : Math.ceil(((holder?.expires_ms ?? now) - now) / 1_000);
  const text = 'waiting for another process that migrates the database';
  if (seconds === null) database.log?.info({ holder: holder?.owner }, `${text}; it lives`);
  else
    database.log?.warn(
      { holder: holder?.owner, seconds },
      `${text}; nobody knows whether it lives: if it died, this start goes on in ${seconds} s`,
    );
}

/** True when the lease is still the owner's, now for its full length again. */
async function renew(database: Database, owner: string, times: LeaseTimes): Promise<boolean> {
  const expires = (await nowMs(database)) + times.expiresMs;
  await write(database, 'expires_ms = :expires', 'owner = :owner', { owner, expires });
  return (await read(database))?.owner === owner;
}

async function write(
  database: Database,
  set: string,
  where: string,
  replacements: Record<string, string | number>,
): Promise<void> {
  await rerunOnConflict(database, () =>
    database.sequelize.query(`UPDATE leases SET ${set} WHERE name = '${NAME}' AND ${where}`, {
      replacements,
      type: QueryTypes.UPDATE,
    }),
  );
}

/** Who has the lease, and until when; empty where nobody has. */
interface Holder {
  readonly owner: string;
  readonly expires_ms: number;
}

async function read(database: Database): Promise<Holder | undefined> {
  const sql = `SELECT owner, expires_ms FROM leases WHERE name = '${NAME}'`;
  // A read too meets a deadlock while another node of a Galera cluster makes the table.
  const [row] = await rerunOnConflict(database, () =>
    database.sequelize.query<Holder>(sql, plainSelect()),
  );
  return row;
}

async function nowMs(database: Database): Promise<number> {
  const expression =
    database.kind === 'sqlite'
      ? "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
      : 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)';
  const [row] = await database.sequelize.query<{ now: number }>(
    `SELECT ${expression} AS now`,
    plainSelect(),
  );
  if (row === undefined) throw new Error('The database did not tell the time');
  return row.now;
}
