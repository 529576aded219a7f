// One connection to a SQLite file. SQLite works in a thread, and each trip there costs as much as a
// small statement; statements that come again stay prepared. Statements run one by one in the order
// of asking, so that a ROLLBACK never overtakes one. A statement that meets a lock is asked again
// from here, so that the thread never waits.

import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionError } from 'sequelize';
import { BUSY_TIMEOUT_MS, isBusy } from './rerun.ts';
import { askThread, type Found, nextConnection } from './sqlite-calls.ts';

/** Pauses before a statement that met a lock is asked again; the last one repeats. As in SQLite. */
const BUSY_PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/** `run` for statements without rows, `all` for the others. */
export type Method = 'run' | 'all';

/** The result of a statement; `error` is null when it succeeded. */
export interface Outcome {
  error: Error | null;
  rows: unknown[];
  /** After a `run`. */
  statement: { changes: number; lastID: number };
}

/** How a file is opened. */
export interface OpenOptions {
  /** True: no statement can damage the file. Our migrations need false, which is the default. */
  defensive?: boolean;
  /** True: a text in double quotes that is no name is a value, as in files of other programs. */
  enableDoubleQuotedStringLiterals?: boolean;
}

const NOTHING: Found = { rows: [], changes: 0, lastID: 0 };

/** A connection; Sequelize sets `uuid` to name the transaction that uses it. */
export class SqliteConnection {
  uuid: string | undefined;
  readonly #number = nextConnection();
  readonly #onBusy: () => void;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(onBusy: () => void) {
    this.#onBusy = onBusy;
  }

  /** Opens an existing file and runs the pragmas; `onBusy` hears of statements that met a lock. */
  static async open(
    path: string,
    pragmas: readonly string[],
    onBusy: () => void = () => undefined,
    options: OpenOptions = {},
  ): Promise<SqliteConnection> {
    const connection = new SqliteConnection(onBusy);
    try {
      // Without the mode an absent file would be made.
      const address = `${pathToFileURL(path).href}?mode=rw`;
      await askThread(connection.#number, 'open', address, options);
    } catch (error) {
      throw new ConnectionError(error as Error);
    }
    try {
      const sql = pragmas.map((pragma) => `PRAGMA ${pragma};`).join('\n');
      await unlessBusy(() => askThread(connection.#number, 'exec', sql));
      return connection;
    } catch (error) {
      await connection.close();
      throw new ConnectionError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Runs a statement after those that were asked for before it. Never rejects. */
  execute(method: Method, sql: string, parameters: unknown): Promise<Outcome> {
    const outcome = this.#last.then(async (): Promise<Outcome> => {
      try {
        const isKept = comesAgain(sql, parameters);
        const found = await unlessBusy(() =>
          askThread(this.#number, method, sql, parameters ?? [], isKept),
        );
        return { error: null, rows: found.rows, statement: found };
      } catch (error) {
        if (isBusy(error)) this.#onBusy();
        return { error: error as Error, rows: [], statement: NOTHING };
      }
    });
    this.#last = outcome;
    return outcome;
  }

  /** Runs all statements of a text, after those that were asked for before it. */
  async executeAll(text: string): Promise<void> {
    const done = this.#last.then(() => askThread(this.#number, 'exec', text));
    this.#last = done.catch(() => undefined);
    await done;
  }

  /** Lets running statements end, then closes; an open transaction is rolled back. */
  async close(): Promise<void> {
    await this.#last;
    await askThread(this.#number, 'close');
  }
}

/** True for texts that hold no values: those of transactions, and those with parameters. */
function comesAgain(sql: string, parameters: unknown): boolean {
  if (/^(BEGIN|COMMIT|ROLLBACK)\b/.test(sql)) return true;
  return Object.keys(parameters ?? {}).length > 0;
}

/**
 * Asks again while another program holds the file; a statement that met a lock has done nothing.
 * Opening is asked for again, too: SQLite waits for no lock when it switches to WAL.
 */
async function unlessBusy(ask: () => Promise<Found>): Promise<Found> {
  const startedAt = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedAt >= BUSY_TIMEOUT_MS) throw error;
      await sleep(BUSY_PAUSES_MS[Math.min(attempt, BUSY_PAUSES_MS.length - 1)]);
    }
  }
}
