// Operations as paths and schemas of the document: what each takes and answers follows from its
// kind. docs/api.md#operations.

import type Joi from 'joi';
import type { Answer, Body, Operation } from '../../kit/operations/operation.ts';
import type { Mode } from '../../kit/validation/validate.ts';
import { BODY_BYTES_MAX } from '../body.ts';
import { pageFields } from '../paging.ts';
import { headerRefs, jsonContent, schemaRef } from './answers.ts';
import { examples } from './examples.ts';
import { answerSchema, type Json, parameterSchema, requestSchema } from './schemas.ts';

type Any = Operation<never>;

/** Statuses of errors of every operation. */
const ALWAYS = [401, 403, 429, 500, 503];
/** Statuses of errors of an operation that takes a body. */
const WITH_BODY = [400, 408, 413, 415, 422];
/** Statuses of errors of an operation that writes and ignores its body. */
const WITHOUT_BODY = [408, 413, 422];
/** Headers of answers to writes. */
const WRITTEN = { 'postern-revision': 'Revision', 'postern-applied': 'Applied' };

/** The paths of operations. */
export function pathsOf(operations: readonly Any[]): Json {
  return Object.fromEntries(
    [...Map.groupBy(operations, ({ path }) => path)].map(([path, all]) => [path, pathOf(all)]),
  );
}

/** The schemas of what operations take and answer. */
export function schemasOf(operations: readonly Any[]): Json {
  const schemas: Json = {};
  for (const operation of operations) {
    const [body, answer] = [bodyOf(operation), 'answer' in operation ? operation.answer : null];
    if (answer !== null) schemas[answer.title] ??= answerSchema(answer.fields);
    if (body !== null) schemas[bodyTitle(body)] ??= requestSchema(body.fields, body.mode);
  }
  return schemas;
}

/** The tags of operations. */
export function tagsOf(operations: readonly Any[]): Json[] {
  return [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name }));
}

/** The operations of one path. */
function pathOf(operations: readonly Any[]): Json {
  const params = Object.entries(operations[0]?.params ?? {}).map(([name, param]) => ({
    name,
    in: 'path',
    required: true,
    ...param,
  }));
  const methods = operations.flatMap((operation) => {
    const { id, method } = operation;
    const one = [method.toLowerCase(), methodOf(operation, id)] as const;
    if (method !== 'PATCH') return [one];
    return [one, ['put', methodOf(operation, id.replace(/^update/, 'put'))] as const];
  });
  return { ...(params.length === 0 ? {} : { parameters: params }), ...Object.fromEntries(methods) };
}

function methodOf(operation: Any, operationId: string): Json {
  const { tag, summary } = operation;
  const description = operation.description ?? (operation.kind === 'list' ? LISTED : undefined);
  const parameters = parametersOf(operation);
  const body = bodyOf(operation);
  return {
    tags: [tag],
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : requestBody(body)),
    responses: responsesOf(operation),
  };
}

const LISTED =
  'Oldest first. Without `limit` and `cursor`: every record. Unknown parameters are ignored.';

function parametersOf(operation: Any): Json[] {
  const schemas: Record<string, Joi.Schema> = { ...operation.query?.schemas };
  if (operation.kind === 'list') {
    for (const name of ['limit', 'cursor']) schemas[name] = pageFields.extract(name);
    for (const [name, { schema }] of Object.entries(operation.filters)) schemas[name] = schema;
  }
  return parametersIn(Object.entries(schemas));
}

/** Parameters of a query, by name. */
function parametersIn(schemas: readonly (readonly [string, Joi.Schema])[]): Json[] {
  return schemas.map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    description: (schema.describe().flags as { description: string }).description,
    schema: parameterSchema(schema),
  }));
}

function bodyOf(operation: Any): Body<unknown> | null {
  return ('body' in operation ? operation.body : undefined) ?? null;
}

function bodyTitle({ title, mode }: { readonly title: string; readonly mode: Mode }): string {
  return `${title}${mode === 'create' ? 'Create' : 'Update'}`;
}

function requestBody(body: Body<unknown>): Json {
  const { wrapper, mode, maxBytes = BODY_BYTES_MAX } = body;
  const schema = {
    type: 'object',
    required: [wrapper],
    properties: { [wrapper]: schemaRef(bodyTitle(body)) },
  };
  const example = { [wrapper]: examples[wrapper]?.[mode] };
  return {
    requestBody: {
      description: `At most ${maxBytes} bytes.`,
      required: true,
      content: { 'application/json': { schema, example } },
    },
  };
}

function responsesOf(operation: Any): Json {
  const statuses = new Set([
    ...(operation.params === undefined ? [] : [404]),
    ...(operation.errors ?? []),
    ...inputErrors(operation),
    ...ALWAYS,
  ]);
  const errors = [...statuses].map((status) => [
    String(status),
    { $ref: `#/components/responses/${status}` },
  ]);
  return { ...success(operation), ...(Object.fromEntries(errors) as Json) };
}

function inputErrors(operation: Any): number[] {
  if (bodyOf(operation) !== null) return WITH_BODY;
  if (operation.kind === 'write') return WITHOUT_BODY;
  return operation.kind === 'list' || operation.query !== undefined ? [422] : [];
}

function success(operation: Any): Json {
  if (operation.kind === 'described') {
    const { description, type } = operation.content;
    return { 200: { description, headers: headerRefs(), content: { [type]: {} } } };
  }
  const { kind, answer } = operation;
  if (kind !== 'write') {
    const isSeveral = kind !== 'read' || operation.isSeveral === true;
    const json = answered(answer, isSeveral, kind === 'read' ? {} : { Link: 'Link' });
    return { 200: kind === 'read' && operation.csv !== undefined ? orCsv(json) : json };
  }
  if (answer === null) return { 204: { description: 'It is gone.', headers: headerRefs(WRITTEN) } };
  if (operation.locationOf === undefined) return { 200: answered(answer, false, WRITTEN) };
  return { 201: answered(answer, false, { Location: 'Location', ...WRITTEN }) };
}

/** An answer that may also come as a file for spreadsheets. */
function orCsv(json: Json): Json {
  const content = { ...(json['content'] as Json), 'text/csv': { schema: { type: 'string' } } };
  return { ...json, content };
}

function answered(
  { description, title }: Answer,
  isSeveral: boolean,
  headers: Readonly<Record<string, string>>,
): Json {
  const data = isSeveral ? { type: 'array', items: schemaRef(title) } : schemaRef(title);
  const schema = {
    type: 'object',
    required: ['data'],
    additionalProperties: false,
    properties: { data },
  };
  return { description, headers: headerRefs(headers), content: jsonContent(schema) };
}
