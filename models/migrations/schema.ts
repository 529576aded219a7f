// The functions that migrations use: they make tables and indexes only if these are absent, so that
// a step can run again after a crash at any statement. A server may still work on the last
// statement of a process that died, and have finished it when our statement has its turn. Released
// migrations depend on these functions; never change their meaning.

import {
  DataTypes,
  type ModelAttributeColumnOptions,
  type ModelAttributes,
  QueryTypes,
} from 'sequelize';
import type { Database } from '../database/database.ts';
import { driverError } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** A table to be made: its columns, and what must be unique or quickly found in it. */
export interface TableSchema {
  columns: ModelAttributes;
  /** Lists of columns; the index is called `<table>_<column>_<column>`. */
  unique?: readonly (readonly string[])[];
  /** Lists of columns, named likewise. */
  indexes?: readonly (readonly string[])[];
}

/** Makes a table with all its indexes, or those parts of it that are missing. */
export async function createTable(
  database: Database,
  table: string,
  schema: TableSchema,
): Promise<void> {
  const queries = database.sequelize.getQueryInterface();
  const uniqueKeys = Object.fromEntries(
    (schema.unique ?? []).map((fields) => [
      indexName(table, fields),
      { fields: [...fields], customIndex: true },
    ]),
  );
  // CREATE TABLE IF NOT EXISTS, unique keys within it: one atomic statement on both databases.
  await queries.createTable(table, schema.columns, {
    uniqueKeys,
    ...(database.kind === 'mysql'
      ? { engine: 'InnoDB', charset: 'utf8mb4', collate: database.collation }
      : {}),
  });
  for (const fields of schema.indexes ?? []) await addIndex(database, table, fields);
}

/** Adds an index to a table, unless the index exists. */
export async function addIndex(
  database: Database,
  table: string,
  fields: readonly string[],
): Promise<void> {
  const queries = database.sequelize.getQueryInterface();
  const present = (await queries.showIndex(table)) as { name: string }[];
  const name = indexName(table, fields);
  if (present.every((index) => index.name !== name))
    await unlessThere('ER_DUP_KEYNAME', queries.addIndex(table, [...fields], { name }));
}

/** Adds a column to a table, unless the column exists. */
export async function addColumn(
  database: Database,
  table: string,
  column: string,
  options: ModelAttributeColumnOptions,
): Promise<void> {
  const queries = database.sequelize.getQueryInterface();
  const present = await readColumns(database, table);
  if (present.every(({ name }) => name !== column))
    await unlessThere('ER_DUP_FIELDNAME', queries.addColumn(table, column, options));
}

/** Adds a column that a server computes and does not keep; `definition` is SQL of both servers. */
export async function addComputedColumn(
  { sequelize }: Database,
  table: string,
  column: string,
  definition: string,
): Promise<void> {
  const sql = `ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`;
  await unlessThere('ER_DUP_FIELDNAME', sequelize.query(sql));
}

/** A column that holds values of its own. */
export interface ColumnThere {
  readonly name: string;
  /** As the database calls it. */
  readonly type: string;
  readonly allowNull: boolean;
  readonly primaryKey: boolean;
}

/** Reads the columns of a table; Sequelize cannot where SQLite has an index of an expression. */
export async function readColumns(database: Database, table: string): Promise<ColumnThere[]> {
  const sql =
    database.kind === 'sqlite'
      ? `SELECT name, type, NOT "notnull" AS optional, pk > 0 AS in_key
         FROM pragma_table_info(:table) ORDER BY cid`
      : `SELECT COLUMN_NAME AS name, UPPER(COLUMN_TYPE) AS type, IS_NULLABLE = 'YES' AS optional,
           COLUMN_KEY = 'PRI' AS in_key FROM information_schema.COLUMNS
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :table AND EXTRA NOT LIKE '%VIRTUAL%'
         ORDER BY ORDINAL_POSITION`;
  const rows = await database.sequelize.query<{
    name: string;
    type: string;
    optional: number;
    in_key: number;
  }>(sql, { ...plainSelect(), replacements: { table } });
  return rows.map(({ name, type, optional, in_key: inKey }) => ({
    name,
    type,
    allowNull: Number(optional) === 1,
    primaryKey: Number(inKey) === 1,
  }));
}

/** Makes room for longer text in a column that is never null; SQLite takes text of any length. */
export async function widenText(
  database: Database,
  table: string,
  column: string,
  characters: number,
): Promise<void> {
  if (database.kind === 'sqlite') return;
  const type = DataTypes.STRING(characters);
  const queries = database.sequelize.getQueryInterface();
  await queries.changeColumn(table, column, { type, allowNull: false });
}

/** Waits for a statement; it is also good if the things that it makes exist by now. */
async function unlessThere(code: string, made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (driverError(error).code !== code) throw error;
  }
}

/** Inserts a row unless one with its key is there. */
export async function insertIfAbsent(
  database: Database,
  table: string,
  row: Record<string, string | number>,
): Promise<void> {
  const verb = database.kind === 'sqlite' ? 'INSERT OR IGNORE' : 'INSERT IGNORE';
  const columns = Object.keys(row).join(', ');
  await database.sequelize.query(`${verb} INTO ${table} (${columns}) VALUES (:values)`, {
    replacements: { values: Object.values(row) },
    type: QueryTypes.INSERT,
  });
}

/** Text that may grow to megabytes; MySQL's TEXT ends at 64 KiB. */
export function longText(
  database: Database,
): typeof DataTypes.TEXT | ReturnType<typeof DataTypes.TEXT> {
  return database.kind === 'mysql' ? DataTypes.TEXT('long') : DataTypes.TEXT;
}

function indexName(table: string, fields: readonly string[]): string {
  return [table, ...fields].join('_');
}
