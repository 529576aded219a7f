// The operations of Postern as plain values, one for each. The API makes its routes of them, the
// OpenAPI document its paths, and a dry run finds there what it tries. Each room of the domain
// exports its own; README.md says how to add one.

import type Joi from 'joi';
import { ApiError } from '../http/errors.ts';
import { hasNoErrors, type Mode, type Validated, type Validator } from '../validation/validate.ts';
import type { FieldError } from '../validation/messages.ts';
import { sentOnce } from '../validation/query.ts';
import type { Caller } from '../process/caller.ts';
import type { Filters, Listed, Selected } from '../records/collection.ts';
import type { Shown } from '../records/shown.ts';
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
  /** The member of the body that holds the record: `{"rule": {…}}`. */
  readonly wrapper: string;
  /** The name of its schema in the OpenAPI document, before `Create` or `Update`. */
  readonly title: string;
  readonly fields: Joi.ObjectSchema;
  readonly validate: Validator<Values>;
  readonly mode: Mode;
  /** What is said of a body that holds something else; `blank` where it is left out. */
  readonly expected?: FieldError;
  /** The most bytes; BODY_BYTES_MAX where it is left out. */
  readonly maxBytes?: number;
}

/** What is answered. */
export interface Answer {
  readonly description: string;
  /** The name of its schema in the OpenAPI document. */
  readonly title: string;
  readonly fields: Joi.ObjectSchema;
}

/** What was sent of an operation, read and validated. */
export interface Input<Values, Asked = object> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Asked;
  /** The domain throws its errors together with those that only the database knows. */
  readonly body: Validated<Values>;
}

interface Base<Asked> {
  /** Unique: `updateRule`. */
  readonly id: string;
  readonly method: Method;
  /** With `{name}` for each of `params`. */
  readonly path: string;
  readonly tag: string;
  /** False: the API has no route for it; commands of the host perform it. */
  readonly isPublic?: false;
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
  readonly locationOf?: (made: Shown) => string;
  /** Whether a dry run may try it. */
  readonly isTriable?: boolean;
  readonly run: (
    rooms: Rooms,
    caller: Caller,
    input: Input<Values, Asked>,
  ) => Promise<Shown | null>;
}

/** An answer as a file for spreadsheets. */
export interface Csv<Answered> {
  /** Without its ending. */
  readonly fileName: string;
  readonly write: (answered: Answered) => string;
}

/** An operation that reads one record, or asks something. */
export interface Read<in Rooms, Values, Asked, Answered> extends Base<Asked> {
  readonly kind: 'read';
  readonly body?: Body<Values>;
  readonly answer: Answer;
  /** Whether several records are answered. */
  readonly isSeveral?: boolean;
  /** Answered in its place where `Accept` or the parameter `format` asks for it. */
  readonly csv?: Csv<Answered>;
  readonly run: (rooms: Rooms, caller: Caller, input: Input<Values, Asked>) => Promise<Answered>;
}

/** A list that is answered as a whole, or in pages where that is asked for. */
export interface List<in Rooms> extends Base<object> {
  readonly kind: 'list';
  readonly answer: Answer;
  readonly filters: Filters<Selected>;
  readonly listed: (rooms: Rooms) => Listed;
}

/** A part of a list. */
export interface Page {
  readonly records: readonly Shown[];
  /** Where the next page begins, as the parameter `cursor` says it; null: this is the last one. */
  readonly next: string | null;
}

/** A list that is always answered in pages. */
export interface Pages<in Rooms, Asked> extends Base<Asked> {
  readonly kind: 'pages';
  readonly query: Query<Asked>;
  readonly answer: Answer;
  readonly page: (rooms: Rooms, input: Omit<Input<object, Asked>, 'body'>) => Promise<Page>;
}

/** An operation of which all is said here but how it is answered: a stream has a route by hand. */
export interface Described<Asked> extends Base<Asked> {
  readonly kind: 'described';
  readonly query: Query<Asked>;
  readonly content: {
    readonly description: string;
    /** The media type. */
    readonly type: string;
  };
}

/** What can be done; `Rooms` are the rooms of the domain that it needs. */
export type Operation<Rooms> =
  | Write<Rooms, unknown, unknown>
  | Read<Rooms, unknown, unknown, Shown | readonly Shown[]>
  | List<Rooms>
  | Pages<Rooms, unknown>
  | Described<unknown>;

/** An operation that `perform` can run. */
export type Performed<Rooms> = Extract<Operation<Rooms>, { kind: 'write' | 'read' }>;

/** An operation that changes something. */
export type Writing<Rooms> = Extract<Operation<Rooms>, { kind: 'write' }>;

// What a body and a query yield is of interest between them and `run` alone, so the makers below
// see that they fit, and forget it.

/** Makes an operation that changes something. */
export function write<Rooms, Values = object, Asked = object>(
  operation: Omit<Write<Rooms, Values, Asked>, 'kind'>,
): Operation<Rooms> {
  return { kind: 'write', ...operation } as unknown as Operation<Rooms>;
}

/** Makes an operation that reads. */
export function read<
  Rooms,
  Values = object,
  Asked = object,
  Answered extends Shown | readonly Shown[] = Shown | readonly Shown[],
>(operation: Omit<Read<Rooms, Values, Asked, Answered>, 'kind'>): Operation<Rooms> {
  return { kind: 'read', ...operation } as unknown as Operation<Rooms>;
}

/** Makes a list that is always answered in pages; `idPages` makes one in the order of ids. */
export function pages<Rooms, Asked>(
  operation: Omit<Pages<Rooms, Asked>, 'kind'>,
): Operation<Rooms> {
  return { kind: 'pages', ...operation } as unknown as Operation<Rooms>;
}

/** Makes an operation whose route is made by hand. */
export function described<Asked>(operation: Omit<Described<Asked>, 'kind'>): Described<Asked> {
  return { kind: 'described', ...operation };
}

/** The parameters of a query that are validated together; each of them may be sent once. */
export function queryOf<Asked>(fields: Joi.ObjectSchema, validate: Validator<Asked>): Query<Asked> {
  // Each start does this; `describe` would also copy every rule of every field.
  const { keys } = fields.$_terms as { keys: { key: string; schema: Joi.Schema }[] | null };
  return {
    schemas: Object.fromEntries((keys ?? []).map(({ key, schema }) => [key, schema])),
    read(sent) {
      const { values, errors } = validate(sentOnce(sent), 'update');
      if (!hasNoErrors(errors)) throw new ApiError('unprocessable', { errors });
      return values;
    },
  };
}

/** The part of a path that is the UUID of a record. */
export const UUID_PARAM: Readonly<Record<'id', Param>> = {
  id: { description: 'In any case.', schema: { type: 'string', format: 'uuid' } },
};

/** The part of a path that names a user. */
export const USER_PARAM: Readonly<Record<'id', Param>> = {
  id: {
    description: 'The UUID in any case, or the e-mail, percent-encoded or not, in any case.',
    schema: { type: 'string', minLength: 1 },
  },
};
