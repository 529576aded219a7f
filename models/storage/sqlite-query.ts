// How a statement of Sequelize runs on SQLite here. Sequelize's own way asks SQLite for the column
// types before every SELECT and writes out a stack trace for every statement, in case it fails;
// together they cost more than the statement. The types are known from the tables' classes, and
// an error made after an await knows its callers by itself.

import type { Model, ModelStatic, Sequelize } from 'sequelize';
import type { Method, SqliteConnection } from './sqlite-connection.ts';

/** What is used of Sequelize's query for SQLite; version 6 is at its end and stays as it is. */
interface DialectQuery {
  sql: string;
  connection: SqliteConnection;
  getDatabaseMethod(): Method;
  _handleQueryResponse(
    statement: object,
    columnTypes: Record<string, Record<string, string>>,
    error: Error | null,
    rows: unknown[],
  ): unknown;
}

type DialectQueryClass = new (...parts: unknown[]) => DialectQuery;

/** Puts the shorter way in the place of Sequelize's own. */
export function useSqliteQueries(sequelize: Sequelize): void {
  const { dialect } = sequelize as unknown as { dialect: { Query: DialectQueryClass } };
  let columnTypes: Record<string, Record<string, string>> | null = null;
  class SqliteQuery extends dialect.Query {
    async run(sql: string, parameters: unknown): Promise<unknown> {
      // Sequelize marks what SQLite has no statement for as a comment.
      if (sql.startsWith('-- ')) return undefined;
      this.sql = sql;
      columnTypes ??= columnTypesOf(sequelize);
      const method = this.getDatabaseMethod();
      const { error, rows, statement } = await this.connection.execute(method, sql, parameters);
      // Sequelize rolls back what never began, or what SQLite ended by itself on a full disk.
      if (error !== null && /^ROLLBACK\b/.test(sql) && isNothingOpen(error)) return undefined;
      return this._handleQueryResponse(statement, columnTypes, error, rows);
    }
  }
  dialect.Query = SqliteQuery;
}

function isNothingOpen(error: Error): boolean {
  return error.message.includes('no transaction is active');
}

/** SQL types by table and column: Sequelize turns text into a Date where the type says so. */
function columnTypesOf(sequelize: Sequelize): Record<string, Record<string, string>> {
  const models = Object.values(sequelize.models) as ModelStatic<Model>[];
  return Object.fromEntries(
    models.map((model) => [
      model.tableName,
      Object.fromEntries(
        Object.entries(model.getAttributes()).map(([column, { type }]) => [
          column,
          typeof type === 'string' ? type : (type as { toSql(): string }).toSql(),
        ]),
      ),
    ]),
  );
}
