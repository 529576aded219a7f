// Databases in memory that are up to date from the beginning, for gateways in test processes. The
// migrations run once in a process; every further database begins as a copy of what they made.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectDatabase, type DatabaseOptions } from './connect.ts';
import { migrate, runMissingSteps } from './migrations/index.ts';
import type { Database } from './storage/database.ts';
import { makeMemoryFolder } from './storage/sqlite.ts';

const KEY_BYTES = 32;

let image: Promise<Uint8Array> | null = null;

/** Opens a fresh database in memory, migrated; it is gone when it is closed. */
export async function openMemoryDatabase(options: Omit<DatabaseOptions, 'url'>): Promise<Database> {
  image ??= makeImage();
  const database = await connectDatabase({
    ...options,
    url: 'sqlite::memory:',
    image: await image,
  });
  try {
    await migrate(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The file of an empty database after all migrations; nothing in it is sealed under any key. */
async function makeImage(): Promise<Uint8Array> {
  const folder = makeMemoryFolder();
  try {
    const path = join(folder, 'image.sqlite');
    const encryptionKey = new Uint8Array(KEY_BYTES);
    const database = await connectDatabase({ url: `sqlite:${path}`, encryptionKey });
    try {
      await runMissingSteps(database);
    } finally {
      // The last connection folds what was written into the file.
      await database.close();
    }
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
