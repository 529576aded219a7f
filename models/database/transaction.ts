// The doors to the database: `writeTransaction`, the only way to write what gateways act upon;
// `readTransaction`, a consistent look at many rows; `lockScopes`, which makes checks and the
// writes that follow them one step. docs/state.md#writes.

import { AsyncLocalStorage } from 'node:async_hooks';
import { Transaction, UniqueConstraintError } from 'sequelize';
import { appendAuditEntries } from './audit-trail.ts';
import { appendChanges, unchangedRevision, withoutRevision } from './revision.ts';
import { type AuditDraft, gatherAudit } from '../storage/auditing.ts';
import type { Database } from './database.ts';
import { isDiskError, isFull, rerunOnConflict, TransactionLostError } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { type Change, collectChanges, type Revision } from '../storage/tracking.ts';

/** What a write came to. */
export interface Written<T> {
  /** What the function returned in the run that was committed. */
  result: T;
  /** The revision that covers the write: its own, or the present one if nothing changed. */
  revision: Revision;
  /** False when no row was touched; then no listener was rung. */
  changed: boolean;
}

/** Scopes that a writer may lock, always in this order. */
export interface Scopes {
  /** The configuration, the global rules, and who is an administrator. */
  configuration?: boolean;
  /** One user with their devices, rules and tokens. */
  userId?: string;
  /** The addresses and keys of all devices. */
  addressPool?: boolean;
}

/** The write transaction that the running code is in, if any. */
const writing = new AsyncLocalStorage<{ database: Database; open: boolean }>();

/**
 * Runs `fn` in a transaction and, if it touched tracked rows, moves the revision on and names
 * them under it and in the audit trail, all or nothing; then rings the database's listeners. On a
 * deadlock, a lock that timed out or a busy file everything is rolled back and `fn` runs again, up
 * to five times (fifteen after deadlocks), and once where a server finds a value taken: it must
 * have no effect but its writes, and slow work (bcrypt) belongs before it.
 * `fn` passes its transaction to every call. Throws SchemaNewerError, and writes nothing, where a
 * later version migrated the database.
 */
export async function writeTransaction<T>(
  database: Database,
  fn: (transaction: Transaction) => Promise<T>,
): Promise<Written<T>> {
  const scope = openScope(database);
  try {
    const written = await writing.run(scope, () => writeAgainIfTaken(database, fn));
    if (written.changed) database.ring(written.revision);
    return written;
  } catch (error) {
    if (isFull(error)) database.noteFull();
    throw error;
  } finally {
    scope.open = false;
  }
}

/** What a transaction has written so far. */
export interface WrittenSoFar {
  /** The tracked rows that it touched, each once. */
  readonly changes: readonly Change[];
  readonly audit: readonly AuditDraft[];
}

/**
 * Runs `fn` as `writeTransaction` does, and then undoes all that it wrote: the database is as
 * before, and no listener is rung. To see what a write would come to; `soFar` tells `fn` what it
 * has written. It holds the locks of a write while `fn` runs.
 */
export async function undoneTransaction<T>(
  database: Database,
  fn: (transaction: Transaction, soFar: () => WrittenSoFar) => Promise<T>,
): Promise<T> {
  const scope = openScope(database);
  try {
    return await writing.run(scope, () => rerunOnConflict(database, () => undoOnce(database, fn)));
  } finally {
    scope.open = false;
  }
}

/**
 * Runs `fn` on one consistent state of the database: REPEATABLE READ on MySQL, a deferred
 * transaction on a reader of its own on SQLite. The state is that of its first SELECT. Neither
 * waits for writers nor holds them up.
 */
export async function readTransaction<T>(
  database: Database,
  fn: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const options =
    database.kind === 'sqlite'
      ? { readOnly: true, type: Transaction.TYPES.DEFERRED }
      : { readOnly: true, isolationLevel: Transaction.ISOLATION_LEVELS.REPEATABLE_READ };
  if (database.kind === 'sqlite') return database.sequelize.transaction(options, fn);
  const transaction = await database.sequelize.transaction(options);
  let result: T;
  try {
    result = await fn(transaction);
  } catch (error) {
    if (!isLost(transaction)) await transaction.rollback();
    throw error;
  }
  // All is read, so nobody waits for the end, another round trip. That it fails is logged.
  transaction.commit().catch(() => undefined);
  return result;
}

/**
 * Locks scopes until the end of the transaction; the first thing that a writer does, so that its
 * checks still hold when it writes. On SQLite there is one writer at a time and nothing to do.
 */
export async function lockScopes(
  database: Database,
  transaction: Transaction,
  scopes: Scopes,
): Promise<void> {
  if (database.kind === 'sqlite') return;
  const { configuration, userId, addressPool } = scopes;
  const lock = (sql: string): Promise<unknown> =>
    database.sequelize.query(`${sql} FOR UPDATE`, {
      ...plainSelect(transaction),
      replacements: { userId },
    });
  await Promise.all([
    configuration === true && lock("SELECT name FROM scopes WHERE name = 'configuration'"),
    userId !== undefined && lock('SELECT id FROM users WHERE id = :userId'),
    addressPool === true && lock("SELECT name FROM scopes WHERE name = 'address_pool'"),
  ]);
}

/** Begins a write transaction, which must not be inside another one, nor on a later schema. */
function openScope(database: Database): { database: Database; open: boolean } {
  database.refuseLater();
  const outer = writing.getStore();
  if (outer?.database === database && outer.open)
    throw new Error('writeTransaction inside writeTransaction; pass the transaction on instead');
  return { database, open: true };
}

/**
 * A cluster's nodes do not see each other's locks: what a check did not find may be there when the
 * row is inserted. Once more, and the check finds it and says what there is to say.
 */
async function writeAgainIfTaken<T>(
  database: Database,
  fn: (transaction: Transaction) => Promise<T>,
): Promise<Written<T>> {
  const write = () => rerunOnConflict(database, () => writeOnce(database, fn));
  try {
    return await write();
  } catch (error) {
    if (database.kind === 'sqlite' || !(error instanceof UniqueConstraintError)) throw error;
    return write();
  }
}

async function writeOnce<T>(
  database: Database,
  fn: (transaction: Transaction) => Promise<T>,
): Promise<Written<T>> {
  return database.sequelize.transaction(async (transaction) => {
    const collector = collectChanges(transaction);
    const audit = gatherAudit(transaction, database.origin);
    const result = await unlessLost(transaction, () => fn(transaction));
    collector.sealed = true;
    const changes = [...collector.changes.values()];
    const changed = changes.length > 0;
    const [, , revision] = await Promise.all([
      // Before the revision, whose row is locked briefly.
      Promise.all(collector.last.map((statement) => statement())),
      appendAuditEntries(database, audit, transaction),
      changed
        ? appendChanges(database, changes, transaction)
        : unchangedRevision(database, transaction),
      commitTogether(database, transaction),
    ]).catch((error: unknown) => {
      throw withoutRevision(error);
    });
    return { result, revision, changed };
  });
}

async function undoOnce<T>(
  database: Database,
  fn: (transaction: Transaction, soFar: () => WrittenSoFar) => Promise<T>,
): Promise<T> {
  // A transaction is rolled back where its function throws.
  let done: { readonly result: T } | null = null;
  const undone = new Error('the transaction is undone');
  try {
    await database.sequelize.transaction(async (transaction) => {
      const collector = collectChanges(transaction);
      const audit = gatherAudit(transaction, database.origin);
      const soFar = (): WrittenSoFar => ({ changes: [...collector.changes.values()], audit });
      done = { result: await unlessLost(transaction, () => fn(transaction, soFar)) };
      throw undone;
    });
  } catch (error) {
    if (error !== undone) throw error;
  }
  return (done as unknown as { readonly result: T }).result;
}

/** Runs work in a transaction; throws where the database ended the transaction meanwhile. */
async function unlessLost<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (cause) {
    // An error of the disk ends the transaction too, but is no conflict that a rerun may resolve.
    if (isLost(transaction) && !isDiskError(cause)) throw lost(cause);
    throw cause;
  }
  if (isLost(transaction)) throw lost();
  return result;
}

/**
 * On MySQL the commit goes with what was asked for just before, and is not reached if that fails.
 * Sequelize, which commits at the end of its function, then finds nothing to do.
 */
async function commitTogether(database: Database, transaction: Transaction): Promise<void> {
  if (database.kind === 'mysql') await database.sequelize.query('COMMIT', { transaction });
}

/** True when a deadlock or a full disk ended the transaction, whatever `fn` made of the error. */
function isLost(transaction: Transaction): boolean {
  return (transaction as Transaction & { finished?: string }).finished !== undefined;
}

function lost(cause?: unknown): TransactionLostError {
  return new TransactionLostError('The database ended the transaction by itself', {
    cause,
  });
}
