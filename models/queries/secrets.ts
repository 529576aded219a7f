// Reads secrets, and makes those that are missing. One of them, the key check, is there to refuse a
// wrong encryption key at the start, before a single device's key fails to open.

import { insertOrRead } from '../database/first-row.ts';
import { CiphertextError, EncryptionKeyError } from '../storage/encryption.ts';
import type { Database } from '../database/database.ts';

/** The secret that only the right key opens. */
export const KEY_CHECK_NAME = 'key_check';
const KEY_CHECK_TEXT = 'postern';

/**
 * Reads a secret, or makes it where there is none. When several processes race, one value wins
 * and all of them return it. The result of `make` may be unused, so it must have no other effect.
 */
export async function readOrCreateSecret(
  database: Database,
  name: string,
  make: () => string | Promise<string>,
): Promise<string> {
  const { Secret: secrets } = database.models;
  const row = await insertOrRead(database, {
    read: () => secrets.findByPk(name),
    insert: async (transaction) => secrets.create({ name, value: await make() }, { transaction }),
  });
  return row.value;
}

/** Reads a secret; null where there is none. */
export async function readSecret(database: Database, name: string): Promise<string | null> {
  return (await database.models.Secret.findByPk(name))?.value ?? null;
}

/**
 * Throws EncryptionKeyError when the key in use is not the one the database was made with; where
 * there is no key check yet, the key in use becomes that one.
 */
export async function checkEncryptionKey(database: Database): Promise<void> {
  await refuseUnlessOpen(() => readOrCreateSecret(database, KEY_CHECK_NAME, () => KEY_CHECK_TEXT));
}

/** Checks the key of a database of any schema; writes nothing. */
export async function refuseOtherKey(database: Database): Promise<void> {
  await refuseUnlessOpen(
    async () => (await readSecret(database, KEY_CHECK_NAME)) ?? KEY_CHECK_TEXT,
  );
}

async function refuseUnlessOpen(read: () => Promise<string>): Promise<void> {
  try {
    if ((await read()) === KEY_CHECK_TEXT) return;
  } catch (error) {
    if (!(error instanceof CiphertextError)) throw error;
  }
  throw new EncryptionKeyError(
    'DATABASE_ENCRYPTION_KEY does not open the key check value of this database. Set ' +
      'DATABASE_ENCRYPTION_KEY to the key that the database was made with (SQLite keeps it in ' +
      'DATA_DIR), or restore a backup made with the present key.',
  );
}
