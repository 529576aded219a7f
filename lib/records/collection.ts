// What every kind of records has, for API and console: how one is judged and shown, by what a list
// can be filtered, what the operations do, and what they need of the server. Each kind is a room of
// its own: devices, users, rules.

import type { Request } from '@hapi/hapi';
import type Joi from 'joi';
import type { Selection } from '../../models/index.ts';
import { isUuid } from '../judge/fields.ts';
import type { Judge, Judged } from '../judge/judge.ts';
import type { Shared } from '../process/shared.ts';
import type { FixedSettings } from './effective-configuration.ts';
import type { Recall, Source } from './recall.ts';
import type { Shown } from './shown.ts';
import type { Writes } from './writes.ts';

/** What the records of one server share. */
export interface RecordContext {
  readonly services: Pick<Shared, 'config' | 'database'>;
  readonly recall: Recall;
  readonly writes: Writes;
  /** What the environment fixes of the configuration. */
  readonly fixed: FixedSettings;
}

/** What a filter may say of the records to read. */
export type Narrow = Pick<Selection, 'userId' | 'emailKey'>;

/** A parameter that filters a list: it leaves the records that have a value. */
export interface Filter<Narrow> {
  readonly schema: Joi.Schema;
  /** What the value selects; null when no record can have it. */
  select(value: string): Narrow | null;
}

/** Filters by their parameters. */
export type Filters<Narrow> = Readonly<Record<string, Filter<Narrow>>>;

/** Records that can be listed. */
export interface Listed {
  /** In paths: `users`. */
  readonly name: string;
  readonly filters: Filters<Narrow>;
  /** The tables that a list is made of. */
  readonly sources: readonly Source[];
  /** How long a list may be remembered, where it shows what leaves no changes. */
  readonly keepMs?: number;
  /** Oldest first, by `inserted_at`, then `id`. */
  list(selection: Selection): Promise<Shown[]>;
}

/** A kind of records, and what happens to them. An unknown id is an ApiError, `not_found`. */
export interface Collection<Values> extends Listed {
  /** In bodies: `user`. */
  readonly wrapper: string;
  readonly judge: Judge<Values>;
  show(id: string): Promise<Shown>;
  create(request: Request, input: Judged<Values>): Promise<Shown>;
  update(request: Request, id: string, input: Judged<Values>): Promise<Shown>;
  remove(request: Request, id: string): Promise<void>;
}

/** What the filter `user_id` selects; nobody has an id that is none. */
export function selectOwner(id: string): Narrow | null {
  return isUuid(id) ? { userId: id.toLowerCase() } : null;
}
