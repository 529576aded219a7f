// What is answered, as a table of fields: both the schema that the OpenAPI document shows and the
// type of the answer are made of it. A record that is also sent has its table in models/fields.

import type Joi from 'joi';
import type { Holds } from '../../../models/index.ts';
import { choice, joi, mark, recordId, resource, text, timestamp } from './fields.ts';

/** The kinds of values, and the type that each has in an answer. */
interface Values {
  /** The UUID of a record. */
  id: string;
  ids: readonly string[];
  time: string;
  text: string;
  texts: readonly string[];
  /** One of `words`. */
  choice: string;
  /** Some of `words`. */
  choices: readonly string[];
  flag: boolean;
  /** A whole number, not below 0. */
  count: number;
  /** With any fields. */
  object: Readonly<Record<string, unknown>>;
}

/** One field of an answer. */
export interface AnswerField {
  readonly kind: keyof Values | 'record' | 'list';
  readonly description: string;
  readonly nullable?: true;
  readonly words?: readonly string[];
  /** The fields of a record, or of each record of a list. */
  readonly of?: AnswerTable;
  /** The schema of such a record, where it has no table here; `holds` names its type. */
  readonly schema?: Joi.ObjectSchema;
  /** A narrower type than that of the kind. */
  readonly holds?: Holds<unknown>;
}

/** All fields of an answer, in their order. */
export interface AnswerTable {
  readonly [name: string]: AnswerField;
}

/** Checks a table, and keeps the type of every word in it. */
export function answerTable<const Table extends AnswerTable>(table: Table): Table {
  return table;
}

/** The type of what is answered. */
export type AnswerOf<Table> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

type ValueOf<One> = Present<One> | (One extends { nullable: true } ? null : never);

type Present<One> = One extends { kind: 'list' }
  ? readonly RecordOf<One>[]
  : One extends { kind: 'record' }
    ? RecordOf<One>
    : One extends { kind: 'choices'; words: readonly (infer Word)[] }
      ? readonly Word[]
      : One extends { words: readonly (infer Word)[] }
        ? Word
        : One extends { holds: Holds<infer Held> }
          ? Held
          : One extends { kind: infer Kind extends keyof Values }
            ? Values[Kind]
            : never;

type RecordOf<One> = One extends { of: infer Table }
  ? AnswerOf<Table>
  : One extends { holds: Holds<infer Held> }
    ? Held
    : never;

/** The schema of what is answered. */
export function schemaOfAnswer(table: AnswerTable): Joi.ObjectSchema {
  return resource(fieldsOf(table, (schema) => schema));
}

function fieldsOf(
  table: AnswerTable,
  complete: (schema: Joi.Schema) => Joi.Schema,
): Record<string, Joi.Schema> {
  return Object.fromEntries(
    Object.entries(table).map(([name, field]) => [name, complete(schemaOfField(field))]),
  );
}

function schemaOfField(field: AnswerField): Joi.Schema {
  const schema = mark(makers[field.kind](field), { readOnly: true });
  return field.nullable === true ? schema.allow(null) : schema;
}

const makers: Readonly<Record<AnswerField['kind'], (field: AnswerField) => Joi.Schema>> = {
  id: ({ description }) => recordId(description),
  ids: ({ description }) => joi.array().items(joi.string().uuid()).description(description),
  time: ({ description }) => timestamp(description),
  text: ({ description }) => text(description),
  texts: ({ description }) => joi.array().items(joi.string()).description(description),
  choice: ({ description, words = [] }) => choice(description, ...words),
  choices: ({ description, words = [] }) =>
    joi
      .array()
      .items(joi.string().valid(...words))
      .description(description),
  flag: ({ description }) => joi.boolean().description(description),
  count: ({ description }) => joi.number().integer().min(0).description(description),
  object: ({ description }) =>
    mark(joi.object().description(description), { json: { additionalProperties: true } }),
  // Joi describes a record in a record as it validates it: what is always there is required.
  record: ({ description, of = {} }) =>
    resource(fieldsOf(of, (schema) => schema.required())).description(description),
  list: ({ description, of = {}, schema = schemaOfAnswer(of) }) =>
    joi.array().items(schema).description(description),
};
