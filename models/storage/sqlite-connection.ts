// One connection to a SQLite file. Each trip to sqlite3's threads costs as much as a small
// statement itself, so statements that come again stay prepared: one trip instead of two.
// Statements run one by one in the order of asking, so that a ROLLBACK never overtakes one.

import { ConnectionError } from 'sequelize';
import sqlite3 from 'sqlite3';
import { BUSY_TIMEOUT_MS, isBusy } from './rerun.ts';

/** Prepared statements kept per connection; the one used longest ago gives way. */
const PREPARED_MAX = 100;

/** `run` for statements without rows, `all` for the others. */
export type Method = 'run' | 'all';

/** What a statement came to; `error` is null when it went well. */
export interface Outcome {
  error: Error | null;
  rows: unknown[];
  /** Knows `changes` and `lastID` after a `run`. */
  statement: sqlite3.RunResult;
}

/** A connection; Sequelize sets `uuid` to name the transaction that uses it. */
export class SqliteConnection {
  uuid: string | undefined;
  readonly #sqlite: sqlite3.Database;
  readonly #prepared = new Map<string, sqlite3.Statement>();
  readonly #onBusy: () => void;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(sqlite: sqlite3.Database, onBusy: () => void) {
    this.#sqlite = sqlite;
    this.#onBusy = onBusy;
  }

  /** Opens an existing file and runs the pragmas; `onBusy` hears of statements that met a lock. */
  static async open(
    path: string,
    pragmas: readonly string[],
    onBusy: () => void = () => undefined,
  ): Promise<SqliteConnection> {
    const sqlite = await new Promise<sqlite3.Database>((resolve, reject) => {
      const opened = new sqlite3.Database(path, sqlite3.OPEN_READWRITE, (error) =>
        error === null ? resolve(opened) : reject(new ConnectionError(error)),
      );
    });
    const connection = new SqliteConnection(sqlite, onBusy);
    try {
      await runPragmas(sqlite, pragmas);
      return connection;
    } catch (error) {
      await connection.close();
      throw new ConnectionError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Runs a statement after those that were asked for before it. Never rejects. */
  execute(method: Method, sql: string, parameters: unknown): Promise<Outcome> {
    const outcome = this.#last.then(async () => {
      const found = comesAgain(sql, parameters)
        ? await this.#executePrepared(method, sql, parameters)
        : await this.#executeOnce(method, sql, parameters);
      if (isBusy(found.error)) this.#onBusy();
      return found;
    });
    this.#last = outcome;
    return outcome;
  }

  /** Lets running statements end, then closes; an open transaction is rolled back. */
  async close(): Promise<void> {
    await this.#last;
    for (const statement of this.#prepared.values())
      await new Promise<void>((resolve) => void statement.finalize(() => resolve()));
    this.#prepared.clear();
    await new Promise<void>((resolve, reject) => {
      this.#sqlite.close((error) => (error === null ? resolve() : reject(error)));
    });
  }

  #executeOnce(method: Method, sql: string, parameters: unknown): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#sqlite[method](sql, parameters, answer(resolve));
    });
  }

  async #executePrepared(method: Method, sql: string, parameters: unknown): Promise<Outcome> {
    const statement = this.#prepared.get(sql) ?? (await this.#prepare(sql));
    // A text that cannot be prepared fails once more, with the error for the caller.
    if (statement === null) return this.#executeOnce(method, sql, parameters);
    this.#prepared.delete(sql);
    this.#prepared.set(sql, statement);
    const outcome = await new Promise<Outcome>((resolve) => {
      statement[method](parameters, answer(resolve));
    });
    if (outcome.error !== null) this.#forget(sql);
    return outcome;
  }

  async #prepare(sql: string): Promise<sqlite3.Statement | null> {
    const statement = await new Promise<sqlite3.Statement | null>((resolve) => {
      const made = this.#sqlite.prepare(sql, (error: Error | null) =>
        resolve(error === null ? made : null),
      );
    });
    const [oldest] = this.#prepared.keys();
    if (this.#prepared.size >= PREPARED_MAX && oldest !== undefined) this.#forget(oldest);
    return statement;
  }

  #forget(sql: string): void {
    this.#prepared.get(sql)?.finalize();
    this.#prepared.delete(sql);
  }
}

function answer(resolve: (outcome: Outcome) => void) {
  return function (this: sqlite3.RunResult, error: Error | null, rows?: unknown[]): void {
    resolve({ error, rows: rows ?? [], statement: this });
  };
}

/** True for texts that hold no values: those of transactions, and those with parameters. */
function comesAgain(sql: string, parameters: unknown): boolean {
  if (/^(BEGIN|COMMIT|ROLLBACK)\b/.test(sql)) return true;
  return Object.keys(parameters ?? {}).length > 0;
}

async function runPragmas(sqlite: sqlite3.Database, pragmas: readonly string[]): Promise<void> {
  const sql = pragmas.map((pragma) => `PRAGMA ${pragma};`).join('\n');
  // Switching to WAL takes a lock for which SQLite does not wait, so that two processes that open
  // a fresh file together can collide; the busy_timeout set by then covers everything else.
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const error = await new Promise<Error | null>((resolve) => void sqlite.exec(sql, resolve));
    if (error === null) return;
    if (attempt === 20 || performance.now() - startedAt >= BUSY_TIMEOUT_MS) throw error;
    await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 40));
  }
}
