// How a statement of Sequelize runs on SQLite here. Sequelize's own way asks SQLite for the column
// types before every SELECT and writes out a stack trace for every statement, in case it fails;
// together they cost more than the statement. The types are known from the tables' classes, and
// an error made after an await knows its callers by itself.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Model, ModelStatic, Sequelize, Transaction } from 'sequelize';
import { isDiskError } from './rerun.ts';
import type { ShortReads } from './short-reads.ts';
import type { Method, SqliteConnection } from './sqlite-connection.ts';
import { outermost } from './statement-order.ts';

/** What is used of Sequelize's query for SQLite; version 6 is at its end and stays as it is. */
interface DialectQuery {
  sql: string;
  connection: SqliteConnection;
  options: {
    transaction?: Transaction | null;
    completesTransaction?: boolean;
    isShort?: boolean;
  };
  getDatabaseMethod(): Method;
  _handleQueryResponse(
    statement: object,
    columnTypes: Record<string, Record<string, string>>,
    error: Error | null,
    rows: unknown[],
  ): unknown;
}

/**
 * Of so many reads on the main thread one waits for a turn of the event loop. Whoever reads again
 * and again until something has happened would else keep it from happening.
 */
const READS_PER_TURN = 64;

/** What a read changed. */
const READ = { changes: 0, lastID: 0 };

type DialectQueryClass = new (...parts: unknown[]) => DialectQuery;

/** Puts the shorter way in the place of Sequelize's own. */
export function useSqliteQueries(sequelize: Sequelize, shortReads: ShortReads): void {
  const { dialect } = sequelize as unknown as { dialect: { Query: DialectQueryClass } };
  const columnTypes: Record<string, Record<string, string>> = {};
  // Tables are bound one by one, each before the first statement about it.
  sequelize.addHook('afterDefine', (defined) => {
    const model = defined as unknown as ModelStatic<Model>;
    columnTypes[model.tableName] = columnTypesOf(model);
  });
  let reads = 0;
  class SqliteQuery extends dialect.Query {
    async run(sql: string, parameters: unknown): Promise<unknown> {
      // Sequelize marks what SQLite has no statement for as a comment.
      if (sql.startsWith('-- ')) return undefined;
      this.sql = sql;
      const method = this.getDatabaseMethod();
      const { transaction, completesTransaction, isShort } = this.options;
      // Reads of a transaction belong to its state of the database.
      const short = transaction ? null : shortReads.read(sql, parameters, isShort === true);
      if (short !== null) {
        reads = (reads + 1) % READS_PER_TURN;
        if (reads === 0) await nextTurn();
        return this._handleQueryResponse(READ, columnTypes, null, short);
      }
      const { error, rows, statement } = await this.connection.execute(method, sql, parameters);
      // Sequelize rolls back what never began, or what SQLite ended by itself on a full disk.
      if (error !== null && /^ROLLBACK\b/.test(sql) && isNothingOpen(error)) return undefined;
      if (transaction && completesTransaction !== true && isDiskError(error))
        await endTransaction(transaction);
      return this._handleQueryResponse(statement, columnTypes, error, rows);
    }
  }
  dialect.Query = SqliteQuery;
}

/**
 * Ends a transaction for Sequelize as well, as it does by itself on MySQL's deadlocks: statements
 * that follow are refused, where outside any transaction they would stand for good.
 */
async function endTransaction(transaction: Transaction): Promise<void> {
  const ending = outermost(transaction) as Transaction & { finished?: string };
  if (ending.finished === undefined) await ending.rollback();
}

function isNothingOpen(error: Error): boolean {
  return error.message.includes('no transaction is active');
}

/** SQL types by column: Sequelize turns text into a Date where the type says so. */
function columnTypesOf(model: ModelStatic<Model>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(model.getAttributes()).map(([column, { type }]) => [
      column,
      typeof type === 'string' ? type : (type as { toSql(): string }).toSql(),
    ]),
  );
}
