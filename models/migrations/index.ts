// Brings a database to the schema that this code knows: numbered steps, run once each, in order, by
// one process at a time. A database with a later schema than this code knows is refused.

import { DataTypes } from 'sequelize';
import { checkEncryptionKey, refuseOtherKey } from '../queries/secrets.ts';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { sqlTime } from '../storage/time.ts';
import { up as schemaOf100 } from './0001-schema-of-1.0.0.ts';
import { up as schemaOf110 } from './0020-schema-of-1.1.0.ts';
import { up as firstSteps } from './0021-first-steps.ts';
import { up as egressBySockets } from './0022-egress-by-sockets.ts';
import { up as undo } from './0023-undo.ts';
import { up as auditNames } from './0024-audit-names.ts';
import { up as lastBackup } from './0025-last-backup.ts';
import { up as personNames } from './0026-person-names.ts';
import { up as deviceSwitchedBy } from './0027-device-switched-by.ts';
import { FIRST, FOLDED, SECOND, withoutUnreleased } from './before-release.ts';
import { beginAsLatest } from './latest.ts';
import { type LeaseTimes, withLease } from './lease.ts';
import { assertRights, explainRefusal } from '../database/rights.ts';
import { createTable, insertIfAbsent } from './schema.ts';

/** One step: what it is called for ever, and what it does. It can run again after any crash. */
export interface Migration {
  name: string;
  up: (database: Database) => Promise<void>;
}

/** All steps, in their order; from 1.0.0 on each release may add some. */
export const migrations: readonly Migration[] = [
  { name: FIRST, up: schemaOf100 },
  { name: SECOND, up: schemaOf110 },
  { name: '0021-first-steps', up: firstSteps },
  { name: '0022-egress-by-sockets', up: egressBySockets },
  { name: '0023-undo', up: undo },
  { name: '0024-audit-names', up: auditNames },
  { name: '0025-last-backup', up: lastBackup },
  { name: '0026-person-names', up: personNames },
  { name: '0027-device-switched-by', up: deviceSwitchedBy },
];

/** The name of the last of them. */
export function lastStep(): string {
  return migrations.at(-1)?.name ?? '';
}

/** Thrown when the database was migrated by later code than this. */
export class DatabaseTooNewError extends Error {
  override name = 'DatabaseTooNewError';
}

/** How to migrate; tests replace the first two. */
export interface MigrateOptions {
  migrations?: readonly Migration[];
  times?: LeaseTimes;
  /** True: a new database takes each step too, in place of the text of what they make. */
  takesSteps?: boolean;
  /** False: the encryption key may be another one, because all rows are to be replaced. */
  checksKey?: boolean;
  /**
   * Called before the first step on a database that has rows already, by the one process that
   * migrates; what it throws ends the migration before it began.
   */
  beforeUpgrade?: () => Promise<void>;
}

/**
 * Runs the steps that are missing, waiting for another process that is at it, then checks the
 * encryption key. Returns the names of the steps that this call ran. Every process calls it at
 * its start; on a database that is up to date it costs two reads, and on a server a look at what
 * the database user may do.
 */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<string[]> {
  const applied = await runMissingSteps(database, options);
  if (applied.length === 0) await assertRights(database, { isMigrating: false });
  // From now on reads of the revision and writes look for steps behind it.
  const last = (options.migrations ?? migrations).at(-1)?.name;
  if (last !== undefined) database.expectNoneBehind(last);
  if (options.checksKey !== false) await checkEncryptionKey(database);
  return applied;
}

/** Runs the steps that are missing, and leaves a new database without a key. */
export async function runMissingSteps(
  database: Database,
  options: MigrateOptions = {},
): Promise<string[]> {
  try {
    return await runSteps(database, options);
  } catch (error) {
    throw await explainRefusal(database, error);
  }
}

async function runSteps(database: Database, options: MigrateOptions): Promise<string[]> {
  const known = options.migrations ?? migrations;
  const applied: string[] = [];
  const missing = await pendingMigrations(database, known);
  const isNew = missing.length === known.length;
  const begins = isNew && known === migrations && options.takesSteps !== true;
  if (begins && (await rerunOnConflict(database, () => beginAsLatest(database)))) {
    applied.push(...(await executedMigrations(database)));
    sayNew(database, applied);
  }
  if (missing.length > applied.length) {
    await assertRights(database, { isMigrating: true });
    await withLease(
      database,
      async (lease) => {
        // Whoever held the lease before may have been of a later version.
        const pending = await pendingMigrations(database, known);
        if (pending.length > 0 && pending.length < known.length) {
          if (options.checksKey !== false) await refuseOtherKey(database);
          await options.beforeUpgrade?.();
        }
        if (pending.length > 0) await rerunOnConflict(database, () => createList(database));
        const areAll = pending.length === known.length;
        if (areAll) sayNew(database, pending);
        for (const { name, up } of known.filter((step) => pending.includes(step.name))) {
          if (!areAll) database.log?.info({ migration: name }, 'migrating the database');
          // Another node of a Galera cluster may end any statement with a deadlock.
          await rerunOnConflict(database, async () => {
            await lease.assertHeld();
            await up(database);
            const executedAt = sqlTime(database.kind, new Date());
            await insertIfAbsent(database, 'migrations', { name, executed_at: executedAt });
          });
          applied.push(name);
        }
      },
      options.times,
    );
  }
  return applied;
}

/** One line for all steps: nobody wants to read each step of a new database. */
function sayNew(database: Database, steps: readonly string[]): void {
  const schema = steps.at(-1) ?? '';
  database.log?.info({ schema }, 'a new database is made');
}

/** Names the steps that are still to run; throws DatabaseTooNewError when there are later ones. */
export async function pendingMigrations(
  database: Database,
  known: readonly Migration[] = migrations,
): Promise<string[]> {
  const executed = await executedMigrations(database);
  const names = new Set(known.map(({ name }) => name));
  const later = executed.filter((name) => !names.has(name) && !FOLDED.has(name));
  if (later.length > 0) throw new DatabaseTooNewError(tooNew(later, known));
  return [...names].filter((name) => !executed.includes(name));
}

/** A restore migrates first and is refused as well: an empty database alone leads back. */
function tooNew(later: readonly string[], known: readonly Migration[]): string {
  const schema = known.at(-1)?.name.slice(0, 4) ?? '';
  return (
    `This database was migrated by a later version of Postern (${later.join(', ')}), and ` +
    'cannot be restored into either. Run that version; or, to go back to this one, give it an ' +
    'empty database with the same encryption key (of SQLite: move the file away with its -wal ' +
    'and -shm, and leave encryption.key) and restore the backup of before the upgrade, ' +
    `before-upgrade-${schema}-….backup or one of a lower number.`
  );
}

/** Makes the table of the steps that ran. */
async function createList(database: Database): Promise<void> {
  await createTable(database, 'migrations', {
    columns: {
      name: { type: DataTypes.STRING(64), primaryKey: true, allowNull: false },
      executed_at: { type: DataTypes.DATE(6), allowNull: false },
    },
  });
}

/**
 * Reads the names of the steps that ran; none while there is no table of them. Throws where a
 * version before 1.0.0 made the schema and did not bring it to its last one.
 */
export async function executedMigrations(database: Database): Promise<string[]> {
  const tables: unknown[] = await database.sequelize.getQueryInterface().showAllTables();
  if (!tables.includes('migrations')) return [];
  const rows = await database.sequelize.query<{ name: string }>(
    'SELECT name FROM migrations ORDER BY name',
    plainSelect(),
  );
  return withoutUnreleased(rows.map(({ name }) => name));
}
