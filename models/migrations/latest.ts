// The schema that all migrations together make in an empty SQLite file, as one text:
// latest.sqlite.sql. New files and databases in memory begin as this, because the steps take longer
// than the rest of a start: they rebuild tables that an earlier step made. `npm run schema` writes
// the text.

import { readFileSync } from 'node:fs';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import type { SqliteConnection } from '../storage/sqlite-connection.ts';

/** The file of the text. */
export const LATEST = new URL('./latest.sqlite.sql', import.meta.url);

const HEADER = `-- What the migrations make of an empty SQLite file. Generated: npm run schema.
`;
/** The time of running, as storage/time.ts writes one. */
const NOW = "strftime('%Y-%m-%d %H:%M:%f +00:00', 'now')";

/** Reads the text: statements that make the schema and its first rows in an empty file. */
export function readLatest(): string {
  return readFileSync(LATEST, 'utf8');
}

/**
 * Gives a new SQLite database the schema of the text, all of it or nothing. False where something
 * is there already, and on other databases: their steps run.
 */
export async function beginAsLatest(database: Database): Promise<boolean> {
  if (database.kind !== 'sqlite') return false;
  const { sequelize } = database;
  // The transaction takes the lock of writers at once: of several processes one finds it empty.
  return sequelize.transaction(async (transaction) => {
    const options = { ...plainSelect(), transaction };
    const [found] = await sequelize.query<{ count: number }>(
      'SELECT count(*) AS count FROM sqlite_master',
      options,
    );
    if (found?.count !== 0) return false;
    const { connection } = transaction as unknown as { connection: SqliteConnection };
    await connection.executeAll(readLatest());
    return true;
  });
}

/** Writes the text again, from a SQLite database that was migrated and holds nothing else. */
export async function latestOf(database: Database): Promise<string> {
  const objects = await select<{ type: string; name: string; sql: string }>(
    database,
    `SELECT type, name, sql FROM sqlite_master
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`,
  );
  const isPassive = ({ type }: { type: string }): boolean => type === 'table' || type === 'index';
  const rows: string[] = [];
  for (const { type, name } of objects)
    if (type === 'table') rows.push(...(await rowsOf(database, name)));
  const statements = [
    ...objects.filter(isPassive).map(({ sql }) => sql),
    ...rows,
    // A trigger must not see the first rows: what it does to them is among them already.
    ...objects.filter((object) => !isPassive(object)).map(({ sql }) => sql),
  ];
  return HEADER + statements.map((statement) => `${statement};\n`).join('');
}

/** Statements that insert the rows of a table; times are those of their running. */
async function rowsOf(database: Database, table: string): Promise<string[]> {
  const columns = await select<{ name: string; type: string }>(
    database,
    `SELECT name, type FROM pragma_table_info('${table}') ORDER BY cid`,
  );
  const values = columns.map(({ name, type }) =>
    type === 'DATETIME'
      ? `CASE WHEN ${name} IS NULL THEN 'NULL' ELSE '${NOW.replaceAll("'", "''")}' END`
      : `quote(${name})`,
  );
  const rows = await select<{ row: string }>(
    database,
    `SELECT ${values.join(` || ', ' || `)} AS row FROM ${table} ORDER BY 1`,
  );
  const names = columns.map(({ name }) => name).join(', ');
  return rows.map(({ row }) => `INSERT INTO ${table} (${names}) VALUES (${row})`);
}

function select<Row extends object>(database: Database, sql: string): Promise<Row[]> {
  return database.sequelize.query<Row>(sql, plainSelect());
}
