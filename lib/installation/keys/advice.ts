// Sentences about encryption keys for people. In the middle of a rotation more than one key is in
// use; after a restore a key may be unknown.

import type { Config } from '../../../config/index.ts';
import type { Database } from '../../../models/index.ts';
import { commandLine } from '../../kit/process/command-line.ts';

/** What makes one key of several. */
export function finishRotation({ databaseEncryptionKey }: Config): string {
  return databaseEncryptionKey === null
    ? `stop the gateway, then: ${commandLine('keys rotate')}`
    : commandLine('keys rotate --online');
}

/** What follows "Its secrets". */
export function sayKeys(keys: readonly string[], database: Database): string {
  const unknown = unknownKeys(keys, database);
  if (keys.length === 1) return `open with encryption key ${keys.join()} alone`;
  const aside = unknown.length === 0 ? '' : ` (not known here: ${unknown.join(', ')})`;
  return `need all of the encryption keys ${keys.join(', ')}${aside}`;
}

/** The keys that this process was not given. */
export function unknownKeys(keys: readonly string[], { keyring }: Database): string[] {
  return keys.filter((key) => !keyring.knows(key));
}

/** What to do where the file of the key is gone. */
export const RESTORE_KEY =
  'restore the file from the backup, or set DATABASE_ENCRYPTION_KEY to what it held; without it ' +
  "the gateway's private key, preshared keys of devices, second factors and secrets of identity " +
  'providers are lost';

/** Why a database is not opened whose key is gone. */
export function sayMissingKey(
  { keyFile, database }: { readonly keyFile: string; readonly database: string },
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
): string {
  // Only a database that a setting names can be elsewhere than its key.
  const otherwise =
    databaseUrl === null
      ? ''
      : `if the gateway has another DATA_DIR than ${dataDir}, correct that; else `;
  return (
    `${keyFile} is missing, the encryption key of ${database} (DATA_DIR says where it is); ` +
    `${otherwise}${RESTORE_KEY}`
  );
}
