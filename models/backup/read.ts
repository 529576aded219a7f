// Reads a backup: the lines of a file, checked against the header and the trailer. Reading it once
// to its end proves that it is whole; restoring reads it again.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { CiphertextError, EncryptionKeyError, type Keyring } from '../storage/encryption.ts';
import { sealingKeysIn } from './catalogue.ts';
import {
  BackupError,
  type Header,
  type HeaderTable,
  LINE_BYTES_MAX,
  parseHeader,
  parseLine,
  parseTrailer,
  sealPlace,
} from './format.ts';
import { sqlValueOf } from './values.ts';

/** Rows that are handed on at once, unless they are large. */
const PAGE_ROWS = 500;
const PAGE_BYTES = 1024 * 1024;

/** Rows of one table, as they stand in the file and each as long as the table is wide. */
export interface FilePage {
  readonly table: HeaderTable;
  readonly rows: readonly (readonly unknown[])[];
}

/** Reads the header alone. */
export async function readHeader(path: string): Promise<Header> {
  for await (const line of linesOf(path)) return parseHeader(line);
  throw new BackupError('This backup is empty');
}

/** A backup that was found good. */
export interface Verified {
  readonly header: Header;
  /** Ids of the keys that its values are sealed with. */
  readonly keys: readonly string[];
}

/**
 * Proves that a backup is whole and that its values open with the given keys. Throws BackupError or
 * EncryptionKeyError.
 */
export async function verifyBackup(path: string, keyring: Keyring): Promise<Verified> {
  const { header, keys } = await readBack(path, keyring);
  if (!keys.every((key) => keyring.knows(key))) throw missingKeys([header.key, ...keys], keyring);
  return { header, keys };
}

/**
 * Proves that a backup is whole, whoever knows the keys of its values. Throws BackupError, or
 * EncryptionKeyError where the key of the backup itself is another one.
 */
export async function readBack(path: string, keyring: Keyring): Promise<Verified> {
  const header = await readHeader(path);
  if (!keyring.knows(header.key)) throw otherKey(header.key, keyring);
  const sealing = new Set<string>();
  for await (const { table, rows } of readPages(path, keyring)) {
    for (const id of sealingKeysIn(table, rows)) sealing.add(id);
    for (const [index, row] of rows.entries())
      for (const [at, column] of table.columns.entries())
        if (sqlValueOf('sqlite', column.kind, row[at]) === undefined)
          throw new BackupError(
            `This backup is damaged: ${table.name}.${column.name} is no ${column.kind} ` +
              `(row ${index + 1} of a page)`,
          );
  }
  return { header, keys: [...sealing].toSorted() };
}

/**
 * Reads the rows in their order. That the file is whole is certain only once the last page was
 * taken: what ends or differs before throws BackupError.
 */
export async function* readPages(path: string, keyring: Keyring): AsyncGenerator<FilePage> {
  const lines = linesOf(path);
  const hash = createHash('sha256');
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new BackupError('This backup is cut short: it has no trailer');
    return value;
  };
  const first = await next();
  const header = parseHeader(first);
  hash.update(`${first}\n`);
  let total = 0;
  for (const table of header.tables) {
    let rows: unknown[][] = [];
    let bytes = 0;
    for (let index = 0; index < table.rows; index += 1) {
      const line = await next();
      hash.update(`${line}\n`);
      const row = parseLine(line);
      if (!Array.isArray(row) || row.length !== table.columns.length)
        throw new BackupError(
          `This backup is damaged or cut short: row ${index + 1} of ${table.name} is none`,
        );
      rows.push(row as unknown[]);
      bytes += line.length;
      if (rows.length < PAGE_ROWS && bytes < PAGE_BYTES) continue;
      yield { table, rows };
      [rows, bytes] = [[], 0];
    }
    if (rows.length > 0) yield { table, rows };
    total += table.rows;
  }
  checkTrailer(await next(), { header, rows: total, sha256: hash.digest('hex') }, keyring);
  if ((await lines.next()).done !== true)
    throw new BackupError('This backup is damaged: something follows its trailer');
}

function checkTrailer(
  line: string,
  read: { header: Header; rows: number; sha256: string },
  keyring: Keyring,
): void {
  const { rows, sha256, seal } = parseTrailer(line);
  if (rows !== read.rows || sha256 !== read.sha256)
    throw new BackupError('This backup is damaged: its checksum is another one');
  try {
    if (keyring.open(seal, sealPlace(read.header)) === sha256) return;
  } catch (error) {
    if (error instanceof EncryptionKeyError) throw otherKey(read.header.key, keyring);
    if (!(error instanceof CiphertextError)) throw error;
  }
  throw new BackupError(
    'This backup was changed by somebody who did not have the encryption key: its seal is wrong',
  );
}

function otherKey(wanted: string, keyring: Keyring): EncryptionKeyError {
  return new EncryptionKeyError(
    `This backup was made with encryption key ${wanted}, the given key is ${keyring.keyId}. ` +
      `Use the key of the gateway that made the backup (${KEY_FILES}): put it into encryption.key ` +
      'of this DATA_DIR if nothing else needs the present one, or set it as ' +
      'DATABASE_ENCRYPTION_KEY, or as DATABASE_ENCRYPTION_KEY_OLD beside the present one',
  );
}

/**
 * The error for a backup that needs keys which are not known: it may need two, from a rotation that
 * was not finished.
 */
function missingKeys(needed: readonly string[], keyring: Keyring): EncryptionKeyError {
  const all = [...new Set(needed)];
  const missing = all.filter((key) => !keyring.knows(key));
  return new EncryptionKeyError(
    `This backup needs all of the encryption keys ${all.join(', ')}; not given: ` +
      `${missing.join(', ')}. Set DATABASE_ENCRYPTION_KEY and DATABASE_ENCRYPTION_KEY_OLD to them ` +
      `(${KEY_FILES})`,
  );
}

/** Where they are when nobody gave them. */
const KEY_FILES =
  'with SQLite it is in encryption.key of its DATA_DIR, after a rotation in encryption.key.<id>, ' +
  'and in encryption.key.new before it is finished';

/** The lines of a file as text. The last one must end too. */
async function* linesOf(path: string): AsyncGenerator<string, undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      yield utf8Text(parts);
      [parts, bytes, start] = [[], 0, end + 1];
    }
    parts.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > LINE_BYTES_MAX) throw new BackupError('This is no backup: a line does not end');
  }
  if (bytes > 0) throw new BackupError('This backup is cut short: its last line does not end');
  return undefined;
}

/** Bytes that are no UTF-8 become others, so that the checksum tells. */
function utf8Text(parts: readonly Buffer[]): string {
  return (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString('utf8');
}
