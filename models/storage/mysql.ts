// MySQL and MariaDB underneath Sequelize, both through mysql2: what a connection is given at its
// start. Text is compared by code point, trailing spaces included (docs/api.md#values), so the
// collation is the binary one without padding where the server has one.

import type { Socket } from 'node:net';
import type { Sequelize } from 'sequelize';
import { sendOneByOne } from './mysql-query.ts';

/** How long a statement waits for a row lock before error 1205; the transaction then reruns. */
const LOCK_WAIT_SECONDS = 5;

/** Collations by code point, the best first; `utf8mb4_bin` alone ignores trailing spaces. */
const COLLATIONS = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin', 'utf8mb4_bin'];

// STRICT: a value that does not fit is an error, never a silent cut. Given in full, so that no
// server's own mode (ANSI_QUOTES, NO_BACKSLASH_ESCAPES) changes what our escaping means.
const SQL_MODE = [
  'STRICT_ALL_TABLES',
  'NO_ZERO_IN_DATE',
  'NO_ZERO_DATE',
  'ERROR_FOR_DIVISION_BY_ZERO',
  'NO_ENGINE_SUBSTITUTION',
].join(',');

/** Options of mysql2: utf8mb4 on the wire, bounded waiting, and what mysql-query.ts needs. */
export const mysqlDialectOptions = {
  charset: 'utf8mb4',
  connectTimeout: 10_000,
  multipleStatements: true,
};

/** TLS to a server; all texts are PEM. */
export interface DatabaseTls {
  /** True: its certificate must be valid and name the host. */
  readonly verifies: boolean;
  /** Certificates that are trusted; null: those of public authorities. */
  readonly ca: string | null;
  /** Ours, and its key. */
  readonly cert: string | null;
  readonly key: string | null;
}

/** TLS as mysql2 takes it. A server that does not speak it is refused, not asked in the clear. */
export function tlsOptions(tls: DatabaseTls | null): object {
  if (tls === null) return {};
  const { verifies, ca, cert, key } = tls;
  const files = Object.entries({ ca, cert, key }).filter(([, text]) => text !== null);
  return {
    ssl: {
      rejectUnauthorized: verifies,
      verifyIdentity: verifies,
      minVersion: 'TLSv1.2',
      ...Object.fromEntries(files),
    },
  };
}

/** What is needed of a mysql2 connection. */
interface MysqlConnection {
  readonly stream: Socket;
  query(sql: string, done: (error: Error | null, rows: unknown) => void): void;
}

/**
 * Lets every new connection begin with our modes, and end when the server is silent for so long: a
 * server that hangs takes statements and never answers. Returns the collation that tables get.
 */
export function useMysqlSessions(sequelize: Sequelize, silenceMs: number): () => string {
  let collation = 'utf8mb4_bin';
  sequelize.addHook('afterConnect', async (opened) => {
    const connection = opened as MysqlConnection;
    const { stream } = connection;
    // An unused connection ends as well; the pool opens another one.
    stream.setTimeout(silenceMs, () => {
      const error = new Error(`the database did not answer for ${silenceMs} ms`);
      stream.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
    });
    collation = await bestCollation(connection);
    if (await isInCluster(connection)) sendOneByOne(connection);
    await run(
      connection,
      `SET NAMES utf8mb4 COLLATE ${collation}, SESSION sql_mode = '${SQL_MODE}', ` +
        `SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}; ` +
        'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
    );
  });
  return () => collation;
}

async function bestCollation(connection: MysqlConnection): Promise<string> {
  const names = COLLATIONS.map((name) => `'${name}'`).join(', ');
  const rows = await run(
    connection,
    `SELECT COLLATION_NAME AS name FROM information_schema.COLLATIONS
     WHERE COLLATION_NAME IN (${names})`,
  );
  const present = (rows as { name: string }[]).map((row) => row.name);
  return COLLATIONS.find((name) => present.includes(name)) ?? 'utf8mb4_bin';
}

/** Whether writers at other servers may end our transactions: Galera, or several primaries. */
async function isInCluster(connection: MysqlConnection): Promise<boolean> {
  const rows = (await run(
    connection,
    `SHOW VARIABLES WHERE Variable_name IN
     ('wsrep_on', 'group_replication_group_name', 'group_replication_single_primary_mode')`,
  )) as { Variable_name: string; Value: string }[];
  const values = new Map(rows.map(({ Variable_name: name, Value: value }) => [name, value]));
  const isGroup = (values.get('group_replication_group_name') ?? '') !== '';
  const hasOnePrimary = values.get('group_replication_single_primary_mode') === 'ON';
  return values.get('wsrep_on') === 'ON' || (isGroup && !hasOnePrimary);
}

function run(connection: MysqlConnection, sql: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    connection.query(sql, (error, rows) => (error === null ? resolve(rows) : reject(error)));
  });
}
