// What other rooms may ask about an error of the database, whichever database it is: which unique
// column refused a value, whether the database was out of reach, damaged or without room, and what
// may be said of an error in a log.

import {
  BaseError,
  ConnectionAcquireTimeoutError,
  ConnectionError,
  UniqueConstraintError,
} from 'sequelize';
import { driverError, isConflict, isFull } from '../storage/rerun.ts';
import { beginOf } from '../storage/secrecy.ts';

/** Columns, or the deciding column of several, whose values are unique. */
const UNIQUE_COLUMNS = {
  users_email_key: 'email_key',
  devices_user_id_name: 'name',
  devices_public_key: 'public_key',
  devices_ipv4_key: 'ipv4_key',
  devices_ipv6_key: 'ipv6_key',
  configurations_singleton: 'singleton',
  api_tokens_sha256: 'sha256',
} as const;

/** A column that a UniqueConstraintError can be about; `id` stands for every primary key. */
export type UniqueColumn = (typeof UNIQUE_COLUMNS)[keyof typeof UNIQUE_COLUMNS] | 'id';

/** Errors of the network and of a server that goes down, as drivers call them. */
const AWAY_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'ER_CON_COUNT_ERROR',
  'ER_SERVER_SHUTDOWN',
  // "WSREP has not yet prepared node for application use": a Galera node without its cluster.
  'ER_UNKNOWN_COM_ERROR',
  'PROTOCOL_CONNECTION_LOST',
]);

/**
 * A server that may not be written to: a replica, or a primary that a failover demoted. The first
 * has other meanings too (ER_OPTION_PREVENTS_STATEMENT), none of which our statements meet.
 */
const READ_ONLY_CODES: ReadonlySet<string> = new Set([
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_READ_ONLY_MODE',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
]);

/** A SQLite file that cannot be read or written, with all that SQLite may append to say why. */
const FILE_AWAY = /^SQLITE_(IOERR|READONLY|CANTOPEN)(_|$)/;

/** A SQLite file that holds something else than SQLite wrote, or was never one. */
const FILE_DAMAGED = /^SQLITE_(CORRUPT|NOTADB)(_|$)/;

/** Tells which unique column refused a value; null when the error is of another kind. */
export function uniqueColumn(error: unknown): UniqueColumn | null {
  if (!(error instanceof UniqueConstraintError)) return null;
  const { message } = driverError(error);
  const index = indexIn(message);
  const known = Object.entries(UNIQUE_COLUMNS).find(([name]) => name === index);
  return known === undefined ? 'id' : known[1];
}

/**
 * True when the database was out of reach, full, read-only, too busy or damaged: no error of the
 * request, and trying again later may succeed, perhaps after somebody fixed it.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof ConnectionAcquireTimeoutError || error instanceof ConnectionError)
    return true;
  const { code = '' } = driverError(error);
  if (AWAY_CODES.has(code) || FILE_AWAY.test(code) || FILE_DAMAGED.test(code)) return true;
  return isFull(error) || isConflict(error) || isDatabaseReadOnly(error);
}

/** True when the database server answers and takes no writes. */
export function isDatabaseReadOnly(error: unknown): boolean {
  return READ_ONLY_CODES.has(driverError(error).code ?? '');
}

/** True when the disk of the database is full. */
export function isDatabaseFull(error: unknown): boolean {
  return isFull(error);
}

/** True when the file of a SQLite database is damaged, or is none. */
export function isDatabaseDamaged(error: unknown): boolean {
  return FILE_DAMAGED.test(driverError(error).code ?? '');
}

/** What may be said of an error of the database where values and secrets may not be. */
export interface DescribedError {
  /** The driver's, such as `SQLITE_IOERR`; empty where it has none. */
  readonly code: string;
  /** What the driver said, up to the first thing that it quotes. */
  readonly message: string;
  /** Verb and table, such as `SELECT FROM devices`; null where no statement is known. */
  readonly statement: string | null;
}

/** Describes an error of the database; null when the error is of another kind. */
export function describeDatabaseError(error: unknown): DescribedError | null {
  if (!(error instanceof BaseError && 'parent' in error)) return null;
  const { code = '', message } = driverError(error);
  const said = unquoted(message);
  const { sql } = error as { sql?: unknown };
  return {
    code,
    message: said.startsWith(code) ? said : [code, said].filter((text) => text !== '').join(': '),
    statement: typeof sql === 'string' && sql !== '' ? beginOf(sql) : null,
  };
}

/** Databases quote values and pieces of statements; the apostrophe of "can't" is none. */
function unquoted(message: string): string {
  return message.replace(/(?!(?<=n)'t\b)['"`].*/su, '…').trim();
}

/** The name of the index: MySQL says it, SQLite lists its columns instead. */
function indexIn(message: string): string {
  const columns = /UNIQUE constraint failed: (.*)$/.exec(message)?.[1];
  if (columns === undefined) return /for key '(?:[^']*\.)?([^'.]*)'$/.exec(message)?.[1] ?? '';
  const [table = ''] = columns.split('.');
  return [table, ...columns.split(', ').map((column) => column.split('.')[1])].join('_');
}
