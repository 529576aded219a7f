// SQLite underneath Sequelize: one writer and a few readers on one file, all kept open. Sequelize
// itself opens and closes a connection for every transaction: four pragmas, a cold page cache and
// a fresh look at the schema each time, which more than halves the writes per second (models/
// README.md has the figures). This manager takes its place; the limit of one writer is the
// process's write mutex, and between processes SQLite's own lock decides (sqlite-connection.ts).

import {
  type Stats,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ConnectionAcquireTimeoutError, ConnectionError, type Sequelize } from 'sequelize';
import { ConnectionPool } from './connection-pool.ts';
import { makeFile } from './ownership.ts';
import { BUSY_TIMEOUT_MS } from './rerun.ts';
import { ShortReads } from './short-reads.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { useSqliteQueries } from './sqlite-query.ts';

/** Statements that have waited so long behind one that met a lock give up together with it. */
const LONG_WAIT_MS = 0.8 * BUSY_TIMEOUT_MS;
/** How long one waits inside this process for the writer, or for a reader. */
const ACQUIRE_TIMEOUT_MS = 30_000;

// WAL: readers never block the writer nor it them. FULL: a commit is on the disk when it returns.
const PRAGMAS = [
  'foreign_keys = ON',
  'journal_mode = WAL',
  'synchronous = FULL',
  'trusted_schema = OFF',
];

/** Free pages can be given back; a file that has tables does not change, and may be locked. */
const OF_EMPTY_FILE = ['auto_vacuum = INCREMENTAL'];

/** The file of a SQLite database. */
export interface SqliteFile {
  path: string;
  /** Deletes what must not outlive the database; nothing for a file that is to stay. */
  discard: () => void;
}

/** Makes the file where it is absent, readable by its owner alone; SQLite's side files follow. */
export function prepareFile(path: string): SqliteFile {
  const file = resolve(path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  makeFile(file);
  chmodSync(file, 0o600);
  return { path: file, discard: () => undefined };
}

/**
 * Makes a database in memory: a private file on tmpfs, which several connections can share. It is
 * empty, or begins as the image of another.
 */
export function prepareMemoryFile(image: Uint8Array | null): SqliteFile {
  const folder = makeMemoryFolder();
  const file = prepareFile(join(folder, 'postern.sqlite'));
  if (image !== null) writeFileSync(file.path, image);
  return { ...file, discard: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * Puts the one-writer manager in the place of Sequelize's own; before the first statement. Returns
 * what reads the number that every commit changes.
 */
export function useSqliteConnections(
  sequelize: Sequelize,
  path: string,
  readers: number,
): () => number | null {
  const file = new OpenedFile(path);
  const shortReads = new ShortReads(file);
  const connectionManager = new SqliteConnections(file, readers, shortReads);
  Object.assign(sequelize, { connectionManager });
  useSqliteQueries(sequelize, shortReads);
  return () => shortReads.version();
}

/** What Sequelize says when it asks for a connection: `uuid` names a transaction. */
interface Wanted {
  uuid?: string;
  type?: string;
}

/** Sequelize's connection manager for one SQLite file. */
class SqliteConnections {
  readonly #file: OpenedFile;
  readonly #shortReads: ShortReads;
  readonly #writer: ConnectionPool<SqliteConnection>;
  readonly #readers: ConnectionPool<SqliteConnection>;

  constructor(file: OpenedFile, readers: number, shortReads: ShortReads) {
    this.#shortReads = shortReads;
    this.#file = file;
    const shared = {
      close: (connection: SqliteConnection) => connection.close(),
      acquireTimeoutMs: ACQUIRE_TIMEOUT_MS,
    };
    this.#writer = new ConnectionPool({
      ...shared,
      limit: 1,
      open: () => this.#open(PRAGMAS, () => this.#onBusy()),
    });
    this.#readers = new ConnectionPool({
      ...shared,
      limit: readers,
      open: () => this.#open([...PRAGMAS, 'query_only = ON']),
    });
  }

  /** Lends a reader for a SELECT or a read-only transaction, else the writer. */
  async getConnection(wanted: Wanted): Promise<SqliteConnection> {
    if (wanted.type === 'SELECT') return this.#readers.acquire();
    const writer = await this.#writer.acquire();
    try {
      this.#file.assertInPlace();
    } catch (error) {
      this.#writer.release(writer);
      throw error;
    }
    return writer;
  }

  /** Takes back a connection after a statement or a finished transaction. */
  releaseConnection(connection: SqliteConnection): void {
    this.#poolOf(connection).release(connection);
  }

  /** Ends a connection that may still be inside a transaction. */
  destroyConnection(connection: SqliteConnection): Promise<void> {
    return this.#poolOf(connection).destroy(connection);
  }

  /** Ends all connections once they are free; the last one folds the WAL into the file. */
  async close(): Promise<void> {
    await this.#readers.close();
    this.#shortReads.close();
    await this.#writer.close();
  }

  /**
   * Another file may have the name by now. A connection to it would answer from it, and already its
   * closing would empty the write-ahead log that lies there, which is that of the first.
   */
  async #open(pragmas: readonly string[], onBusy?: () => void): Promise<SqliteConnection> {
    this.#file.assertInPlace();
    const first = statSync(this.#file.path).size === 0 ? OF_EMPTY_FILE : [];
    return SqliteConnection.open(this.#file.path, [...first, ...pragmas], onBusy);
  }

  /** Another program holds the file: those who have waited for about as long give up as well. */
  #onBusy(): void {
    const text = `another program has held the database file for ${BUSY_TIMEOUT_MS} ms`;
    this.#writer.refuseWaiters(LONG_WAIT_MS, new ConnectionAcquireTimeoutError(new Error(text)));
  }

  #poolOf(connection: SqliteConnection): ConnectionPool<SqliteConnection> {
    return this.#writer.owns(connection) ? this.#writer : this.#readers;
  }
}

/**
 * A file that stays open: moved away or removed, it would take every write and none would be found
 * at the next start.
 */
class OpenedFile {
  readonly path: string;
  readonly #inode: number;
  readonly #device: number;

  constructor(path: string) {
    const { ino, dev } = statSync(path);
    this.path = path;
    this.#inode = ino;
    this.#device = dev;
  }

  /** Throws a ConnectionError where another file, or none, has the name of the one that is open. */
  assertInPlace(): void {
    const found = this.#look();
    if (found?.ino === this.#inode && found.dev === this.#device) return;
    throw new ConnectionError(
      new Error(
        `${this.path} was ${found === undefined ? 'moved or removed' : 'replaced'} while it was ` +
          'in use, so nothing is written: put it back, or start again to use what is there',
      ),
    );
  }

  #look(): Stats | undefined {
    try {
      return statSync(this.path, { throwIfNoEntry: false });
    } catch (error) {
      // For example a folder that this user may no longer read.
      throw new ConnectionError(error as Error);
    }
  }
}

/** Makes a private folder on tmpfs, or where temporary files are. */
export function makeMemoryFolder(): string {
  for (const parent of ['/dev/shm', tmpdir()]) {
    try {
      return mkdtempSync(join(parent, 'postern-'));
    } catch {
      // No tmpfs here, or not ours to write: the next folder will do.
    }
  }
  throw new Error('A database in memory needs a writable /dev/shm or temporary folder');
}
