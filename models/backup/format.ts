// The format of a backup, version 1. Lines of JSON, each ended by a newline: a header that says how
// many rows of which tables follow, one line for each row, and a trailer with the SHA-256 of all
// lines before it, once as it is and once sealed with the encryption key. A file that was cut or
// changed is refused before anything is written, and nobody without the key can make one that is
// accepted. README.md of this folder describes it.

import type { Column, ValueKind } from './catalogue.ts';

/** The version of this format; a file with a greater version is refused. */
export const FORMAT = 1;
/** No line is longer: a row has at most some ten megabytes. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** The first line. */
export interface Header {
  readonly postern_backup: number;
  readonly made_at: string;
  /** Names of the migrations that had run. */
  readonly schema: readonly string[];
  /** Id of the encryption key that the backup is sealed with; each value names its own. */
  readonly key: string;
  readonly tables: readonly HeaderTable[];
}

/** A table, as the header describes it. */
export interface HeaderTable {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: number;
}

/** The last line. */
export interface Trailer {
  readonly rows: number;
  readonly sha256: string;
  /** The hash, sealed with the encryption key. */
  readonly seal: string;
}

/** Thrown for a file that is no whole backup, or one that cannot be used here. */
export class BackupError extends Error {
  override name = 'BackupError';
}

/** Where the seal belongs: a backup's opens for no other one. */
export function sealPlace(header: Header): { table: string; column: string; id: string } {
  return { table: 'backup', column: 'sha256', id: header.made_at };
}

/** Reads the first line. */
export function parseHeader(line: string): Header {
  const header = parseLine(line) as Partial<Header> | null;
  const format = header?.postern_backup;
  if (typeof format !== 'number')
    throw new BackupError('This is no backup of Postern: its first line says nothing of one');
  if (format !== FORMAT)
    throw new BackupError(
      `This backup has format ${format}, this version of Postern reads format ${FORMAT}; ` +
        'use the version that made it, or a later one',
    );
  if (!isHeader(header)) throw new BackupError('The first line of this backup is damaged');
  return header;
}

/** Reads the last line. */
export function parseTrailer(line: string): Trailer {
  const trailer = parseLine(line) as Partial<Trailer> | null;
  if (
    typeof trailer?.rows !== 'number' ||
    typeof trailer.sha256 !== 'string' ||
    typeof trailer.seal !== 'string'
  )
    throw new BackupError('This backup is damaged: a trailer should follow its last row');
  return trailer as Trailer;
}

/** Reads a line; null where it is no JSON. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return null;
  }
}

const KINDS: ReadonlySet<ValueKind> = new Set(['text', 'integer', 'bigint', 'flag', 'time']);
/** Names go into statements. */
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

function isHeader(value: Partial<Header> | null): value is Header {
  return (
    typeof value?.made_at === 'string' &&
    typeof value.key === 'string' &&
    Array.isArray(value.schema) &&
    value.schema.every((name) => typeof name === 'string') &&
    Array.isArray(value.tables) &&
    value.tables.every(isTable)
  );
}

function isTable(value: Partial<HeaderTable> | null): value is HeaderTable {
  return (
    typeof value?.name === 'string' &&
    NAME.test(value.name) &&
    Number.isSafeInteger(value.rows) &&
    (value.rows as number) >= 0 &&
    Array.isArray(value.columns) &&
    value.columns.every(
      (column: Partial<Column> | null) =>
        typeof column?.name === 'string' &&
        NAME.test(column.name) &&
        KINDS.has(column.kind as ValueKind),
    )
  );
}
