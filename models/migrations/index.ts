// Brings a database to the shape that this code knows: numbered steps, run once each, in order,
// by one process at a time. A database that is ahead of the code is refused, not guessed at.

import type { Umzug, UmzugStorage } from 'umzug';
import { DataTypes } from 'sequelize';
import { checkEncryptionKey, refuseOtherKey } from '../queries/secrets.ts';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import { sqlTime } from '../storage/time.ts';
import { up as firstTables } from './0001-first-tables.ts';
import { up as auditEntries } from './0002-audit-entries.ts';
import { up as sessions } from './0003-sessions.ts';
import { up as identities } from './0004-identities.ts';
import { up as clientFiles } from './0005-client-files.ts';
import { up as deviceSwitches } from './0006-device-switches.ts';
import { up as bootstrapClaims } from './0007-bootstrap-claims.ts';
import { up as arrivals } from './0008-arrivals.ts';
import { up as providerSessions } from './0009-provider-sessions.ts';
import { up as signInSources } from './0010-sign-in-sources.ts';
import { up as relinking } from './0011-relinking.ts';
import { up as defaultAction } from './0012-default-action.ts';
import { up as samlTests } from './0013-saml-tests.ts';
import { up as fetchedMetadata } from './0014-fetched-metadata.ts';
import { up as gatewaySettings } from './0015-gateway-settings.ts';
import { type LeaseTimes, withLease } from './lease.ts';
import { assertRights, explainRefusal } from '../database/rights.ts';
import { createTable, insertIfAbsent } from './schema.ts';

/** One step: what it is called for ever, and what it does. It can run again after any crash. */
export interface Migration {
  name: string;
  up: (database: Database) => Promise<void>;
}

/** All steps, in their order. */
export const migrations: readonly Migration[] = [
  { name: '0001-first-tables', up: firstTables },
  { name: '0002-audit-entries', up: auditEntries },
  { name: '0003-sessions', up: sessions },
  { name: '0004-identities', up: identities },
  { name: '0005-client-files', up: clientFiles },
  { name: '0006-device-switches', up: deviceSwitches },
  { name: '0007-bootstrap-claims', up: bootstrapClaims },
  { name: '0008-arrivals', up: arrivals },
  { name: '0009-provider-sessions', up: providerSessions },
  { name: '0010-sign-in-sources', up: signInSources },
  { name: '0011-relinking', up: relinking },
  { name: '0012-default-action', up: defaultAction },
  { name: '0013-saml-tests', up: samlTests },
  { name: '0014-fetched-metadata', up: fetchedMetadata },
  { name: '0015-gateway-settings', up: gatewaySettings },
];

/** Thrown when the database was migrated by later code than this. */
export class DatabaseTooNewError extends Error {
  override name = 'DatabaseTooNewError';
}

/** How to migrate; tests replace the first two. */
export interface MigrateOptions {
  migrations?: readonly Migration[];
  times?: LeaseTimes;
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
  if ((await pendingMigrations(database, known)).length > 0) {
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
        const umzug = await umzugOf(database, known, lease.assertHeld);
        for (const { name } of await umzug.up()) applied.push(name);
      },
      options.times,
    );
  }
  return applied;
}

/** Names the steps that are still to run; throws DatabaseTooNewError when there are later ones. */
export async function pendingMigrations(
  database: Database,
  known: readonly Migration[] = migrations,
): Promise<string[]> {
  const executed = await executedMigrations(database);
  const names = new Set(known.map(({ name }) => name));
  const later = executed.filter((name) => !names.has(name));
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

async function umzugOf(
  database: Database,
  known: readonly Migration[],
  assertHeld: () => Promise<void>,
): Promise<Umzug<Database>> {
  // It brings 170 files along, and most starts have nothing to migrate.
  const { Umzug: Steps } = await import('umzug');
  const storage: UmzugStorage<Database> = {
    executed: async ({ context }) => {
      await createTable(context, 'migrations', {
        columns: {
          name: { type: DataTypes.STRING(64), primaryKey: true, allowNull: false },
          executed_at: { type: DataTypes.DATE(6), allowNull: false },
        },
      });
      return executedMigrations(context);
    },
    logMigration: ({ name, context }) =>
      insertIfAbsent(context, 'migrations', {
        name,
        executed_at: sqlTime(context.kind, new Date()),
      }),
    unlogMigration: () => Promise.reject(new Error('Migrations go forward only')),
  };
  return new Steps({
    context: database,
    storage,
    logger: undefined,
    migrations: known.map(({ name, up }) => ({
      name,
      up: async ({ context }) => {
        await assertHeld();
        context.log?.info({ migration: name }, 'migrating the database');
        await up(context);
      },
    })),
  });
}

/** Reads the names of the steps that ran; none while there is no table of them. */
export async function executedMigrations(database: Database): Promise<string[]> {
  const tables: unknown[] = await database.sequelize.getQueryInterface().showAllTables();
  if (!tables.includes('migrations')) return [];
  const rows = await database.sequelize.query<{ name: string }>(
    'SELECT name FROM migrations ORDER BY name',
    plainSelect(),
  );
  return rows.map(({ name }) => name);
}
