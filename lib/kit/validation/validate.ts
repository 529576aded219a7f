// Validates the shape of what was sent: reads each field as its type, decides what nothing, null
// and "" mean, runs the field's schema and gathers every error of every field. Pure; conditions
// that only the database knows are checked later, and both are reported together.
// docs/api.md#values.

import type Joi from 'joi';
import { entryOf, type FieldMeta, withMessages } from './fields.ts';
import {
  atMostItems,
  codeOf,
  errorOfRule,
  type FieldError,
  type FieldErrorCode,
  isFieldError,
  isSame,
  messages,
  sentenceOf,
} from './messages.ts';

/**
 * Errors of one field; for a list of records, the errors of each record, in the order of the input.
 */
export type FieldErrors<One = FieldError> = One[] | Record<string, One[]>[];

/** Errors by field; `base` holds errors of no single field. A page has its own kind of errors. */
export type Errors<One = FieldError> = Record<string, FieldErrors<One>>;

/** The result of validating. A record may be written only if there is no error. */
export interface Validated<Values> {
  /** The values that could be read, in their accepted form, and also values that break a rule. */
  readonly values: Values;
  readonly errors: Errors;
}

/** A create needs every required field; an update keeps what is not sent. */
export type Mode = 'create' | 'update';

/** Validates the fields of one resource. */
export type Validator<Values> = (input: object, mode: Mode) => Validated<Values>;

/** The facts about a field that validating needs, found out once. */
interface Field {
  readonly name: string;
  readonly schema: Joi.Schema;
  readonly type: string;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  /** True when text of nothing but spaces counts as "". */
  readonly spacesAreNothing: boolean;
  readonly hasDefault: boolean;
  readonly fallback: unknown;
  readonly meta: FieldMeta;
  /** Members that a list may have; no limit for what is no list. */
  readonly membersMax: number;
  readonly validateEntry: Validator<Record<string, unknown>> | null;
}

/** Makes the function that validates a resource. `Values` is the type that its schemas yield. */
export function validatorOf<Values>(resource: Joi.ObjectSchema): Validator<Values> {
  // To describe all resources takes a tenth of a start; a command validates one of them, or none.
  let described: readonly Field[] | undefined;
  return (input, mode) => {
    const fields = (described ??= fieldsOf(resource));
    const values: Record<string, unknown> = {};
    const errors: Errors = {};
    for (const field of fields) {
      if (mode === 'update' && field.meta.createOnly === true) continue;
      // Own properties only: "__proto__" and its like are fields that nobody knows.
      const raw: unknown = Object.hasOwn(input, field.name)
        ? (input as Record<string, unknown>)[field.name]
        : undefined;
      if (isLeftOut(field, input)) values[field.name] = '';
      else validateField(field, mode, raw, values, errors);
    }
    return { values: values as Values, errors };
  };
}

function fieldsOf(resource: Joi.ObjectSchema): readonly Field[] {
  const { keys = {} } = resource.describe() as { keys?: Record<string, Joi.Description> };
  return Object.entries(keys)
    .map(([name, description]) => fieldOf(name, resource.extract(name), description))
    .filter(({ meta }) => meta.readOnly !== true);
}

/** Adds an error to a field. */
export function addError(errors: Errors, field: string, error: FieldError): void {
  const present = (errors[field] ?? []) as FieldError[];
  if (!present.some((one) => isSame(one, error))) errors[field] = [...present, error];
}

/** Whether one of the errors of a field has a code. */
export function hasCode(errors: readonly unknown[] | undefined, code: FieldErrorCode): boolean {
  return (errors ?? []).some((error) => codeOf(error) === code);
}

/** Errors, without repetitions. */
function eachOnce(errors: readonly FieldError[]): FieldError[] {
  return [...new Map(errors.map((error) => [sentenceOf(error), error])).values()];
}

/** True if there are no errors. */
export function hasNoErrors(errors: Errors<unknown>): boolean {
  return Object.keys(errors).length === 0;
}

/** Errors as the API says them. */
export function inSentences(errors: Errors): Record<string, unknown[]> {
  const ofField = (found: FieldErrors): unknown[] =>
    found.map((error) => (isFieldError(error) ? sentenceOf(error) : inSentences(error)));
  return Object.fromEntries(Object.entries(errors).map(([name, found]) => [name, ofField(found)]));
}

function fieldOf(name: string, schema: Joi.Schema, description: Joi.Description): Field {
  const { type = 'any', flags = {}, allow = [], rules = [], metas = [] } = description;
  const ruleOf = (name: string) =>
    (rules as { name: string; args?: { limit?: number } }[]).find((rule) => rule.name === name);
  const meta: FieldMeta = Object.assign({}, ...(metas as FieldMeta[]));
  const { presence, default: fallback } = flags as { presence?: string; default?: unknown };
  const isRequired = presence === 'required';
  const entry = entryOf(schema);
  return {
    name,
    schema: withMessages(schema),
    type,
    isRequired,
    isNullable: (allow as unknown[]).includes(null),
    // For a trimmed field with a least length, that length is the error instead.
    spacesAreNothing:
      isRequired || (ruleOf('trim') !== undefined && ruleOf('atLeast') === undefined),
    hasDefault: 'default' in flags,
    fallback,
    meta,
    membersMax: type === 'array' ? (ruleOf('max')?.args?.limit ?? Infinity) : Infinity,
    validateEntry: entry === null ? null : validatorOf(entry),
  };
}

function validateField(
  field: Field,
  mode: Mode,
  raw: unknown,
  values: Record<string, unknown>,
  errors: Errors,
): void {
  const { name } = field;
  const value = raw === '' || isOnlySpaces(field, raw) ? null : raw;
  if (mode === 'create' && (value === undefined || value === null)) {
    if (field.isRequired || (raw === null && field.meta.nullIsBlank === true))
      errors[name] = [messages.blank];
    else if (value === null && field.meta.keptUnsent === true) values[name] = null;
    else if (field.hasDefault) values[name] = field.fallback;
  } else if (value === null) {
    if (field.isNullable) values[name] = null;
    else errors[name] = [messages.blank];
  } else if (Array.isArray(value) && value.length > field.membersMax) {
    // Before any member is looked at: a body has room for hundreds of thousands.
    errors[name] = [atMostItems(field.membersMax)];
  } else if (value !== undefined) {
    if (field.validateEntry === null) validateValue(field, value, values, errors);
    else validateEntries(name, field.validateEntry, value, values, errors);
  }
}

/** True for what may be left out because another field is sent, and is. */
function isLeftOut({ name, meta }: Field, input: object): boolean {
  if (meta.unless === undefined) return false;
  const isBlank = (field: string): boolean => {
    const raw: unknown = (input as Record<string, unknown>)[field] ?? '';
    return typeof raw === 'string' && raw.trim() === '';
  };
  return isBlank(name) && !isBlank(meta.unless);
}

function isOnlySpaces(field: Field, raw: unknown): boolean {
  return field.spacesAreNothing && typeof raw === 'string' && raw.trim() === '';
}

function validateValue(
  field: Field,
  value: unknown,
  values: Record<string, unknown>,
  errors: Errors,
): void {
  const result = field.schema.validate(cast(field.type, value));
  const found =
    result.error?.details.map(({ type, context = {} }) => errorOfRule(type, context)) ?? [];
  const isReadable = !hasCode(found, 'invalid');
  if (found.length > 0)
    errors[field.name] = isReadable ? eachOnce(found) : [field.meta.unreadable ?? messages.invalid];
  // A value that cannot be read is validated no further, here and in the rules between fields.
  if (isReadable) values[field.name] = result.value as unknown;
}

/** Reads the texts that stand for numbers and booleans; anything else stays as it is. */
function cast(type: string, value: unknown): unknown {
  if (type === 'number') {
    const number = typeof value === 'string' && /^[+-]?\d+$/.test(value) ? Number(value) : value;
    // 1e999 is a number to JSON, and to us a whole one that is too great.
    if (number === Infinity) return Number.MAX_VALUE;
    return number === -Infinity ? -Number.MAX_VALUE : number;
  }
  if (type === 'boolean') {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
  }
  return value;
}

/** Validates each record of a list as a create; their ids differ. */
function validateEntries(
  name: string,
  validateEntry: Validator<Record<string, unknown>>,
  value: unknown,
  values: Record<string, unknown>,
  errors: Errors,
): void {
  if (!Array.isArray(value) || !value.every(isObject)) {
    errors[name] = [messages.invalid];
    return;
  }
  const validated = value.map((entry) => validateEntry(entry, 'create'));
  const ids = new Set<unknown>();
  for (const { values: entry, errors: entryErrors } of validated) {
    if (ids.has(entry['id'])) addError(entryErrors, 'id', messages.taken);
    else if (entry['id'] !== undefined) ids.add(entry['id']);
  }
  values[name] = validated.map((entry) => entry.values);
  if (validated.some((entry) => !hasNoErrors(entry.errors)))
    errors[name] = validated.map((entry) => entry.errors as Record<string, FieldError[]>);
}

/** True for a JSON object; a list is none. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
