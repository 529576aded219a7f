// Whether the process that holds the migration lease still lives. The holder shows that it lives by
// a lock that ends with its process, however the process ends: on a server by a named lock of a
// connection of its own, with SQLite by a lock on a file beside the database. Where a whole host is
// gone no server notices at once, and where several servers are one cluster each knows its own
// connections alone: then the lease has to run out.

import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import type { Database } from '../database/database.ts';
import { lockFile } from '../storage/file-lock.ts';
import { plainSelect } from '../storage/select.ts';

/** What owners who show that they live begin with; earlier versions have none. */
const MARK = 'live';
const OWNER_CHARACTERS = 36;
/** A connection that nobody uses is ended by some servers. */
const PING_MS = 5_000;

/** A sign of life of this process. */
export interface SignOfLife {
  /** The name of this process in the lease. */
  readonly owner: string;
  end(): Promise<void>;
}

/**
 * What is known of an owner; `unknown` if the owner shows no sign of life, or is at another server.
 */
export type Life = 'alive' | 'dead' | 'unknown';

/** Shows that this process lives until it ends; where that fails, it shows nothing. */
export async function showLife(database: Database): Promise<SignOfLife> {
  try {
    return await (database.kind === 'sqlite' ? lockOwnFile(database) : lockName(database));
  } catch {
    return { owner: randomUUID(), end: async () => undefined };
  }
}

/** Tells whether an owner lives. */
export async function lifeOf(database: Database, owner: string): Promise<Life> {
  if (!owner.startsWith(MARK)) return 'unknown';
  return database.kind === 'sqlite' ? lifeByFile(database, owner) : lifeByName(database, owner);
}

/** Removes what a dead owner left. */
export function forgetLife(database: Database, owner: string): void {
  if (database.kind === 'sqlite' && owner.startsWith(MARK))
    rmSync(fileOf(database, owner), { force: true });
}

function newOwner(place = ''): string {
  const begin = `${MARK}-${place}`;
  const random = randomBytes(OWNER_CHARACTERS).toString('hex');
  return begin + random.slice(0, OWNER_CHARACTERS - begin.length);
}

// ---- on a server -----------------------------------------------------------------------------

/** The parts of a connection of mysql2, and of how Sequelize opens one, that are used here. */
interface Connection {
  readonly stream: { setTimeout(ms: number): void };
  query(sql: string, done: (error: Error | null, rows: unknown) => void): void;
  on(name: 'error', listener: () => void): void;
  destroy(): void;
}
interface Connecting {
  readonly config: object;
  readonly connectionManager: { _connect(config: object): Promise<Connection> };
}

/** A hash that differs from server to server. */
const SERVER = `LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir), 256), 12)`;

async function lockName(database: Database): Promise<SignOfLife> {
  const { connectionManager, config } = database.sequelize as unknown as Connecting;
  const connection = await connectionManager._connect(config);
  // The lease reports that it ended, when it is asked for the next time.
  connection.on('error', () => undefined);
  const run = (sql: string): Promise<Record<string, unknown>[]> =>
    new Promise((resolve, reject) => {
      connection.query(sql, (error, rows) =>
        error === null ? resolve(rows as Record<string, unknown>[]) : reject(error),
      );
    });
  try {
    const [found] = await run(`SELECT ${SERVER} AS server`);
    const owner = newOwner(`${String(found?.['server'])}-`);
    const [locked] = await run(`SELECT GET_LOCK('${lockOf(owner)}', 0) AS got`);
    if (locked?.['got'] !== 1) throw new Error('the lock of a new name was not given');
    const pinging = setInterval(() => void run('DO 0').catch(() => undefined), PING_MS);
    pinging.unref();
    return {
      owner,
      end: async () => {
        clearInterval(pinging);
        connection.destroy();
      },
    };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function lifeByName(database: Database, owner: string): Promise<Life> {
  const [row] = await database.sequelize.query<{ server: string; holder: number | null }>(
    `SELECT ${SERVER} AS server, IS_USED_LOCK(:lock) AS holder`,
    { ...plainSelect(), replacements: { lock: lockOf(owner) } },
  );
  if (row?.holder !== null) return 'alive';
  return owner.startsWith(`${MARK}-${row.server}-`) ? 'dead' : 'unknown';
}

function lockOf(owner: string): string {
  return `postern ${owner}`;
}

// ---- with SQLite -----------------------------------------------------------------------------

async function lockOwnFile(database: Database): Promise<SignOfLife> {
  const owner = newOwner();
  const path = fileOf(database, owner);
  const lock = lockFile(path);
  return {
    owner,
    end: async () => {
      lock?.release();
      rmSync(path, { force: true });
    },
  };
}

async function lifeByFile(database: Database, owner: string): Promise<Life> {
  const path = fileOf(database, owner);
  // It was there before its owner had the lease.
  if (!existsSync(path)) return 'dead';
  try {
    const lock = lockFile(path);
    lock?.release();
    return lock === null ? 'alive' : 'dead';
  } catch {
    return 'unknown';
  }
}

function fileOf(database: Database, owner: string): string {
  const { storage } = (database.sequelize as unknown as { options: { storage: string } }).options;
  return `${storage}-${owner}`;
}
