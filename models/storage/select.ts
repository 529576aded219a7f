// Reading rows past Sequelize's models, where speed counts. On SQLite each row comes as one JSON
// text that SQLite's own thread writes: a cell of its own for every column costs the main thread
// three times as long. On MySQL the driver is fast, but Sequelize's way with dates is not, so
// dates come as text. README.md has the figures.

import { QueryTypes, type Sequelize, type Transaction } from 'sequelize';
import { type DatabaseKind, parseSqlTime } from './time.ts';

/** How the value of a column becomes that of a row: as it is, a Date, a boolean, parsed JSON. */
export type ColumnKind = 'plain' | 'time' | 'flag' | 'json';

/** What of a database is needed to read it. */
export interface Readable {
  readonly kind: DatabaseKind;
  readonly sequelize: Sequelize;
}

/** Where rows of one kind come from. */
export interface RowSource<Row> {
  table: string;
  join?: string;
  columns: Record<keyof Row & string, ColumnKind>;
}

/** What of a source to read; the texts are ours, the values come as replacements. */
export interface RowQuery {
  /** True: the rows come page by page, so the index of their order must lead. */
  paged: boolean;
  /** Which index leads, in the words of the database, where the query knows it. */
  index?: string;
  where: string;
  order: string;
  limit: string;
  replacements: Record<string, unknown>;
  transaction: Transaction | undefined;
}

type Value = string | number | null;

/** Makes the options of a plain SELECT, whose rows come as the driver gives them. */
export function plainSelect(transaction?: Transaction | null): {
  type: QueryTypes.SELECT;
  raw: true;
  transaction: Transaction | null;
} {
  return { type: QueryTypes.SELECT, raw: true, transaction: transaction ?? null };
}

/**
 * Makes the options of a plain SELECT that is always short: on SQLite the main thread reads it.
 * What finds its rows by a unique key needs no such word.
 */
export function shortSelect(transaction?: Transaction | null): ReturnType<typeof plainSelect> {
  return Object.assign(plainSelect(transaction), { isShort: true });
}

/** Reads rows of a source, each value as its column's kind says. */
export async function selectRows<Row>(
  database: Readable,
  source: RowSource<Row>,
  query: RowQuery,
): Promise<Row[]> {
  const columns = Object.entries<ColumnKind>(source.columns);
  const expressions = columns.map(([name, kind]) => expressionOf(database, source, name, kind));
  const selected =
    database.kind === 'sqlite'
      ? `json_array(${expressions.join(', ')}) AS json`
      : columns.map(([name], index) => `${expressions[index]} AS c${index}_${name}`).join(', ');
  const { where, order, limit, replacements, transaction } = query;
  // MySQL would rather sort the whole table for each page than follow the index.
  const hint =
    query.paged && database.kind === 'mysql'
      ? `FORCE INDEX (${source.table}_inserted_at_id)`
      : (query.index ?? '');
  const found = await database.sequelize.query<Record<string, Value>>(
    `SELECT ${selected} FROM ${source.table} ${hint} ${source.join ?? ''}
     ${where} ${order} ${limit}`,
    { ...plainSelect(transaction), replacements },
  );
  const lists =
    database.kind === 'sqlite'
      ? (JSON.parse(`[${found.map(({ json }) => json).join(',')}]`) as Value[][])
      : found.map((row) => Object.values(row));
  return lists.map((values) => toRow<Row>(columns, values));
}

function toRow<Row>(columns: [string, ColumnKind][], values: Value[]): Row {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index += 1) {
    const [name, kind] = columns[index] as [string, ColumnKind];
    row[name] = convert(kind, values[index] ?? null);
  }
  return row as Row;
}

function convert(kind: ColumnKind, value: Value): unknown {
  if (value === null) return null;
  switch (kind) {
    case 'plain':
      return value;
    case 'flag':
      return value === 1;
    case 'time':
      return parseSqlTime(String(value));
    case 'json':
      return JSON.parse(String(value));
  }
}

/** Only `id` and the timestamps stand in more than one table. */
function expressionOf<Row>(
  database: Readable,
  source: RowSource<Row>,
  name: string,
  kind: ColumnKind,
): string {
  const column = name === 'id' ? `${source.table}.id` : name;
  return kind === 'time' && database.kind === 'mysql' ? `CAST(${column} AS CHAR)` : column;
}
