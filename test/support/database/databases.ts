// Databases for tests: one suite body runs for every kind. SQLite always; MariaDB when DATABASES
// names it, on the server of TEST_MARIADB_URL (test/support/database/mariadb.ts starts one).
//   for (const kind of databaseKinds()) test(`${kind}: …`, async (t) => { … openDatabase(t, kind) });

import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import { connectDatabase, type Database, migrate } from '../../../models/index.ts';
import type { DatabaseOptions } from '../../../models/database/connect.ts';
import { makeImage } from '../../../models/migrations/memory.ts';
import { runOnServer } from './mariadb.ts';
import { migrateForTest, recycle, takeRecycled } from './recycled.ts';

/** What a suite can run on. */
export type TestDatabaseKind = 'sqlite' | 'mariadb';

/** The folder of SQLite files, in memory where there is one: no test waits for a disk. */
const FILES = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** No bar: a test that shares its processor with many others may itself be late to read an answer. */
const PATIENCE_MS = 60_000;

/** An empty place for a database, and the key for it. */
export interface Place {
  url: string;
  encryptionKey: Buffer;
}

/** Kinds that this run asks for: DATABASES, a list with commas; sqlite alone by default. */
export function databaseKinds(): TestDatabaseKind[] {
  const names = (process.env['DATABASES'] ?? 'sqlite').split(',').filter((name) => name !== '');
  return names.map((name) => {
    if (name !== 'sqlite' && name !== 'mariadb')
      throw new Error(`DATABASES names ${name}; it may name sqlite and mariadb`);
    return name;
  });
}

/**
 * The first kind that this run asks for: for suites of pages and of protocols, whose statements the
 * suites of models, API and reconciler run on all of them.
 */
export function firstKind(): TestDatabaseKind[] {
  return databaseKinds().slice(0, 1);
}

/** Makes an empty place for a database; it goes when the test ends. */
export async function makePlace(t: ExecutionContext, kind: TestDatabaseKind): Promise<Place> {
  const encryptionKey = randomBytes(32);
  if (kind === 'sqlite') {
    const folder = mkdtempSync(join(FILES, 'postern-test-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    return { url: `sqlite:${join(folder, 'postern.sqlite')}`, encryptionKey };
  }
  const url = await createMariadb();
  t.teardown(() => dropMariadb(url));
  return { url, encryptionKey };
}

async function createMariadb(): Promise<string> {
  const server = process.env['TEST_MARIADB_URL'];
  if (!server)
    throw new Error(
      'DATABASES names mariadb, but TEST_MARIADB_URL is not set; start a server with: ' +
        'TEST_MARIADB_URL=$(npx node test/support/database/mariadb.ts start)',
    );
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runOnServer(server, `CREATE DATABASE ${name}`);
  return server + name;
}

async function dropMariadb(url: string): Promise<void> {
  await runOnServer(url, `DROP DATABASE ${url.slice(url.lastIndexOf('/') + 1)}`);
}

/** Opens a database at a place; several may be open on one, as several processes would be. */
export async function openAt(
  t: ExecutionContext,
  place: Place,
  options: Partial<DatabaseOptions> = {},
): Promise<Database> {
  const database = await connectDatabase({
    silenceMs: PATIENCE_MS,
    greetingMs: options.silenceMs ?? PATIENCE_MS,
    ...place,
    ...options,
  });
  t.teardown(() => database.close());
  return database;
}

/** Opens a fresh, migrated database. */
export async function openDatabase(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  options: Partial<DatabaseOptions> = {},
): Promise<Database> {
  return (await openPlace(t, kind, options)).database;
}

/** Opens a fresh, migrated database, and says where it is, for others who open it too. */
export async function openPlace(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  options: Partial<DatabaseOptions> = {},
): Promise<{ database: Database; place: Place }> {
  if (kind === 'sqlite') {
    const place = await makePlace(t, kind);
    await placeImage(place.url.slice('sqlite:'.length));
    const database = await openAt(t, place, options);
    await migrate(database);
    return { database, place };
  }
  const url = takeRecycled() ?? (await createMariadb());
  t.teardown(async () => {
    if (!(await recycle(url))) await dropMariadb(url);
  });
  const place = { url, encryptionKey: randomBytes(32) };
  const database = await openAt(t, place, options);
  await migrateForTest(database, url);
  return { database, place };
}

/** The bytes of a migrated SQLite file: the steps take longer than most test bodies. */
let image: Promise<Uint8Array> | null = null;

/** Writes a migrated SQLite file without rows. */
export async function placeImage(path: string): Promise<void> {
  image ??= makeImage();
  writeFileSync(path, await image);
}
