// What the database user may do on a MySQL or MariaDB server. This is checked before a migration
// begins, so that all missing rights are named at once, and not one after the other in the middle
// of migrations.

import { driverError } from '../storage/rerun.ts';
import type { Database } from './database.ts';
import { plainSelect } from '../storage/select.ts';

/** What a gateway needs to run, and what migrations need besides. */
const RUNNING = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;
const MIGRATING = ['CREATE', 'ALTER', 'REFERENCES'] as const;

/** A right of a database user, by its name in GRANT. */
export type Right = (typeof RUNNING)[number] | (typeof MIGRATING)[number];

/**
 * Statements that change nothing, whether the tables that they name are there or not; each is
 * refused without its right. MySQL alone asks for REFERENCES, and in a migration.
 */
const PROBES: readonly (readonly [Right, string])[] = [
  ['SELECT', 'SELECT name FROM leases WHERE 1 = 0'],
  ['INSERT', "INSERT INTO leases (name, owner, expires_ms) SELECT '', '', 0 FROM DUAL WHERE 1 = 0"],
  ['UPDATE', 'UPDATE leases SET expires_ms = 0 WHERE 1 = 0'],
  ['DELETE', 'DELETE FROM leases WHERE 1 = 0'],
  ['CREATE', 'CREATE TABLE IF NOT EXISTS leases LIKE no_such_table'],
  ['ALTER', 'ALTER TABLE leases'],
];

const DENIED: ReadonlySet<string | undefined> = new Set([
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
]);

/** Thrown when the database user may not do what is needed. */
export class MissingRightsError extends Error {
  override name = 'MissingRightsError';
}

/** Names the rights that are missing for running, or also for migrating; none with SQLite. */
export async function missingRights(
  database: Database,
  { isMigrating }: { isMigrating: boolean },
): Promise<Right[]> {
  if (database.kind === 'sqlite') return [];
  const missing: Right[] = [];
  const needed: readonly string[] = isMigrating ? [...RUNNING, ...MIGRATING] : RUNNING;
  for (const [right, sql] of PROBES) {
    // To make a table like another one takes a look at that too.
    const isUnclear = right === 'CREATE' && missing.includes('SELECT');
    if (!isUnclear && needed.includes(right) && (await isRefused(database, sql)))
      missing.push(right);
  }
  return missing;
}

/** Throws a MissingRightsError that says what to run, where rights are missing. */
export async function assertRights(
  database: Database,
  options: { isMigrating: boolean },
): Promise<void> {
  const missing = await missingRights(database, options);
  if (missing.length === 0) return;
  throw await missingRightsError(database, missing);
}

/** Throws what a write would meet, on a read-only server say; it changes nothing. */
export async function tryWriting(database: Database): Promise<void> {
  // On SQLite a transaction takes the place of the one writer at its beginning.
  if (database.kind === 'sqlite') return database.sequelize.transaction(async () => undefined);
  try {
    await database.sequelize.query('UPDATE leases SET expires_ms = 0 WHERE 1 = 0');
  } catch (error) {
    // Before the first migration; read-only would have been said before it.
    if (driverError(error).code !== 'ER_NO_SUCH_TABLE') throw error;
  }
}

/** The error where a statement was refused for want of a right; others as they are. */
export async function explainRefusal(database: Database, error: unknown): Promise<unknown> {
  const refusal = refusalIn(error);
  if (refusal === null) return error;
  const right = /^(\w+) command denied/.exec(refusal)?.[1] ?? 'some';
  return missingRightsError(database, [right]);
}

/** The error where a user may not even open the database; null where it is another one. */
export function refusedAtDoor(error: unknown, name: string): MissingRightsError | null {
  const { code, message } = driverError(error);
  if (code !== 'ER_DBACCESS_DENIED_ERROR') return null;
  const user = /'[^']*'@'[^']*'/.exec(message)?.[0] ?? 'that user';
  return new MissingRightsError(
    `The database user ${user} has no right on the database ${name}, or it is not there. ` +
      `Let an administrator of the server run: CREATE DATABASE IF NOT EXISTS \`${name}\`; ` +
      grant(name, user),
  );
}

async function missingRightsError(
  database: Database,
  missing: readonly string[],
): Promise<MissingRightsError> {
  const [row] = await database.sequelize.query<{ name: string; account: string }>(
    'SELECT DATABASE() AS name, CURRENT_USER() AS account',
    plainSelect(),
  );
  const { name = '', account = '' } = row ?? {};
  const user = account.replace(/^(.*)@([^@]*)$/, "'$1'@'$2'");
  return new MissingRightsError(
    `The database user ${user} lacks rights on the database ${name}: ${missing.join(', ')}. ` +
      `Let an administrator of the server run: ${grant(name, user)}`,
  );
}

/** One statement that gives all that is ever needed. */
function grant(name: string, user: string): string {
  return `GRANT ${[...RUNNING, ...MIGRATING].join(', ')} ON \`${name}\`.* TO ${user};`;
}

async function isRefused(database: Database, sql: string): Promise<boolean> {
  try {
    await database.sequelize.query(sql);
    return false;
  } catch (error) {
    const { code } = driverError(error);
    if (DENIED.has(code)) return true;
    // Without the table: the right was looked at before it. Read-only: a write will say so.
    return false;
  }
}

/** What the server said of a right, in an error or in those that led to it. */
function refusalIn(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, message } = driverError(at);
    if (DENIED.has(code)) return message;
  }
  return null;
}
