// What a person is told of the keys that a backup needs. More than one is in use in the middle of a
// rotation; one may be unknown where a backup comes before a rescue.

import type { Database } from '../../models/index.ts';

/** What makes one key of several; said wherever there are more. */
export const FINISH_ROTATION = 'npm run -s postern -- keys rotate';

/** What follows "Its secrets". */
export function sayKeys(keys: readonly string[], database: Database): string {
  const unknown = unknownKeys(keys, database);
  if (keys.length === 1) return `open with encryption key ${keys.join()} alone`;
  const aside = unknown.length === 0 ? '' : ` (not known here: ${unknown.join(', ')})`;
  return `need all of the encryption keys ${keys.join(', ')}${aside}`;
}

/** Those of the keys that this process was not given. */
export function unknownKeys(keys: readonly string[], { keyring }: Database): string[] {
  return keys.filter((key) => !keyring.knows(key));
}
