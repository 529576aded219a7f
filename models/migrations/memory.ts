// Databases in memory that are up to date from the beginning, for gateways in test processes. Each
// begins as a copy of one file, which the first one of a process makes from the text of the schema.

import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectDatabase, type DatabaseOptions } from '../database/connect.ts';
import { migrate } from './index.ts';
import { beginAsLatest } from './latest.ts';
import type { Database } from '../database/database.ts';
import { makeMemoryFolder } from '../storage/sqlite.ts';

type Options = Omit<DatabaseOptions, 'url' | 'image'>;

/**
 * The length of a key. The image cannot be opened without a key, but holds nothing that is sealed.
 */
const KEY_BYTES = 32;

/** The file of an empty database after all migrations; nothing in it is sealed under any key. */
let image: Promise<Uint8Array> | null = null;

/** Opens a fresh database in memory, migrated; it is gone when it is closed. */
export async function openMemoryDatabase(options: Options): Promise<Database> {
  image ??= makeImage();
  // Whoever waits for it gets the error, and the next one tries again.
  image.catch(() => (image = null));
  const database = await connectDatabase({
    ...options,
    url: 'sqlite::memory:',
    image: await image,
  });
  try {
    // A text that is behind the migrations costs time and nothing else.
    await migrate(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The bytes of the file of an empty database, under any key. */
export async function makeImage(): Promise<Uint8Array> {
  const folder = makeMemoryFolder();
  try {
    const path = join(folder, 'image.sqlite');
    const database = await connectDatabase({
      url: `sqlite:${path}`,
      encryptionKey: randomBytes(KEY_BYTES),
    });
    try {
      await beginAsLatest(database);
    } finally {
      // It folds the write-ahead log into the file.
      await database.close();
    }
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
