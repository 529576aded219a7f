// Change tracking: hooks on the tables that gateways act upon collect (table, id) of every row that
// a transaction touches; `writeTransaction` appends them at its end. A write that cannot be tracked
// is refused: a write outside such a transaction, a write with hooks off, an operation that does
// not name its rows. docs/state.md#writes.

import {
  type DestroyOptions,
  type Model,
  type ModelStatic,
  type QueryOptions,
  QueryTypes,
  type Sequelize,
  type Transaction,
  type UpdateOptions,
} from 'sequelize';
import { outermost } from './statement-order.ts';

/** How many rows one bulk operation may touch; more are done in parts. */
export const BULK_ROWS_MAX = 10_000;

/** A row that a transaction touched. */
export interface Change {
  table: string;
  id: string;
}

/** A state of the database; each committed change makes the next. Never mixed with other counts. */
export type Revision = number & { readonly brand: 'revision' };

/** The revision of a database that nothing was ever written to; below every other. */
export const NO_REVISION = 0 as Revision;

/** The changes of one transaction, each row once. */
export interface ChangeCollector {
  changes: Map<string, Change>;
  /** Statements that go with the end of the transaction, so that they cost no round trip. */
  readonly last: (() => Promise<unknown>)[];
  /** True once the changes are appended: nothing may follow. */
  sealed: boolean;
}

/** A write that would have left no trace; a mistake of the caller, never of a user. */
export class UntrackedWriteError extends Error {
  override name = 'UntrackedWriteError';
}

type Options = { transaction?: Transaction | null | undefined; hooks?: boolean };

const collectors = new WeakMap<Transaction, ChangeCollector>();
const trackedTables = new WeakSet<object>();

const WRITES: ReadonlySet<string> = new Set([
  QueryTypes.INSERT,
  QueryTypes.UPDATE,
  QueryTypes.BULKUPDATE,
  QueryTypes.BULKDELETE,
  QueryTypes.DELETE,
  QueryTypes.UPSERT,
]);

/** Begins to collect the changes of a transaction. */
export function collectChanges(transaction: Transaction): ChangeCollector {
  const collector = { changes: new Map<string, Change>(), last: [], sealed: false };
  collectors.set(transaction, collector);
  return collector;
}

/**
 * Tracks every write of one table; called once, when the table is bound to its database. `names`:
 * the attribute that its change rows have as the id.
 */
export function trackTable(
  model: ModelStatic<Model>,
  names: string = model.primaryKeyAttribute,
): void {
  trackedTables.add(model);
  const record = (row: Model, options: Options): void => {
    add(collectorOf(model, options), model, row.get(names));
  };
  model.addHook('beforeCreate', (_row, options) => void collectorOf(model, options));
  model.addHook('beforeUpdate', (_row, options) => void collectorOf(model, options));
  model.addHook('beforeDestroy', (_row, options) => void collectorOf(model, options));
  model.addHook('afterCreate', record);
  model.addHook('afterUpdate', record);
  model.addHook('afterDestroy', record);
  model.addHook('beforeBulkCreate', (_rows, options) => {
    collectorOf(model, options);
    if (options.updateOnDuplicate !== undefined) refuse(model, 'bulkCreate with updateOnDuplicate');
  });
  model.addHook('afterBulkCreate', (rows, options) => {
    for (const row of rows) record(row, options);
  });
  model.addHook('beforeBulkDestroy', (options) => nameRowsToDestroy(model, names, options));
  Object.assign(model, {
    update: (values: object, options: UpdateOptions) => updateEach(model, values, options),
    upsert: async () => refuse(model, 'upsert'),
    increment: async () => refuse(model, 'increment'),
    decrement: async () => refuse(model, 'decrement'),
    truncate: async () => refuse(model, 'truncate'),
  });
}

/** Adds a statement about an untracked table to what a transaction asks for at its end. */
export function addLast(
  model: ModelStatic<Model>,
  options: Options,
  statement: () => Promise<unknown>,
): void {
  collectorOf(model, options).last.push(statement);
}

/** The second net: refuses writes of tracked tables that the hooks would not see. */
export function refuseUntrackedWrites(sequelize: Sequelize): void {
  sequelize.addHook('beforeQuery', (options: QueryOptions) => {
    const { instance, model = instance?.constructor } = options as QueryOptions & {
      model?: ModelStatic<Model>;
    };
    if (model === undefined || !trackedTables.has(model)) return;
    if (!WRITES.has(options.type ?? '')) return;
    collectorOf(model as ModelStatic<Model>, options as Options);
  });
}

function collectorOf(model: ModelStatic<Model>, options: Options): ChangeCollector {
  const collector = options.transaction && collectors.get(outermost(options.transaction));
  if (!collector) return refuse(model, 'a write outside writeTransaction');
  if (collector.sealed) return refuse(model, 'a write after the end of its writeTransaction');
  if (options.hooks === false) return refuse(model, 'a write with hooks off');
  return collector;
}

function add(collector: ChangeCollector, model: ModelStatic<Model>, id: unknown): void {
  const table = model.tableName;
  collector.changes.set(`${table}/${String(id)}`, { table, id: String(id) });
}

function refuse(model: ModelStatic<Model>, what: string): never {
  throw new UntrackedWriteError(`${model.tableName}: ${what} would leave no change row`);
}

/** Reads and locks the rows that a bulk delete means, so that it deletes exactly those. */
async function nameRowsToDestroy(
  model: ModelStatic<Model>,
  names: string,
  options: DestroyOptions,
): Promise<void> {
  const collector = collectorOf(model, options);
  if (options.truncate === true || options.limit !== undefined)
    refuse(model, 'a bulk delete by truncate or limit');
  const key = model.primaryKeyAttribute;
  const rows = await model.findAll({
    attributes: [key, names],
    where: options.where ?? {},
    transaction: options.transaction ?? null,
    lock: true,
    limit: BULK_ROWS_MAX + 1,
    raw: true,
  });
  refuseTooMany(model, rows.length);
  const values = rows as unknown as Record<string, unknown>[];
  for (const row of values) add(collector, model, row[names]);
  options.where = { [key]: values.map((row) => String(row[key])) };
}

/**
 * Stands for `Model.update`: reads and locks the rows, then saves each one that really changes.
 * One UPDATE for all would move `updated_at` of rows that stay the same, and would seal one
 * ciphertext for many records.
 */
async function updateEach(
  model: ModelStatic<Model>,
  values: object,
  options: UpdateOptions,
): Promise<[affectedCount: number]> {
  collectorOf(model, options);
  if (options?.where === undefined) throw new TypeError('A bulk update needs a where');
  const transaction = options.transaction ?? null;
  const rows = await model.findAll({
    where: options.where,
    transaction,
    lock: true,
    limit: BULK_ROWS_MAX + 1,
  });
  refuseTooMany(model, rows.length);
  let affectedCount = 0;
  for (const row of rows) {
    row.set(values);
    if (row.changed() === false) continue;
    await row.save({ transaction });
    affectedCount += 1;
  }
  return [affectedCount];
}

function refuseTooMany(model: ModelStatic<Model>, count: number): void {
  if (count > BULK_ROWS_MAX)
    throw new RangeError(
      `${model.tableName}: one bulk operation touches at most ${BULK_ROWS_MAX} rows`,
    );
}
