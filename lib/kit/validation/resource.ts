// From the table of a record's fields to what a request needs: the schema that validates it, and
// the columns that it sets. The tables are in models/fields; a kind of field that one record alone
// has comes with a maker of that record.

import Joi from 'joi';
import {
  type ApiField,
  type ApiValues,
  type ColumnsOf,
  type Field,
  type Fields,
  type NamesWith,
  type SentName,
  UNSEEN,
} from '../../../models/index.ts';
import {
  address,
  anyAddress,
  choice,
  cidr,
  cidrList,
  dnsList,
  endpoint,
  type FieldMeta,
  firezoneChoice,
  flag,
  integer,
  mark,
  moment,
  recordId,
  reference,
  resource,
  text,
  type TextSchema,
  timestamp,
  trimmed,
  url,
  visibleName,
} from './fields.ts';

/** Makes the schema of a value that is there. */
export type Maker = (field: ApiField) => Joi.Schema;

/** How the kinds are read that several records have. */
const makers = {
  id: ({ description }) => recordId(description),
  time: ({ description, readOnly }) =>
    readOnly === true ? timestamp(description) : moment(description),
  reference: ({ description }) => reference(description),
  text: (field) => limited(text(field.description), field),
  trimmed: (field) => limited(trimmed(field.description), field),
  name: (field) => limited(visibleName(field.description, UNSEEN), field),
  choice: ({ description, words = [] }) => choice(description, ...words),
  'choice of Firezone': ({ description, words = [] }) => firezoneChoice(description, ...words),
  flag: ({ description }) => flag(description),
  integer: ({ description, min = 0, max = Number.MAX_SAFE_INTEGER }) =>
    integer(description, min, max),
  count: ({ description }) => Joi.number().integer().min(0).description(description),
  ipv4: ({ description }) => address(description, 4),
  ipv6: ({ description }) => address(description, 6),
  'any address': ({ description }) => anyAddress(description),
  cidr: ({ description }) => cidr(description),
  cidrs: ({ description }) => cidrList(description),
  dns: ({ description }) => dnsList(description),
  endpoint: ({ description }) => endpoint(description),
  url: ({ description }) => url(description),
} satisfies Partial<Record<keyof ApiValues, Maker>>;

type KindsOf<Table> = {
  [Name in keyof Table]: Table[Name] extends { api: { kind: infer Kind } } ? Kind : never;
}[keyof Table] &
  string;

/** What a table says of a field that `mark` keeps in the schema. */
const MARKS = [
  'readOnly',
  'writeOnly',
  'createOnly',
  'nullIsBlank',
  'neverNull',
  'unless',
  'keptUnsent',
] as const satisfies readonly (keyof FieldMeta & keyof ApiField)[];

/** The schema of a record. `special`: makers of the kinds that no other record has. */
export function schemaOf<Table extends Fields>(
  fields: Table,
  special: Readonly<Record<Exclude<KindsOf<Table>, keyof typeof makers>, Maker>>,
): Joi.ObjectSchema {
  const all: Readonly<Record<string, Maker>> = { ...makers, ...special };
  const schemas: Record<string, Joi.Schema> = {};
  for (const [name, field] of Object.entries<Field>(fields)) {
    const make = all[field.api?.kind ?? ''];
    if (field.api !== undefined && make !== undefined)
      schemas[name] = completed(make(withWords(field.api, field)), field.api, field);
  }
  return resource(schemas);
}

/** Text of so many characters as its field may have. */
export function limited<Schema extends TextSchema>(
  schema: Schema,
  { atLeast, atMost }: ApiField,
): Schema {
  const long = atLeast === undefined ? schema : schema.atLeast(atLeast);
  return atMost === undefined ? long : long.atMost(atMost);
}

/** The words of a choice are those of its column, where it has one. */
function withWords(api: ApiField, { column }: Field): ApiField {
  return column?.words === undefined ? api : { ...api, words: column.words.map(String) };
}

/** What holds for every kind: whether it is required, may be null, has a default. */
function completed(made: Joi.Schema, api: ApiField, { column }: Field): Joi.Schema {
  let schema = made;
  const fallback = api.default === undefined ? column?.default : api.default;
  if (api.required === true) schema = schema.required();
  if (api.nullable ?? column?.nullable ?? false) schema = schema.allow(null);
  if (fallback !== undefined) schema = schema.default(fallback);
  const marks = MARKS.filter((name) => api[name] !== undefined).map((name) => [name, api[name]]);
  return marks.length === 0 ? schema : mark(schema, Object.fromEntries(marks) as FieldMeta);
}

/** The names of the fields that requests may send. */
export function sentNames<Table extends Fields>(fields: Table): SentName<Table>[] {
  return Object.entries<Field>(fields)
    .filter(([, { api }]) => api !== undefined && api.readOnly !== true)
    .map(([name]) => name as SentName<Table>);
}

/** The names of the fields that requests may send, and what a column keeps. */
export type SentColumn<Table> = SentName<Table> & keyof ColumnsOf<Table>;

/** The columns that requests set. */
export function sentColumns<Table extends Fields>(fields: Table): SentColumn<Table>[] {
  return Object.entries<Field>(fields)
    .filter(([, { column, api }]) => column !== undefined && api !== undefined && !api.readOnly)
    .map(([name]) => name as SentColumn<Table>);
}

type Defaulted<Table> = SentColumn<Table> &
  NamesWith<Table, { column: { nullable: true } } | { column: { default: unknown } }>;

/** What the columns that requests set have where nothing is said; those of which that is known. */
export function columnDefaults<Table extends Fields>(
  fields: Table,
): Pick<ColumnsOf<Table>, Defaulted<Table>> {
  const defaults: Record<string, unknown> = {};
  for (const name of sentColumns(fields)) {
    const column = (fields[name] as Field).column;
    if (column?.nullable === true || column?.default !== undefined)
      defaults[name] = column.default ?? null;
  }
  return defaults as Pick<ColumnsOf<Table>, Defaulted<Table>>;
}

/** The columns that a request sent, among those that requests may set. */
export function columnsSent<Table extends Fields, Values extends object>(
  fields: Table,
  values: Values,
): Pick<Values, SentColumn<Table> & keyof Values> {
  const sent = sentColumns(fields)
    .map((name) => [name, (values as Record<string, unknown>)[name]] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent) as Pick<Values, SentColumn<Table> & keyof Values>;
}
