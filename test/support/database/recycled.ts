// Databases of MariaDB that one test after another of a process uses: the migrations take longer than
// most test bodies. A test that ends gives its database back, and it becomes again what the
// migrations made.

import mysql, { type RowDataPacket } from 'mysql2';
import type { Connection } from 'mysql2/promise';
import { type Database, migrate } from '../../../models/index.ts';
import { runMissingSteps } from '../../../models/migrations/index.ts';

/** What the migrations make of an empty database. */
interface Made {
  /** All columns as one text: what a test changes of them shows here. */
  columns: string;
  tables: readonly string[];
  /** Rows of tables that are not empty. */
  rows: readonly { table: string; rows: readonly RowDataPacket[] }[];
}

/** URLs of databases that wait for the next test. */
const waiting: string[] = [];
let made: Made | null = null;

/** The URL of a database that a test gave back, or null. */
export function takeRecycled(): string | null {
  return waiting.pop() ?? null;
}

/** Migrates the database at `url`, an empty one or a recycled one, for a test. */
export async function migrateForTest(database: Database, url: string): Promise<void> {
  if (made === null) {
    // Before the encryption key leaves its mark: each test has its own.
    await runMissingSteps(database);
    made = await connected(url, read);
  }
  await migrate(database);
}

/**
 * Empties a database that a test gave back and keeps it for the next one. Returns false where the test
 * changed its tables: nobody else can use it.
 */
export async function recycle(url: string): Promise<boolean> {
  return connected(url, async (connection) => {
    if (made === null || (await columnsOf(connection)).text !== made.columns) return false;
    const statements = [
      'SET foreign_key_checks = 0',
      ...made.tables.map((table) => `DELETE FROM ${table}`),
      ...made.rows.flatMap(({ table, rows }) => [
        // A row may have come to it by a trigger just now.
        `DELETE FROM ${table}`,
        ...rows.map((row) => mysql.format(`INSERT INTO ${table} SET ?`, [row])),
      ]),
    ];
    await connection.query(statements.join('; '));
    waiting.push(url);
    return true;
  });
}

async function read(connection: Connection): Promise<Made> {
  const { text, tables } = await columnsOf(connection);
  const rows: Made['rows'][number][] = [];
  for (const table of tables) {
    const [found] = await connection.query<RowDataPacket[]>(`SELECT * FROM ${table}`);
    if (found.length > 0) rows.push({ table, rows: found });
  }
  return { columns: text, tables, rows };
}

async function columnsOf(connection: Connection): Promise<{ text: string; tables: string[] }> {
  const [rows] = await connection.query<RowDataPacket[]>(
    `SELECT table_name AS name, column_name, column_type FROM information_schema.columns
     WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`,
  );
  const tables = new Set(rows.map(({ name }) => String(name)));
  return { text: JSON.stringify(rows), tables: [...tables] };
}

/** Runs on a connection of its own, which reads values as texts, so that none changes on the way. */
async function connected<T>(url: string, run: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = mysql
    .createConnection({
      uri: url.replace(/^mariadb:/, 'mysql:'),
      multipleStatements: true,
      dateStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
    })
    .promise();
  try {
    return await run(connection);
  } finally {
    await connection.end();
  }
}
