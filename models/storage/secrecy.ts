// Keeps secrets from getting out by accident. Errors of Sequelize hold the statement, its values
// and the whole row, and loggers print errors with everything in them; a row becomes JSON wherever
// somebody forgets to pick its fields. This file removes the values from errors, and the secrets
// from JSON.

import {
  type BaseError,
  type Model,
  type ModelStatic,
  type Sequelize,
  ValidationError,
} from 'sequelize';

/** An error of a driver, with what drivers and Sequelize add to it. */
interface DriverError extends Error {
  sql?: string;
  sqlMessage?: string;
  parameters?: unknown;
}

/** What is used of Sequelize's query: the place where drivers' errors become Sequelize's. */
interface DialectQuery {
  formatError(error: DriverError, stack?: string): BaseError;
}

type DialectQueryClass = new (...parts: unknown[]) => DialectQuery;

/** Keeps statements and values out of the errors of this Sequelize; the kinds of errors stay. */
export function keepValuesOutOfErrors(sequelize: Sequelize): void {
  const { dialect } = sequelize as unknown as { dialect: { Query: DialectQueryClass } };
  dialect.Query = class extends dialect.Query {
    override formatError(error: DriverError, stack?: string): BaseError {
      error.sql = beginOf(error.sql ?? '');
      delete error.parameters;
      error.message = withoutEntry(error.message);
      if (error.sqlMessage !== undefined) error.sqlMessage = withoutEntry(error.sqlMessage);
      const formatted = super.formatError(error, stack);
      takeRowsOut(formatted);
      return formatted;
    }
  };
  const hooks = sequelize as unknown as {
    addHook(name: string, hook: (row: Model, options: object, error: Error) => void): void;
  };
  hooks.addHook('validationFailed', (_row, _options, error) => takeRowsOut(error));
}

/**
 * The verb and the table of a statement, such as `INSERT INTO users`: enough to find it, and never
 * a value, because all names stand before the first string.
 */
export function beginOf(sql: string): string {
  const [names = ''] = sql.split("'", 1);
  const verb = /^\s*(\w*)/.exec(names)?.[1] ?? '';
  const place = /\b(FROM|INTO|UPDATE|TABLE)\s+(?:IF (?:NOT )?EXISTS )?[`"]?(\w+)/i.exec(names);
  return [...new Set([verb, ...(place?.slice(1) ?? [])])].join(' ');
}

/** Leaves columns out when a row of this table becomes JSON; reading them by name is as before. */
export function keepOutOfJson(model: ModelStatic<Model>, columns: readonly string[]): void {
  Object.assign(model.prototype as Model, {
    toJSON(this: Model): object {
      // Not plain: rows that were included become JSON by their own rule.
      const entries = Object.entries(this.get() as object);
      return Object.fromEntries(entries.filter(([name]) => !columns.includes(name)));
    },
  });
}

/** MySQL quotes the value that was there already; the name of the index is what matters. */
function withoutEntry(message: string): string {
  return message.replace(/Duplicate entry '[\s\S]*' for key/, "Duplicate entry '…' for key");
}

function takeRowsOut(error: Error): void {
  if (!(error instanceof ValidationError)) return;
  for (const item of error.errors) Object.assign(item, { instance: null, value: null });
  if ('fields' in error && error.fields !== null && !Array.isArray(error.fields))
    error.fields = Object.fromEntries(
      Object.keys(error.fields as object).map((name) => [name, null]),
    );
}
