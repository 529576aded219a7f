// One consistent look at everything that a backup carries, page by page, so that a large database
// needs no more memory than a small one. Writers are not held up.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { BELONGINGS } from '../queries/removed-history.ts';
import { plainSelect } from '../storage/select.ts';
import { readTransaction } from '../database/transaction.ts';
import { readCatalogue, type Table } from './catalogue.ts';
import { selectable, type Value, valueOf } from './values.ts';

/** Rows that are read at once; an audit entry may have 100 KB. */
const PAGE_ROWS = 250;

/** Rows of one table, each with its values in the order of the table's columns. */
export interface Page {
  readonly table: Table;
  readonly rows: readonly (readonly Value[])[];
}

/** All tables with as many rows as they have. */
export interface Snapshot {
  readonly tables: readonly (Table & { readonly count: number })[];
  /** The rows of all tables, in the tables' order and in that of their keys. */
  readonly pages: () => AsyncGenerator<Page>;
}

/** Calls `use` with the database as it is now; what others write meanwhile is not seen. */
export async function withSnapshot<T>(
  database: Database,
  use: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const catalogue = await readCatalogue(database);
  return readTransaction(database, async (transaction) => {
    const tables: Snapshot['tables'][number][] = [];
    for (const table of catalogue)
      tables.push({ ...table, count: await countRows(database, table, transaction) });
    return use({
      tables,
      pages: async function* () {
        for (const table of tables) yield* pagesOf(database, table, transaction);
      },
    });
  });
}

async function countRows(
  database: Database,
  { name }: Table,
  transaction: Transaction,
): Promise<number> {
  const [row] = await database.sequelize.query<{ count: number }>(
    `SELECT COUNT(*) AS count FROM ${name} WHERE ${isOwned(name)}`,
    plainSelect(transaction),
  );
  return row?.count ?? 0;
}

async function* pagesOf(
  database: Database,
  table: Table,
  transaction: Transaction,
): AsyncGenerator<Page> {
  const keyAt = table.key.map((key) => table.columns.findIndex(({ name }) => name === key));
  let after: Record<string, Value> | null = null;
  for (;;) {
    const rows: Value[][] = await readPage(database, table, after, transaction);
    if (rows.length > 0) yield { table, rows };
    const last = rows.at(-1);
    if (rows.length < PAGE_ROWS || last === undefined) return;
    after = Object.fromEntries(keyAt.map((column, i) => [`k${i}`, last[column] ?? null]));
  }
}

async function readPage(
  database: Database,
  { name, columns, key }: Table,
  after: Record<string, Value> | null,
  transaction: Transaction,
): Promise<Value[][]> {
  const { kind } = database;
  const expressions = columns.map((column) => selectable(kind, column.name, column.kind));
  const selected =
    kind === 'sqlite'
      ? `json_array(${expressions.join(', ')}) AS json`
      : expressions.map((expression, i) => `${expression} AS c${i}`).join(', ');
  const found = await database.sequelize.query<Record<string, unknown>>(
    `SELECT ${selected} FROM ${name} WHERE ${isOwned(name)} ${after === null ? '' : `AND (${isAfter(key)})`}
     ORDER BY ${key.join(', ')} LIMIT ${PAGE_ROWS}`,
    { ...plainSelect(transaction), ...(after === null ? {} : { replacements: after }) },
  );
  return found.map((row) => {
    const raw = kind === 'sqlite' ? (JSON.parse(row['json'] as string) as unknown[]) : null;
    return columns.map((column, i) => {
      const value = valueOf(column.kind, raw === null ? row[`c${i}`] : raw[i]);
      if (value === undefined)
        throw new Error(`${name}.${column.name} holds a value that is no ${column.kind}`);
      return value;
    });
  });
}

/** What removed devices and rules left is nobody's, until it is deleted. */
function isOwned(name: string): string {
  const found = BELONGINGS.find(({ table }) => table === name);
  if (found === undefined) return '1 = 1';
  const { owners, subject } = found;
  return `EXISTS (SELECT 1 FROM ${owners} WHERE ${owners}.id = ${name}.${subject})`;
}

/** What follows a key of several columns, said so that an index serves. */
function isAfter(key: readonly string[], at = 0): string {
  const [column = '', ...rest] = key;
  if (rest.length === 0) return `${column} > :k${at}`;
  return `${column} >= :k${at} AND (${column} > :k${at} OR (${isAfter(rest, at + 1)}))`;
}
