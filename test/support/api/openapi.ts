// The OpenAPI document, used to check: whether an answer is one that it describes, and what its
// operations are. Schemas are run by Ajv, which is not what they were made with. Most test files need
// Ajv for no answer, so it is loaded when it is first asked.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import type { FormatsPlugin } from 'ajv-formats';
import type { Answer } from './requests.ts';

/** A part of the document. */
// Tests reach into it without a type for each.
// oxlint-disable-next-line typescript/no-explicit-any
export type Part = any;

/** An operation, with what its path says. */
export interface Operation {
  method: string;
  /** With `{id}`. */
  path: string;
  pattern: RegExp;
  part: Part;
}

/**
 * The document of a gateway at the root of its address. To make it takes longer than to read it;
 * document.test.ts proves that this file is what is made.
 */
export const document: Part = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../golden/openapi.json'), 'utf8'),
);

let loaded: Ajv2020 | undefined;

function ajv(): Ajv2020 {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const { Ajv2020: Ajv } = require('ajv/dist/2020.js') as { Ajv2020: typeof Ajv2020 };
  const { default: addFormats } = require('ajv-formats') as { default: FormatsPlugin };
  loaded = new Ajv({ strict: false, allErrors: true, validateSchema: false });
  addFormats(loaded);
  loaded.addSchema(document as object, 'document', undefined, false);
  return loaded;
}

/** Every operation of the document. */
export const operations: Operation[] = Object.entries<Part>(document.paths).flatMap(
  ([path, item]) =>
    Object.entries<Part>(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, part]) => ({
        method: method.toUpperCase(),
        path,
        pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
        part,
      })),
);

/** The operation that a request means; HEAD means GET. Null when there is none. */
export function operationOf(method: string, path: string): Operation | null {
  const [plain = ''] = path.split('?');
  const upper = method.toUpperCase();
  const wanted = upper === 'HEAD' ? 'GET' : upper;
  // A path of its own comes before one with an id in it.
  return operations.find((one) => one.method === wanted && one.pattern.test(plain)) ?? null;
}

/** Follows a reference inside the document; what is none stays as it is. */
export function resolve(part: Part): Part {
  if (part?.$ref === undefined) return part;
  return String(part.$ref)
    .slice(2)
    .split('/')
    .reduce((found: Part, name) => found[name], document);
}

const compiled = new Map<object, ValidateFunction>();

/** What is wrong with a value; null when the schema allows it. */
export function schemaError(schema: object, value: unknown): string | null {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    validate = ajv().compile(rooted(schema) as object);
    compiled.set(schema, validate);
  }
  return validate(value) ? null : ajv().errorsText(validate.errors, { separator: '; ' });
}

/** References of a part are those of the document. */
function rooted(part: unknown): unknown {
  return JSON.parse(JSON.stringify(part).replaceAll('"$ref":"#/', '"$ref":"document#/')) as unknown;
}

/** What of an answer the document does not describe; null when it describes all of it. */
export function checkAnswer(method: string, path: string, answer: Answer): string | null {
  const operation = operationOf(method, path);
  // Paths of which the document knows nothing, also because their method is unknown.
  if (operation === null) return null;
  const response = resolve(operation.part.responses[answer.status]);
  if (response === undefined)
    // No id at all, or one that is a path: the router finds nothing.
    return answer.status === 404 && answer.body?.error === 'not_found'
      ? null
      : 'the status is not described';
  for (const [name, reference] of Object.entries<Part>(response.headers)) {
    const header = resolve(reference);
    const value: unknown = answer.headers[name.toLowerCase()];
    if (value === undefined && header.required === true) return `the header ${name} is missing`;
    const error = value === undefined ? null : schemaError(header.schema, value);
    if (error !== null) return `the header ${name}: ${error}`;
  }
  if (String(answer.headers['content-type'] ?? '').startsWith('text/csv'))
    return response.content?.['text/csv'] === undefined ? 'no such file is described' : null;
  const type = String(answer.headers['content-type'] ?? '');
  if (type !== '' && response.content?.[type] !== undefined) return null;
  const schema = response.content?.['application/json']?.schema as object | undefined;
  if (method === 'HEAD' || schema === undefined)
    return answer.text === '' ? null : 'a body is not described';
  return schemaError(schema, answer.body) ?? errorWithout(answer);
}

/** Statuses whose bodies name errors by field; all others above 399 have one word. */
const BY_FIELD = [400, 401, 422];

/** What the body of an error lacks: all statuses share one schema. */
function errorWithout({ status, body }: Answer): string | null {
  if (status < 400) return null;
  const member = BY_FIELD.includes(status) ? 'errors' : 'error';
  return body?.[member] === undefined ? `the error has no ${member}` : null;
}
