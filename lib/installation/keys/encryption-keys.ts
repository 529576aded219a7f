// Which keys open the database: the one that seals, and others while values under them are left.
// They are given, or lie in DATA_DIR, where a rotation that was interrupted leaves two of them; the
// gateway serves with both until the rotation is run again.

import { existsSync, linkSync, renameSync, statSync } from 'node:fs';
import type { Config } from '../../../config/index.ts';
import { keyIdOf } from '../../../models/index.ts';
import { databaseFile } from '../../kit/database/place.ts';
import { encryptionKey, encryptionKeyFile, readOrCreateKey } from '../setup/first-start.ts';
import { sayMissingKey } from './advice.ts';

/** The keys of a database. */
export interface EncryptionKeys {
  /** Seals. */
  readonly key: Buffer;
  /** Only open. */
  readonly older: readonly Buffer[];
  /** True when a rotation in DATA_DIR was begun and not finished. */
  readonly isUnfinished: boolean;
}

/** The file of a key that is missing, and the database whose secrets it alone opens. */
export interface MissingKey {
  readonly keyFile: string;
  readonly database: string;
}

/** The keys that a process starts with; makes the first one where it may. */
export function encryptionKeys(config: Config): EncryptionKeys {
  const missing = missingKey(config);
  if (missing !== null) throw new Error(sayMissingKey(missing, config));
  const key = encryptionKey(config);
  const given = config.databaseEncryptionKeyOld;
  const older = given === null ? [] : [Buffer.from(given, 'base64')];
  const next = nextKeyFile(config);
  if (next === null || !isRotationUnfinished(config)) return { key, older, isUnfinished: false };
  return { key, older: [readOrCreateKey(next), ...older], isUnfinished: true };
}

/**
 * The key that is missing in DATA_DIR, though the SQLite database was written with it; null: it is
 * not missing, or none was needed yet. A new key would open nothing, and hide what is wrong.
 */
export function missingKey(config: Config): MissingKey | null {
  if (config.databaseEncryptionKey !== null) return null;
  const database = databaseFile(config);
  // A process that starts at this moment makes the key first, so the database is looked at first.
  const bytes = database === null ? 0 : (statSync(database, { throwIfNoEntry: false })?.size ?? 0);
  const keyFile = encryptionKeyFile(config);
  return database === null || bytes === 0 || existsSync(keyFile) ? null : { keyFile, database };
}

/** The keys of a rotation: that to come seals. It is made and on the disk when this returns. */
export function nextEncryptionKeys(config: Config): EncryptionKeys {
  const next = nextKeyFile(config);
  if (next === null) return encryptionKeys(config);
  const key = readOrCreateKey(next);
  const { key: present, older } = encryptionKeys(config);
  return { key, older: [present, ...older], isUnfinished: true };
}

/** True when a rotation in DATA_DIR was begun and not finished; makes nothing. */
export function isRotationUnfinished(config: Config): boolean {
  const next = nextKeyFile(config);
  return next !== null && existsSync(next);
}

/**
 * Puts the key to come in the place of the present one, which is kept under its id: backups that
 * were made before need it. Returns where, null when the keys are not in DATA_DIR.
 */
export function adoptNextKey(config: Config): string | null {
  const next = nextKeyFile(config);
  if (next === null) return null;
  const present = encryptionKeyFile(config);
  const kept = `${present}.${keyIdOf(encryptionKey(config))}`;
  if (!existsSync(kept)) linkSync(present, kept);
  renameSync(next, present);
  return kept;
}

/** Where the key to come is while a rotation runs; null when the environment gives the keys. */
function nextKeyFile(config: Config): string | null {
  return config.databaseEncryptionKey === null ? `${encryptionKeyFile(config)}.new` : null;
}
