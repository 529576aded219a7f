// What every kind of records offers to API and console: how a record is validated and shown, the
// filters of a list, the operations, and what they need of the server. Each kind is a room of its
// own: devices, users, rules.

import type Joi from 'joi';
import type { Model, ModelStatic, Selection, Transaction } from '../../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import { isUuid } from '../validation/fields.ts';
import type { Errors, Validated, Validator } from '../validation/validate.ts';
import type { Caller } from '../process/caller.ts';
import type { Shared } from '../process/shared.ts';
import type { FixedSettings } from './effective-configuration.ts';
import type { Recall, Source } from './recall.ts';
import type { Shown } from './shown.ts';
import { refuseErrors, type RunsWrites } from './writes.ts';

/**
 * How long a list may be remembered that shows what gateways observe: they report it once a second,
 * without a change row, and it may be little older than that.
 */
export const OBSERVED_KEEP_MS = 200;

/** What the records of one server share. */
export interface RecordContext {
  readonly services: Pick<Shared, 'config' | 'database'>;
  readonly recall: Recall;
  readonly writes: RunsWrites;
  /** What the environment fixes of the configuration. */
  readonly fixed: FixedSettings;
}

/** How a filter selects records. */
export interface Selected extends Pick<Selection, 'userId' | 'groupId' | 'emailKey'> {
  /** Devices whose client's file is out of date, or is not. */
  readonly isFileOld?: boolean;
}

/** A parameter that filters a list: it leaves the records that have a value. */
export interface Filter<Selected> {
  readonly schema: Joi.Schema;
  /** What the value selects; null if no record can have it. */
  select(value: string): Selected | null;
}

/** Filters by their parameters. */
export type Filters<Selected> = Readonly<Record<string, Filter<Selected>>>;

/** Records that can be listed. */
export interface Listed {
  /** The name in paths: `users`. */
  readonly name: string;
  readonly filters: Filters<Selected>;
  /** The tables that a list is made of. */
  readonly sources: readonly Source[];
  /** How long a list may be remembered, if it shows values that change without a change row. */
  readonly keepMs?: number;
  /** Reads records, the oldest first: by `inserted_at`, then by `id`. */
  list(selection: Selection & Selected): Promise<Shown[]>;
}

/**
 * Reads and locks the record with the id of a path. Where there is none, throws the errors of the
 * body if they are given, else `not_found`. docs/api.md#order-of-checks.
 */
export async function lockRecord<Row extends Model>(
  table: ModelStatic<Row>,
  id: string,
  transaction: Transaction,
  errors: Errors = {},
): Promise<Row> {
  const row = isUuid(id)
    ? await table.findByPk(id.toLowerCase(), { transaction, lock: true })
    : null;
  if (row !== null) return row;
  refuseErrors(errors);
  throw new ApiError('not_found');
}

/** A kind of records, and what happens to them. An unknown id is an ApiError, `not_found`. */
export interface Collection<Values> extends Listed {
  readonly validate: Validator<Values>;
  show(id: string): Promise<Shown>;
  /** `force`: whether rules are written though policy tests fail then. */
  create(caller: Caller, input: Validated<Values>, force?: boolean): Promise<Shown>;
  update(caller: Caller, id: string, input: Validated<Values>, force?: boolean): Promise<Shown>;
  remove(caller: Caller, id: string): Promise<void>;
}

/** What the filter `user_id` selects; null if the text is not an id, so that nobody can have it. */
export function selectOwner(id: string): Selected | null {
  return isUuid(id) ? { userId: id.toLowerCase() } : null;
}
