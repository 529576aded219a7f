// What other rooms may ask about an error of the database, whichever database it is: which unique
// column refused a value, whether the database was out of reach, and whether its disk is full.

import { ConnectionAcquireTimeoutError, ConnectionError, UniqueConstraintError } from 'sequelize';
import { driverError, isConflict, isFull } from './storage/rerun.ts';

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

/** A SQLite file that cannot be read or written, with all that SQLite may append to say why. */
const FILE_AWAY = /^SQLITE_(IOERR|READONLY|CANTOPEN)(_|$)/;

/** Tells which unique column refused a value; null when the error is of another kind. */
export function uniqueColumn(error: unknown): UniqueColumn | null {
  if (!(error instanceof UniqueConstraintError)) return null;
  const { message } = driverError(error);
  const index = indexIn(message);
  const known = Object.entries(UNIQUE_COLUMNS).find(([name]) => name === index);
  return known === undefined ? 'id' : known[1];
}

/** True when the database was out of reach, full or too busy: trying again later may succeed. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof ConnectionAcquireTimeoutError || error instanceof ConnectionError)
    return true;
  const { code = '' } = driverError(error);
  return AWAY_CODES.has(code) || FILE_AWAY.test(code) || isFull(error) || isConflict(error);
}

/** True when the disk of the database is full. */
export function isDatabaseFull(error: unknown): boolean {
  return isFull(error);
}

/** The name of the index: MySQL says it, SQLite lists its columns instead. */
function indexIn(message: string): string {
  const columns = /UNIQUE constraint failed: (.*)$/.exec(message)?.[1];
  if (columns === undefined) return /for key '(?:[^']*\.)?([^'.]*)'$/.exec(message)?.[1] ?? '';
  const [table = ''] = columns.split('.');
  return [table, ...columns.split(', ').map((column) => column.split('.')[1])].join('_');
}
