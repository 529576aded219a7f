// Databases in memory that are up to date from the beginning, for gateways in test processes. The
// first one of a process is migrated; every further one begins as a copy of what that was then.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectDatabase, type DatabaseOptions } from './connect.ts';
import { migrate, runMissingSteps } from './migrations/index.ts';
import type { Database } from './storage/database.ts';
import { makeMemoryFolder } from './storage/sqlite.ts';

type Options = Omit<DatabaseOptions, 'url' | 'image'>;

/** The file of an empty database after all migrations; nothing in it is sealed under any key. */
let image: Promise<Uint8Array> | null = null;

/** Opens a fresh database in memory, migrated; it is gone when it is closed. */
export async function openMemoryDatabase(options: Options): Promise<Database> {
  if (image !== null) return (await open(options, await image)).database;
  const first = open(options, null);
  image = first.then((opened) => opened.image);
  // Whoever waits for it is told why, and the next one tries again.
  image.catch(() => (image = null));
  return (await first).database;
}

async function open(
  options: Options,
  from: Uint8Array | null,
): Promise<{ database: Database; image: Uint8Array }> {
  const copied = from === null ? {} : { image: from };
  const database = await connectDatabase({ ...options, url: 'sqlite::memory:', ...copied });
  try {
    if (from === null) await runMissingSteps(database);
    const opened = { database, image: from ?? (await imageOf(database)) };
    await migrate(database);
    return opened;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function imageOf(database: Database): Promise<Uint8Array> {
  const folder = makeMemoryFolder();
  try {
    const path = join(folder, 'image.sqlite');
    await database.sequelize.query('VACUUM INTO $1', { bind: [path] });
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
