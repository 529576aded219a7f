// What can be done with Postern, as plain values: one for each operation. The API makes its routes
// of them, the OpenAPI document its paths, and a dry run finds there what it tries. Each room of
// the domain exports its own; README.md says how to add one.

import type Joi from 'joi';
import { ApiError } from '../http/errors.ts';
import { isFaultless, type Judge, type Judged, type Mode } from '../judge/judge.ts';
import { sentOnce } from '../judge/query.ts';
import type { Caller } from '../process/caller.ts';
import type { Filters, Listed, Selected } from '../records/collection.ts';
import type { Shown } from '../records/shown.ts';
import type { AskedPage } from './id-pages.ts';
import type { Scope } from './scopes.ts';

/** The method of an operation. Whoever can send PATCH can send PUT: both are one operation. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** What a part of a path may be. */
export interface Param {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The parameters after the question mark, and how they are read; `read` throws their errors. */
export interface Query<Asked> {
  readonly schemas: Readonly<Record<string, Joi.Schema>>;
  read(sent: URLSearchParams): Asked;
}

/** The record that a request holds. */
export interface Body<Values> {
  /** What it is in: `{"rule": {…}}`. */
  readonly wrapper: string;
  /** Of its schema in the OpenAPI document, before `Create` or `Update`. */
  readonly title: string;
  readonly fields: Joi.ObjectSchema;
  readonly judge: Judge<Values>;
  readonly mode: Mode;
  /** The most bytes; BODY_BYTES_MAX where it is left out. */
  readonly maxBytes?: number;
}

/** What is answered. */
export interface Answer {
  readonly description: string;
  /** Of its schema in the OpenAPI document. */
  readonly title: string;
  readonly fields: Joi.ObjectSchema;
}

/** What was sent of an operation, read and validated. */
export interface Input<Values, Asked = object> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Asked;
  /** The domain throws its errors together with those that only the database knows. */
  readonly body: Judged<Values>;
}

interface Base<Asked> {
  /** Unique: `updateRule`. */
  readonly id: string;
  readonly method: Method;
  /** With `{name}` for each of `params`. */
  readonly path: string;
  readonly tag: string;
  /** The scopes that open it beside `admin`. */
  readonly scopes: readonly Scope[];
  readonly params?: Readonly<Record<string, Param>>;
  readonly query?: Query<Asked>;
  readonly summary: string;
  readonly description?: string;
  /** Statuses of errors beside those of its kind: 404, where the path names no record. */
  readonly errors?: readonly number[];
}

/** An operation that changes something. */
export interface Write<in Rooms, Values, Asked> extends Base<Asked> {
  readonly kind: 'write';
  readonly body?: Body<Values>;
  /** Null: nothing is answered, because what was there is gone. */
  readonly answer: Answer | null;
  /** The address of what was made; an operation that has it answers 201. */
  readonly placeOf?: (made: Shown) => string;
  /** Whether a dry run may try it. */
  readonly isTriable?: boolean;
  readonly run: (
    rooms: Rooms,
    caller: Caller,
    input: Input<Values, Asked>,
  ) => Promise<Shown | null>;
}

/** An operation that reads one record, or asks something. */
export interface Read<in Rooms, Values, Asked> extends Base<Asked> {
  readonly kind: 'read';
  readonly body?: Body<Values>;
  readonly answer: Answer;
  /** Whether several records are answered. */
  readonly isSeveral?: boolean;
  readonly run: (
    rooms: Rooms,
    caller: Caller,
    input: Input<Values, Asked>,
  ) => Promise<Shown | readonly Shown[]>;
}

/** A list that is answered as a whole, or in pages where that is asked for. */
export interface List<in Rooms> extends Base<object> {
  readonly kind: 'list';
  readonly answer: Answer;
  readonly filters: Filters<Selected>;
  readonly listed: (rooms: Rooms) => Listed;
}

/** The part of a list that is wanted. */
export interface PageWanted<Asked> extends Omit<Input<object, Asked>, 'body'> {
  readonly limit: number;
  /** The id of the last record of the page before; null: the first page. */
  readonly afterId: string | null;
}

/** A list that is always answered in pages, in the order of the ids of its records. */
export interface Pages<in Rooms, Asked> extends Base<Asked> {
  readonly kind: 'pages';
  readonly query: Query<Asked>;
  readonly answer: Answer;
  /** Reads a page of at most so many records. */
  readonly page: (rooms: Rooms, wanted: PageWanted<Asked>) => Promise<readonly Shown[]>;
}

/** What can be done; `Rooms` are the rooms of the domain that it needs. */
export type Operation<Rooms> =
  | Write<Rooms, unknown, unknown>
  | Read<Rooms, unknown, unknown>
  | List<Rooms>
  | Pages<Rooms, AskedPage>;

/** An operation that `perform` can run. */
export type Performed<Rooms> = Extract<Operation<Rooms>, { kind: 'write' | 'read' }>;

// What a body and a query yield is of interest between them and `run` alone, so the makers below
// see that they fit, and forget it.

/** Makes an operation that changes something. */
export function write<Rooms, Values = object, Asked = object>(
  operation: Omit<Write<Rooms, Values, Asked>, 'kind'>,
): Operation<Rooms> {
  return { kind: 'write', ...operation } as unknown as Operation<Rooms>;
}

/** Makes an operation that reads. */
export function read<Rooms, Values = object, Asked = object>(
  operation: Omit<Read<Rooms, Values, Asked>, 'kind'>,
): Operation<Rooms> {
  return { kind: 'read', ...operation } as unknown as Operation<Rooms>;
}

/** Makes a list that is always answered in pages. */
export function pages<Rooms, Asked extends AskedPage = AskedPage>(
  operation: Omit<Pages<Rooms, Asked>, 'kind'>,
): Operation<Rooms> {
  return { kind: 'pages', ...operation } as unknown as Operation<Rooms>;
}

/** The parameters of a query that are validated together; each of them may be sent once. */
export function queryOf<Asked>(fields: Joi.ObjectSchema, judge: Judge<Asked>): Query<Asked> {
  const { keys = {} } = fields.describe() as { keys?: object };
  return {
    schemas: Object.fromEntries(Object.keys(keys).map((name) => [name, fields.extract(name)])),
    read(sent) {
      const { values, faults } = judge(sentOnce(sent), 'update');
      if (!isFaultless(faults)) throw new ApiError('unprocessable', { faults });
      return values;
    },
  };
}

/** The part of a path that is the UUID of a record. */
export const UUID_PARAM: Readonly<Record<'id', Param>> = {
  id: { description: 'In any case.', schema: { type: 'string', format: 'uuid' } },
};
