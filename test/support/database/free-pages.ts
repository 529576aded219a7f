// SQLite files with much that is free: as they are after old rows were forgotten.

import type { ExecutionContext } from 'ava';
import { type Database, migrate } from '../../../models/index.ts';
import { KEY, loadReleased } from '../../models/migrations/released-databases.ts';
import { makePlace, openAt, type Place } from './databases.ts';

/** Writes and deletes so many megabytes in pieces of 200 KB, so that their pages are free. */
export async function leaveFree({ sequelize }: Database, megabytes = 8): Promise<void> {
  await sequelize.query('CREATE TABLE big (text TEXT)');
  for (let i = 0; i < megabytes * 5; i += 1)
    await sequelize.query('INSERT INTO big VALUES (hex(randomblob(100000)))');
  await sequelize.query('DROP TABLE big');
}

/** A file that 1.0.0 made, migrated by this version: it cannot shrink. */
export async function openOldFile(
  t: ExecutionContext,
): Promise<{ place: Place; database: Database }> {
  const place = { ...(await makePlace(t, 'sqlite')), encryptionKey: KEY };
  await loadReleased(place.url, '0001', 'sqlite');
  const database = await openAt(t, place);
  await migrate(database);
  return { place, database };
}
