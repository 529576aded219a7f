// How a statement of Sequelize runs on MySQL and MariaDB here. The server may be far away, so what
// can travel together does: a transaction's beginning goes with its first statement, and statements
// that it asks for in one moment go as one text, in their order. The server stops at the first that
// fails. A cluster gets them one by one: it may end a transaction between two statements of a text,
// and tells nobody (sendOneByOne). Values are written into the text, because a prepared statement
// is two trips on each connection. decisions/2026-11-23-statements-together.md.

import { nextTick } from 'node:process';
import { type Sequelize, Transaction } from 'sequelize';
import { singleStatement } from './single-statement.ts';
import { outermost } from './statement-order.ts';

const ER_LOCK_DEADLOCK = 1213;
/** Longer texts are sent in parts, because servers limit how much they take at once. */
const TOGETHER_CHARACTERS_MAX = 262_144;
/** What a transaction begins with. */
const BEGINNING = /^(?:SET TRANSACTION ISOLATION LEVEL|START TRANSACTION)\b/;

/** What is used of a connection of mysql2. */
interface Connection {
  query(sql: string, done: (error: Error | null, results: unknown) => void): Command;
}

/** What is used of a command of mysql2: it tells when the answer to a statement begins. */
interface Command {
  on(name: 'fields', listener: () => void): void;
}

/** Connections whose statements do not go together. */
const separate = new WeakSet<object>();

/**
 * Sends the statements of a connection one by one. A node of a cluster ends a transaction when
 * another node was first, at any time; the next text from us is refused for it, but what
 * follows a statement in the same text would run outside any transaction and never be undone.
 */
export function sendOneByOne(connection: object): void {
  separate.add(connection);
}

/** What is used of Sequelize's query for MySQL; version 6 is at its end and stays as it is. */
interface DialectQuery {
  sql: string;
  connection: Connection;
  options: { transaction?: Transaction | null };
  formatError(error: Error): Error;
  formatResults(data: unknown): unknown;
}

type DialectQueryClass = (new (...parts: unknown[]) => DialectQuery) & {
  formatBindParameters(sql: string, values: unknown, dialect: string): [string, unknown];
};

/** Puts this way in the place of Sequelize's own. */
export function useMysqlQueries(sequelize: Sequelize): void {
  const { dialect } = sequelize as unknown as { dialect: { Query: DialectQueryClass } };
  const lines = new WeakMap<Connection, Line>();
  const lineOf = (connection: Connection): Line => {
    const line = lines.get(connection) ?? new Line(connection);
    lines.set(connection, line);
    return line;
  };
  // The code that all dialects share writes the values into the text.
  const shared = Object.getPrototypeOf(dialect.Query) as DialectQueryClass;
  dialect.Query = class extends dialect.Query {
    static override formatBindParameters(
      sql: string,
      values: unknown,
      name: string,
    ): [string, unknown] {
      return shared.formatBindParameters(sql, values, name);
    }

    async run(sql: string): Promise<unknown> {
      this.sql = sql;
      // Where Sequelize asks for the version, a plain object stands for a transaction.
      const { transaction: asked } = this.options;
      const transaction = asked instanceof Transaction ? asked : null;
      const line = lineOf(this.connection);
      const single = singleStatement(sql);
      try {
        return this.formatResults(
          await (transaction === null ? line.alone(single) : line.inTransaction(single)),
        );
      } catch (error) {
        if (transaction !== null && isDeadlock(error)) await endTransaction(transaction);
        throw this.formatError(error as Error);
      }
    }
  };
}

interface Waiting {
  readonly sql: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The statements of one connection. */
class Line {
  readonly #connection: Connection;
  /** What the transaction begins with, until its first statement is sent. */
  #beginning: string[] = [];
  #waiting: Waiting[] = [];
  #isSending = false;
  /** Whether the server is in a transaction. */
  #isOpen = false;
  /** Why the transaction can only be rolled back. */
  #error: unknown = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Runs a statement outside any transaction. */
  async alone(sql: string): Promise<unknown> {
    return (await this.#ask([sql]))[0];
  }

  /** Runs a statement of a transaction, together with those that it asks for in this moment. */
  async inTransaction(sql: string): Promise<unknown> {
    if (BEGINNING.test(sql)) {
      this.#beginning.push(sql);
      return [];
    }
    const isEnd = sql === 'COMMIT' || sql === 'ROLLBACK';
    if (isEnd && !this.#isOpen && this.#waiting.length === 0) {
      // Nothing was sent since the beginning, or the end was.
      this.#beginning = [];
      return [];
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ sql, resolve, reject });
    // The next tick comes when all that can be asked for without waiting is here.
    if (!this.#isSending) nextTick(() => void this.#sendAll());
    return promise;
  }

  async #sendAll(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#waiting.length > 0) await this.#send(this.#take());
    this.#isSending = false;
  }

  /** What goes next: a rollback by itself, and a commit behind all that was asked for with it. */
  #take(): Waiting[] {
    const [first] = this.#waiting;
    if (first?.sql === 'ROLLBACK') return this.#waiting.splice(0, 1);
    const isCommit = ({ sql }: Waiting): boolean => sql === 'COMMIT';
    const rest = this.#waiting.filter((one) => !isCommit(one));
    this.#waiting = [...rest, ...this.#waiting.filter(isCommit)];
    let characters = 0;
    const end = this.#waiting.findIndex(({ sql }, i) => {
      characters += sql.length;
      return i > 0 && (characters > TOGETHER_CHARACTERS_MAX || sql === 'ROLLBACK');
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #send(together: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#askWithin(together.map(({ sql }) => sql));
      for (const [i, { resolve }] of together.entries()) resolve(results[i]);
    } catch (error) {
      // Others ran before the failing one, or wait behind it: none of them may stand without it.
      const isAlone = together.length === 1 && this.#waiting.length === 0;
      if (!isAlone || failedToBegin(error)) this.#error ??= error;
      if (isDeadlock(error)) this.#isOpen = false;
      for (const { reject } of together) reject(error);
    }
  }

  /** Asks within the transaction; refused once it has ended, or can only be rolled back. */
  async #askWithin(statements: readonly string[]): Promise<unknown[]> {
    const beginning = this.#beginning;
    const [last] = statements.slice(-1);
    if (beginning.length > 0) {
      this.#beginning = [];
      this.#isOpen = true;
      this.#error = null;
    }
    if (this.#error !== null && last !== 'ROLLBACK') throw this.#error;
    // Rolled back by the server itself.
    if (!this.#isOpen && last === 'ROLLBACK') return [[]];
    if (!this.#isOpen) throw new Error('The transaction of this statement has ended');
    const results = await this.#ask([...beginning, ...statements]);
    if (last === 'COMMIT' || last === 'ROLLBACK') this.#isOpen = false;
    return results.slice(beginning.length);
  }

  /** A result for each statement; none is sent behind one that failed. */
  async #ask(statements: readonly string[]): Promise<unknown[]> {
    if (!separate.has(this.#connection)) return this.#askAtOnce(statements);
    const results: unknown[] = [];
    for (const statement of statements) results.push(...(await this.#askAtOnce([statement])));
    return results;
  }

  /** One round trip. */
  #askAtOnce(statements: readonly string[]): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      let answered = 0;
      const command = this.#connection.query(statements.join('; '), (error, results) => {
        // Errors name the statement that failed, not the first of all.
        if (error !== null) reject(Object.assign(error, { sql: statements[answered] }));
        else resolve(statements.length === 1 ? [results] : (results as unknown[]));
      });
      command.on('fields', () => (answered += 1));
    });
  }
}

/** Ends a transaction for Sequelize that the server ended by itself, so that it refuses more. */
async function endTransaction(transaction: Transaction): Promise<void> {
  const ending = outermost(transaction) as Transaction & { finished?: string };
  if (ending.finished === undefined) await ending.rollback();
}

/** True when the server may not be in a transaction at all: what follows would stand at once. */
function failedToBegin(error: unknown): boolean {
  return BEGINNING.test((error as { sql?: string }).sql ?? '');
}

function isDeadlock(error: unknown): boolean {
  return (error as { errno?: number }).errno === ER_LOCK_DEADLOCK;
}
