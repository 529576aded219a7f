// JSON Schemas of resources, made of the very Joi schemas that validate requests: what a create and
// an update may send, and what every answer holds. Joi describes each field; the field's `meta`
// says what Joi has no word for, see FieldMeta. Pure.

import type Joi from 'joi';
import { entryOf, type FieldMeta, metaOf } from '../../kit/validation/fields.ts';
import { SECRET_FIELDS } from '../../kit/records/secrets.ts';
import type { Mode } from '../../kit/validation/validate.ts';

/** A JSON Schema of draft 2020-12, or a part of an OpenAPI document. */
export type Json = Record<string, unknown>;

/** One field, with what its flags say. */
interface Field {
  readonly name: string;
  readonly schema: Joi.Schema;
  readonly meta: FieldMeta;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** What a request may send; other members are ignored. */
export function requestSchema(resource: Joi.ObjectSchema, mode: Mode): Json {
  const fields = fieldsOf(resource).filter(
    ({ meta }) => meta.readOnly !== true && (mode === 'create' || meta.createOnly !== true),
  );
  const required = fields.filter(({ isRequired }) => isRequired && mode === 'create');
  return objectOf(fields, required, (field) => requestField(field, mode));
}

/** What an answer holds: every field but those that are answered where sent, and nothing else. */
export function answerSchema(resource: Joi.ObjectSchema): Json {
  const fields = fieldsOf(resource).filter(({ meta }) => meta.writeOnly !== true);
  const always = fields.filter(({ meta }) => meta.keptUnsent !== true);
  return { ...objectOf(fields, always, answerField), additionalProperties: false };
}

/** What a parameter may be. */
export function parameterSchema(schema: Joi.Schema): Json {
  const { description: _description, ...json } = jsonOf(schema, metaOf(schema.describe()));
  return json;
}

function objectOf(
  fields: readonly Field[],
  required: readonly Field[],
  write: (field: Field) => Json,
): Json {
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required: required.map(({ name }) => name) }),
    properties: Object.fromEntries(fields.map((field) => [field.name, write(field)])),
  };
}

function requestField({ schema, meta, isRequired, isNullable }: Field, mode: Mode): Json {
  const entry = entryOf(schema);
  const json: Json = {
    ...jsonOf(schema, meta),
    // A member of a list is validated as a create.
    ...(entry === null ? {} : { items: requestSchema(entry, 'create') }),
    ...(meta.writeOnly === true ? { writeOnly: true } : {}),
  };
  const said = mode === 'create' ? withDefaultSaid(json) : json;
  delete said['default'];
  // A create takes null for nothing at all; what an update leaves out stays as it is.
  if (mode === 'create') return isRequired || meta.nullIsBlank === true ? said : orNull(said);
  return isNullable ? orNull(said) : said;
}

/**
 * What a create takes where nothing is sent is said in words: generators of clients make a field
 * with a `default` one that must be sent.
 */
function withDefaultSaid(json: Json): Json {
  const { default: value, description } = json;
  if (value === undefined || value === null) return json;
  return { ...json, description: `${String(description)} Left out: \`${spelled(value)}\`.` };
}

function spelled(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function answerField({ name, schema, meta, isNullable }: Field): Json {
  const entry = entryOf(schema);
  const json: Json = {
    ...jsonOf(schema, meta),
    ...meta.shown,
    ...(entry === null ? {} : { items: answerSchema(entry) }),
    ...(meta.readOnly === true ? { readOnly: true } : {}),
  };
  delete json['default'];
  if (meta.shown !== undefined) for (const name of ['minimum', 'maximum']) delete json[name];
  // To a token that may only read, secrets are null.
  const canBeNull = (isNullable && meta.neverNull !== true) || SECRET_FIELDS.has(name);
  return canBeNull ? orNull(json) : json;
}

function fieldsOf(resource: Joi.ObjectSchema): Field[] {
  const { keys = {} } = resource.describe() as { keys?: Record<string, Joi.Description> };
  return Object.entries(keys).map(([name, description]) => {
    const { presence } = (description.flags ?? {}) as { presence?: string };
    return {
      name,
      schema: resource.extract(name),
      meta: metaOf(description),
      isRequired: presence === 'required' && metaOf(description).unless === undefined,
      isNullable: ((description['allow'] ?? []) as unknown[]).includes(null),
    };
  });
}

/** Joi's schema of a value that is there, with what `meta` adds. */
function jsonOf(schema: Joi.Schema, meta: FieldMeta): Json {
  const written = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' });
  const { type, ...rest } = written as Json & { type?: string | string[] };
  const types = typeof type === 'string' ? [type] : (type ?? []).filter((name) => name !== 'null');
  return {
    ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types }),
    ...rest,
    ...meta.json,
  };
}

function orNull(json: Json): Json {
  const { type, enum: words } = json;
  return {
    ...json,
    type: [...(Array.isArray(type) ? type : [type]), 'null'],
    ...(Array.isArray(words) ? { enum: [...words, null] } : {}),
  };
}
