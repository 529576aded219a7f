// What a new installation needs: a data folder, the key that encrypts the database, the gateway's
// own key. Each of them is made if it does not exist, and then read back. So it does not matter how
// often a start happens, or in how many processes at once.

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../../config/index.ts';
import { makePrivateKey } from '../../../dataplane/index.ts';
import {
  type Database,
  giveToOwnerOf,
  newId,
  readOrCreateSecret,
  readSecret,
} from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { KEY_BYTES } from '../../kit/validation/keys.ts';
import { messageOf } from '../../kit/process/message.ts';

const SERVER_KEY_NAME = 'wireguard_private_key';

/** Makes the data folder, which only its owner can read. */
export function prepareDataDir(config: Config): void {
  try {
    makeFolder(resolve(config.dataDir));
  } catch (error) {
    throw new Error(
      `DATA_DIR ${config.dataDir} cannot be made (${messageOf(error)}); set DATA_DIR to a folder that this user may write`,
      { cause: error },
    );
  }
}

/** Makes folder by folder, because mkdir of Node with `recursive` never ends below /proc. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it at this moment.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The key that encrypts the database: the setting, or a file that is made once in DATA_DIR. */
export function encryptionKey(config: Config): Buffer {
  if (config.databaseEncryptionKey !== null)
    return Buffer.from(config.databaseEncryptionKey, 'base64');
  return readOrCreateKey(encryptionKeyFile(config));
}

/** The file of the key that was made here. */
export function encryptionKeyFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'encryption.key');
}

/** Reads a file that holds a key, or makes it. */
export function readOrCreateKey(path: string): Buffer {
  const text = readOrCreateFile(path, () => `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== KEY_BYTES)
    throw new Error(`${path} does not hold 32 bytes in base64; restore it from a backup`);
  return key;
}

/** The id of this gateway, which a restart keeps, and the name of its host. */
export function gatewayIdentity(config: Config): { id: string; name: string } {
  const path = join(config.dataDir, 'gateway.id');
  const id = readOrCreateFile(path, () => `${newId()}\n`).trim();
  if (!isUuid(id))
    throw new Error(
      `${path} does not hold the id of a gateway (a UUID); remove the file, a new id is made at the next start`,
    );
  return { id, name: hostname() };
}

/** Reads a small file in DATA_DIR, or makes it; an error names the setting and what helps. */
function readOrCreateFile(path: string, make: () => string): string {
  try {
    return openFile(path, make);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Error(
      `${path} in DATA_DIR cannot be made or read (${messageOf(error)}); ${FIXES[code] ?? FIX}`,
      { cause: error },
    );
  }
}

const FIX = 'make the user that runs Postern the owner of the folder and of the file';
const FIXES: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on its disk',
  EDQUOT: 'raise the quota of its owner, or free space',
  EROFS: 'its disk is mounted read-only: mount it for writing, or set DATA_DIR to another folder',
};

/** Reads a small file, or makes it (0600). Other processes may do so at the same moment. */
function openFile(path: string, make: () => string): string {
  if (!existsSync(path)) {
    const draft = `${path}.${process.pid}`;
    try {
      writeDraft(draft, make());
      // Unlike rename, link never replaces what another process made first.
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }
  chmodSync(path, 0o600);
  return readFileSync(path, 'utf8');
}

function writeDraft(path: string, text: string): void {
  // A killed process with the same number may have left its draft.
  rmSync(path, { force: true });
  const file = openSync(path, 'wx', 0o600);
  try {
    giveToOwnerOf(dirname(path), file);
    writeFileSync(file, text, { flush: true });
  } finally {
    closeSync(file);
  }
}

/** Replaces a small file (0600) at once, so that no reader sees half of it. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  try {
    writeDraft(draft, text);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The gateway's private key: the setting, or made once and kept encrypted in the database. */
export async function serverPrivateKey(config: Config, database: Database): Promise<Uint8Array> {
  const text =
    config.wireguardPrivateKey ??
    (await readOrCreateSecret(database, SERVER_KEY_NAME, () =>
      Buffer.from(makePrivateKey((bytes) => bytes.set(randomBytes(bytes.length)))).toString(
        'base64',
      ),
    ));
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** The gateway's private key for commands, which must not make one; null before the first start. */
export async function knownServerPrivateKey(
  config: Config,
  database: Database,
): Promise<Uint8Array | null> {
  const text = config.wireguardPrivateKey ?? (await readSecret(database, SERVER_KEY_NAME));
  return text === null ? null : new Uint8Array(Buffer.from(text, 'base64'));
}
