// Opens a database: SQLite in a file or in memory, MySQL or MariaDB on a server. Nothing is read
// or made in it yet; `migrate` comes next.

import { Sequelize, Transaction } from 'sequelize';
import { Database } from './database.ts';
import type { DatabaseLog } from '../storage/rerun.ts';
import { Keyring } from '../storage/encryption.ts';
import {
  type DatabaseTls,
  mysqlDialectOptions,
  tlsOptions,
  useMysqlSessions,
} from '../storage/mysql.ts';
import { GATEWAY, type Origin } from '../storage/origin.ts';
import { keepValuesOutOfErrors } from '../storage/secrecy.ts';
import { useMysqlQueries } from '../storage/mysql-query.ts';
import { prepareFile, prepareMemoryFile, useSqliteConnections } from '../storage/sqlite.ts';
import { orderStatements } from '../storage/statement-order.ts';
import { refuseUntrackedWrites } from '../storage/tracking.ts';
import { endTransactionsQuietly } from '../storage/transaction-end.ts';
import { refusedAtDoor } from './rights.ts';
import { bindTables } from '../tables/tables.ts';

/** Connections that one process opens at most. */
const POOL_SIZE = 10;
/** How long a statement may wait for a free connection. */
const ACQUIRE_TIMEOUT_MS = 30_000;
/** How long a server may be silent while a connection or a statement waits for it. */
const SILENCE_MS = 10_000;
/** How long an unused connection to a server stays open. */
const IDLE_MS = 60_000;

/** Where the database is and how its secrets are kept. */
export interface DatabaseOptions {
  /** `sqlite:<path>`, `sqlite::memory:`, `mysql://user:password@host:port/name`, `mariadb://…`. */
  url?: string | null;
  /** The host of a MySQL or MariaDB server, if no `url` is given; the four below go with it. */
  host?: string | null;
  port?: number;
  name?: string;
  user?: string;
  password?: string | null;
  /** TLS to the server; none where it is left out. */
  tls?: DatabaseTls | null;
  /** What a database in memory begins as: the bytes of a SQLite file. */
  image?: Uint8Array;
  /** Connections to the server; readers of a SQLite file. */
  poolSize?: number;
  /** How long a server may be silent before a connection to it is given up; ms, 10,000. */
  silenceMs?: number;
  /** How long a server may take to greet; left out: 10 s, or `silenceMs` where that is less. */
  greetingMs?: number;
  /** 32 bytes: DATABASE_ENCRYPTION_KEY. */
  encryptionKey: Uint8Array;
  /** Earlier keys, while values sealed under them are left. */
  olderEncryptionKeys?: readonly Uint8Array[];
  log?: DatabaseLog;
  /** The writer if a transaction names no other; left out: the gateway itself. */
  origin?: Origin;
}

/** A server and how to sign in to it. */
interface Server {
  host: string;
  port: number;
  database: string;
  username: string;
  password: string;
}

/** Opens a database and proves that it answers. */
export async function connectDatabase(options: DatabaseOptions): Promise<Database> {
  const keyring = new Keyring(options.encryptionKey, options.olderEncryptionKeys);
  const database = options.url?.startsWith('sqlite:')
    ? openSqlite(options.url.slice('sqlite:'.length), options, keyring)
    : openMysql(serverOf(options), options, keyring, (await import('mysql2')).default);
  try {
    await database.sequelize.authenticate();
    return database;
  } catch (error) {
    await database.close();
    throw refusedAtDoor(error, database.sequelize.getDatabaseName()) ?? error;
  }
}

function openSqlite(path: string, options: DatabaseOptions, keyring: Keyring): Database {
  const file = path === ':memory:' ? prepareMemoryFile(options.image ?? null) : prepareFile(path);
  const sequelize = new Sequelize({
    dialect: 'sqlite',
    // Else Sequelize asks for a package; its connections are replaced below.
    dialectModule: {},
    storage: file.path,
    transactionType: Transaction.TYPES.IMMEDIATE,
    ...shared,
  });
  const version = useSqliteConnections(sequelize, file.path, options.poolSize ?? POOL_SIZE);
  orderStatements(sequelize);
  return assemble({ kind: 'sqlite', sequelize, options, keyring, discard: file.discard, version });
}

function openMysql(
  server: Server,
  options: DatabaseOptions,
  keyring: Keyring,
  driver: object,
): Database {
  const silenceMs = options.silenceMs ?? SILENCE_MS;
  const sequelize = new Sequelize({
    dialect: 'mysql',
    // By its name Sequelize would not find it in the bundle.
    dialectModule: driver,
    ...server,
    timezone: '+00:00',
    dialectOptions: {
      ...mysqlDialectOptions,
      ...tlsOptions(options.tls ?? null),
      // However long its statements may take, a server greets at once.
      connectTimeout: options.greetingMs ?? Math.min(silenceMs, SILENCE_MS),
    },
    pool: { max: options.poolSize ?? POOL_SIZE, acquire: ACQUIRE_TIMEOUT_MS, idle: IDLE_MS },
    ...shared,
  });
  useMysqlQueries(sequelize);
  const collation = useMysqlSessions(sequelize, silenceMs);
  return assemble({ kind: 'mysql', sequelize, options, keyring, collation });
}

const shared = {
  // Statements hold keys and hashes: they are never logged.
  logging: false,
  // Whole transactions are rerun (storage/rerun.ts); half of one must not be.
  retry: { max: 1 },
} as const;

function assemble(parts: {
  kind: Database['kind'];
  sequelize: Sequelize;
  options: DatabaseOptions;
  keyring: Keyring;
  collation?: () => string;
  discard?: () => void;
  version?: () => number | null;
}): Database {
  const { kind, sequelize, options, keyring } = parts;
  keepValuesOutOfErrors(sequelize);
  refuseUntrackedWrites(sequelize);
  endTransactionsQuietly(sequelize, options.log ?? null);
  return new Database({
    kind,
    sequelize,
    keyring,
    models: bindTables({ sequelize, keyring }),
    log: options.log ?? null,
    origin: options.origin ?? GATEWAY,
    collation: parts.collation ?? (() => ''),
    discard: parts.discard ?? (() => undefined),
    version: parts.version ?? (() => null),
  });
}

function serverOf(options: DatabaseOptions): Server {
  if (options.url === undefined || options.url === null) {
    if (!options.host) throw new Error('A database needs a url or a host');
    return {
      host: options.host,
      port: options.port ?? 3306,
      database: options.name ?? 'postern',
      username: options.user ?? 'postern',
      password: options.password ?? '',
    };
  }
  const url = new URL(options.url);
  if (url.protocol !== 'mysql:' && url.protocol !== 'mariadb:')
    throw new Error('A database url begins with sqlite:, mysql:// or mariadb://');
  if (url.search !== '')
    throw new Error(`The database url takes no parameters, it has ${url.search}`);
  return {
    // A URL has an IPv6 address in brackets; the driver takes it without them.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 3306 : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}
