// Reads of one row on the main thread, for one SQLite file: a trip to the thread in which SQLite
// works takes two to three times as long as such a read. A text is short when SQLite's own plan
// finds each row by a whole unique key, so that no read takes long, whatever its values are. From
// its second time on, such a text is read here. All other statements go to the thread.

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { rowsOf } from './sqlite-calls.ts';

/** Texts that are remembered; the one used longest ago gives way. */
const TEXTS_MAX = 200;
/** A longer text may hold a list of many keys. */
const LENGTH_MAX = 4_000;
/** A text in quotes, with `= ` before it where it is compared; names in quotes are passed over. */
const QUOTED = /(= )?'((?:[^']|'')*)'|"[^"]*"|`[^`]*`/g;
/** A line of a plan that finds one row by an index, and the columns that it compares. */
const BY_INDEX =
  /^SEARCH \S+ USING (?:COVERING )?INDEX (?<index>\S+) \((?<keys>[^<>]*)\)(?: LEFT-JOIN)?$/;
/** A line of a plan that costs nothing by itself, or finds one row by its number. */
const CHEAP = [
  /^SEARCH \S+ USING INTEGER PRIMARY KEY \(rowid=\?\)(?: LEFT-JOIN)?$/,
  /^SCAN CONSTANT ROW$/,
  /^SCALAR SUBQUERY \d+$/,
];

/** The file that is read; `assertInPlace` throws where another one has its name by now. */
interface ReadFile {
  readonly path: string;
  assertInPlace(): void;
}

type Values = Record<string, string | number | bigint | null>;

/** A statement that is short; `null`: the text goes to the thread; `undefined`: it came once. */
type Known = StatementSync | null | undefined;

/** Reads of one row from one file. */
export class ShortReads {
  readonly #file: ReadFile;
  readonly #texts = new Map<string, Known>();
  #database: DatabaseSync | null = null;
  #version: StatementSync | null = null;
  #isClosed = false;

  constructor(file: ReadFile) {
    this.#file = file;
  }

  /**
   * The rows of a statement; null: the thread shall read them, or say what is wrong. `isShort`: who
   * asks knows that it is.
   */
  read(sql: string, parameters: unknown, isShort: boolean): Record<string, unknown>[] | null {
    if (this.#isClosed || sql.length > LENGTH_MAX || !sql.startsWith('SELECT')) return null;
    const values = valuesOf(parameters);
    if (values === null) return null;
    const text = lift(sql, values);
    try {
      const statement = this.#statementOf(text, isShort);
      if (!statement) return null;
      const rows = statement.all(values) as unknown as unknown[][];
      const names = rows.length === 0 ? [] : statement.columns().map(({ name }) => name);
      return rowsOf(names, rows.flat());
    } catch {
      // For example a locked file, for which this thread must not wait.
      return null;
    }
  }

  /** A number that every commit to the file changes, whoever makes it; null: it is not known. */
  version(): number | null {
    if (this.#isClosed) return null;
    try {
      const database = (this.#database ??= open(this.#file));
      this.#version ??= database.prepare('PRAGMA data_version');
      return Number(this.#version.get()?.['data_version']);
    } catch {
      return null;
    }
  }

  /** Ends the connection; before those of the thread, of which the last one writes. */
  close(): void {
    this.#isClosed = true;
    this.#database?.close();
    this.#database = null;
    this.#version = null;
    this.#texts.clear();
  }

  #statementOf(text: string, isShort: boolean): Known {
    // A text that comes once is not worth a plan.
    const isWorth = isShort || this.#texts.has(text);
    let known = this.#texts.get(text);
    this.#texts.delete(text);
    if (known === undefined && isWorth) known = this.#examine(text, isShort);
    this.#texts.set(text, known);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > TEXTS_MAX && oldest !== undefined) this.#texts.delete(oldest);
    return known;
  }

  /** The statement of a text that is short. */
  #examine(text: string, isShort: boolean): StatementSync | null {
    const database = (this.#database ??= open(this.#file));
    if (!isShort) {
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
      if (!plan.every(({ detail }) => isOneRow(database, String(detail)))) return null;
    }
    const statement = database.prepare(text);
    statement.setReturnArrays(true);
    return statement;
  }
}

function open(file: ReadFile): DatabaseSync {
  file.assertInPlace();
  // Without the mode an absent file would be made.
  const database = new DatabaseSync(`${pathToFileURL(file.path).href}?mode=rw`, { timeout: 0 });
  database.exec('PRAGMA query_only = ON; PRAGMA trusted_schema = OFF');
  return database;
}

/** Values that are bound here as in the thread; null: there are others. */
function valuesOf(parameters: unknown): Values | null {
  const values: Values = {};
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (Array.isArray(parameters)) return null;
    if (typeof value === 'string') values[name] = value;
    else if (typeof value === 'number' && (value | 0) === value) values[name] = BigInt(value);
    else return null;
  }
  return values;
}

/** Takes what is compared out of a text, so that statements of one form have one text. */
function lift(sql: string, values: Values): string {
  // A comment may hold half a pair of quotes.
  if (sql.includes('--') || sql.includes('/*')) return sql;
  let count = 0;
  return sql.replace(QUOTED, (all, compared?: string, text?: string) => {
    if (compared === undefined || text === undefined) return all;
    const name = `$lifted${count}`;
    count += 1;
    values[name] = text.replaceAll("''", "'");
    return `= ${name}`;
  });
}

/** True for a line of a plan that yields one row at most. */
function isOneRow(database: DatabaseSync, line: string): boolean {
  if (CHEAP.some((cheap) => cheap.test(line))) return true;
  const { index, keys } = BY_INDEX.exec(line)?.groups ?? {};
  if (index === undefined || keys === undefined) return false;
  const unique = database
    .prepare(
      `SELECT COUNT(*) AS columns FROM sqlite_schema AS tables,
         pragma_index_list(tables.name) AS list, pragma_index_info(list.name)
       WHERE tables.type = 'table' AND list.name = ? AND list."unique" = 1`,
    )
    .get(index);
  return unique?.['columns'] === keys.split(' AND ').length;
}
