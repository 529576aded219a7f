// Makes the fields of resources. A field is a Joi schema that validates a value which was sent.
// validate.ts decides what a missing value, null and "" mean, by these flags of the schema:
// `required` (create needs it), `allow(null)` (update may empty it), `default` (create fills it
// in), and `meta` (see FieldMeta). Joi's rules, and our rules with a `jsonSchema`, describe the
// field in OpenAPI.

import Joi from 'joi';
import { type FieldError, oneOf } from './messages.ts';
import {
  canonicalHost,
  readAddress,
  readCidr,
  validateDnsServer,
  validateEndpoint,
} from './network.ts';
import { isUuid, readTime } from './texts.ts';

export { isReadableId, isUuid } from './texts.ts';

/** What `meta` may say about a field. */
export interface FieldMeta {
  /** Only answered; ignored when sent. */
  readOnly?: true;
  /** Only sent; never answered. */
  writeOnly?: true;
  /** Ignored by updates. */
  createOnly?: true;
  /** On create, null counts as blank and not as left out. */
  nullIsBlank?: true;
  /** Never null in answers, though an update may say null. */
  neverNull?: true;
  /** Required only if the field with this name is not sent. */
  unless?: string;
  /**
   * A field that older clients do not know, of a record in a list that is replaced as a whole. It
   * is answered only if it was sent, kept if a later list does not name it, removed by null or "".
   */
  keptUnsent?: true;
  /** What is said of a value that cannot be read, in place of `is invalid`. */
  unreadable?: FieldError;
  /** What JSON Schema says about it in addition to Joi. */
  json?: Readonly<Record<string, unknown>>;
  /** What JSON Schema says about it in answers, if they have another form than requests. */
  shown?: Readonly<Record<string, unknown>>;
}

/** A schema of text with rules that count code points. */
export interface TextSchema extends Joi.StringSchema {
  atLeast(characters: number): this;
  atMost(characters: number): this;
  exactly(characters: number): this;
}

interface FieldRoot extends Omit<Joi.Root, 'string'> {
  string(): TextSchema;
}

/** A rule about the number of code points, in the form of Joi.extend. */
function lengthRule(
  name: 'atLeast' | 'atMost' | 'exactly',
  isGood: (text: string, limit: number) => boolean,
  keywords: readonly ('minLength' | 'maxLength')[],
) {
  return {
    method(this: { $_addRule(rule: object): Joi.Schema }, limit: number): Joi.Schema {
      return this.$_addRule({ name, args: { limit } });
    },
    args: ['limit'],
    validate: (value: string, helpers: Joi.CustomHelpers, { limit }: { limit: number }) =>
      isGood(value, limit) ? value : helpers.error(`string.${name}`, { limit }),
    jsonSchema(rule: { args: { limit: number } }, schema: Record<string, unknown>): object {
      for (const keyword of keywords) schema[keyword] = rule.args.limit;
      return schema;
    },
  };
}

/** True if a text has fewer code points; a long text is not counted to its end. */
function isShorter(text: string, limit: number): boolean {
  if (text.length < limit) return true;
  let count = 0;
  for (const _character of text) if ((count += 1) >= limit) return false;
  return true;
}

/** Joi with our own string: it refuses NUL and lone surrogates, and lengths count code points. */
export const joi: FieldRoot = Joi.extend({
  type: 'string',
  base: Joi.string(),
  validate(value: string, { error }: Joi.CustomHelpers) {
    const isReadable = value.isWellFormed() && !value.includes('\0');
    return isReadable ? undefined : { value, errors: error('string.unreadable') };
  },
  rules: {
    atLeast: lengthRule('atLeast', (value, limit) => !isShorter(value, limit), ['minLength']),
    atMost: lengthRule('atMost', (value, limit) => isShorter(value, limit + 1), ['maxLength']),
    exactly: lengthRule(
      'exactly',
      (value, limit) => isShorter(value, limit + 1) && !isShorter(value, limit),
      ['minLength', 'maxLength'],
    ),
  },
});

/** Options of every schema here. Strict schemas convert nothing; the others trim. */
const preferences: Joi.ValidationOptions = {
  abortEarly: false,
  // Nobody reads Joi's own sentences: errors are known by their codes. Without one for all of them
  // Joi would make a long one of each.
  messages: { '*': Joi.expression('wrong') } as unknown as Joi.LanguageMessages,
};

/** The fields of one resource. */
export function resource(fields: Record<string, Joi.Schema>): Joi.ObjectSchema {
  return joi.object(fields);
}

/**
 * A field of a resource with the messages for its errors. Setting them takes Joi as long as making
 * ten fields, so only validation asks for them, at the first use.
 */
export function withMessages(field: Joi.Schema): Joi.Schema {
  return field.prefs(preferences);
}

/** What `meta` says about a field, read from its description. */
export function metaOf({ metas = [] }: Joi.Description): FieldMeta {
  return Object.assign({}, ...metas) as FieldMeta;
}

/** Adds `meta` to a field. */
export function mark<S extends Joi.Schema>(schema: S, meta: FieldMeta): S {
  return schema.meta(meta) as S;
}

/** The most members of each kind of list; the members of a longer list are not validated. */
const CIDRS_MAX = 1_000;
const DNS_SERVERS_MAX = 100;
const ENTRIES_MAX = 100;

/**
 * A list of records; validate.ts validates each record like a create, and their ids must differ.
 */
export function entryList(description: string, entry: Joi.ObjectSchema): Joi.ArraySchema {
  return joi.array().items(entry).max(ENTRIES_MAX).description(description);
}

/** The schema of the records of a list; null if the schema is not a list of records. */
export function entryOf(schema: Joi.Schema): Joi.ObjectSchema | null {
  const { items } = schema.$_terms as { items?: Joi.Schema[] };
  const [item] = schema.type === 'array' ? (items ?? []) : [];
  return item?.type === 'object' ? (item as Joi.ObjectSchema) : null;
}

/**
 * The records of a list as they are kept. A field that older clients do not know keeps its value if
 * it was not sent, and is removed if null was sent.
 */
export function withUnsent<Entry extends { id: string }>(
  fields: Joi.ObjectSchema,
  sent: readonly Entry[],
  present: readonly Entry[],
): Entry[] {
  const { keys = {} } = fields.describe() as { keys?: Record<string, Joi.Description> };
  const names = Object.entries(keys)
    .filter(([, description]) => metaOf(description).keptUnsent === true)
    .map(([name]) => name);
  return sent.map((entry) => {
    const before = present.find(({ id }) => id === entry.id);
    const kept = { ...before, ...entry } as unknown as Record<string, unknown>;
    const all = Object.entries(entry).filter(([name]) => !names.includes(name));
    const younger = names.map((name) => [name, kept[name] ?? null] as const);
    return Object.fromEntries([...all, ...younger.filter(([, value]) => value !== null)]) as Entry;
  });
}

/** Text that is kept as it was sent. */
export function text(description: string): TextSchema {
  return joi.string().description(description);
}

/** Text without the spaces around it. */
export function trimmed(description: string): TextSchema {
  return text(description).trim() as TextSchema;
}

/**
 * A name by which people tell records apart: in NFC, without a character that is `unseen`, and no
 * UUID, so that it is never taken for an id.
 */
export function visibleName(description: string, unseen: RegExp): TextSchema {
  return trimmed(description)
    .normalize('NFC')
    .custom(
      (value: string, helpers) => (unseen.test(value) ? helpers.error('text.unseen') : value),
      'characters that can be seen',
    )
    .custom(
      (value: string, helpers) => (isUuid(value) ? helpers.error('name.uuid') : value),
      'no UUID',
    ) as TextSchema;
}

/** One of a few words, which are named where another one is sent. */
export function choice(description: string, ...words: string[]): Joi.StringSchema {
  return mark(firezoneChoice(description, ...words), { unreadable: oneOf(words) });
}

/** One of a few words of Firezone's API, where another one is just invalid. */
export function firezoneChoice(description: string, ...words: string[]): Joi.StringSchema {
  return text(description).valid(...words);
}

/** True or false; validate.ts also reads texts that mean them. */
export function flag(description: string): Joi.BooleanSchema {
  return joi.boolean().strict().description(description);
}

/** A whole number; validate.ts also reads numbers that were sent as text. */
export function integer(description: string, min: number, max: number): Joi.NumberSchema {
  return joi.number().strict().unsafe().integer().min(min).max(max).description(description);
}

/** A point in time, which is only answered and never sent. */
export function timestamp(description: string): Joi.Schema {
  const pattern = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$';
  return mark(text(description).isoDate(), { readOnly: true, json: { pattern } });
}

/** A point in time that is sent: RFC 3339. */
export function moment(description: string): TextSchema {
  const schema = text(description).custom(
    (value: string, helpers) => readTime(value) ?? helpers.error('time.bad'),
    'time',
  ) as TextSchema;
  return mark(schema, { json: { format: 'date-time' } });
}

/** The id of another record; in lower case, as ids are kept. */
export function reference(description: string): TextSchema {
  const schema = text(description).custom(
    (id: string, helpers) => (isUuid(id) ? id.toLowerCase() : helpers.error('record.absent')),
    'UUID',
  ) as TextSchema;
  return mark(schema, { json: { format: 'uuid' } });
}

/** An id by which a list is filtered: of any other text there is no record. */
export function idFilter(description: string): TextSchema {
  return mark(text(description), { json: { format: 'uuid' } });
}

/** The id of the record itself. */
export function recordId(description: string): Joi.Schema {
  return mark(text(description).uuid(), { readOnly: true });
}

/** A list of addresses and CIDRs; one bad member makes the whole list invalid. */
export function networkList(description: string): Joi.ArraySchema {
  return listOfText(description, CIDRS_MAX).custom((members: unknown[], helpers) => {
    const read = members.map((member) =>
      typeof member === 'string' ? readCidr(member.trim()) : null,
    );
    return read.includes(null) ? helpers.error('list.member') : read;
  }, 'addresses or CIDRs');
}

/** A list of addresses and CIDRs that differ. */
export function cidrList(description: string): Joi.ArraySchema {
  return networkList(description).custom(
    (read: unknown[], helpers) => (hasDuplicates(read) ? helpers.error('list.duplicates') : read),
    'no duplicates',
  );
}

/** A list of DNS servers, with one message for each error. */
export function dnsList(description: string): Joi.ArraySchema {
  return listOfText(description, DNS_SERVERS_MAX).custom((members: unknown[], helpers) => {
    if (!members.every((member) => typeof member === 'string')) return helpers.error('list.member');
    const texts = members.map((member) => member.trim());
    const errors = errorList(helpers);
    for (const { host, codes } of texts.map(validateDnsServer))
      for (const code of codes) errors.push(helpers.error(code, { host }));
    const canonical = texts.map(canonicalHost);
    if (hasDuplicates(canonical)) errors.push(helpers.error('list.duplicates'));
    return errors.length === 0 ? canonical : errors;
  }, 'addresses or host names');
}

/** Where clients find the gateway. */
export function endpoint(description: string): TextSchema {
  return trimmed(description).custom((value: string, helpers) => {
    const { host, codes } = validateEndpoint(value);
    const errors = errorList(helpers);
    for (const code of codes) errors.push(helpers.error(code, { host }));
    return errors.length === 0 ? value : errors;
  }, 'host or host:port') as TextSchema;
}

/** An address of one family, without prefix; in its canonical form. */
export function address(description: string, family: 4 | 6): TextSchema {
  const schema = trimmed(description).custom((value: string, helpers) => {
    const read = readAddress(value);
    return read?.family === family ? read.text : helpers.error('address.bad');
  }, `IPv${family} address`) as TextSchema;
  return mark(schema, { json: { format: `ipv${family}` } });
}

/** An address of either family, without prefix; in its canonical form. */
export function anyAddress(description: string): TextSchema {
  return trimmed(description).custom(
    (value: string, helpers) => readAddress(value)?.text ?? helpers.error('address.bad'),
    'address',
  ) as TextSchema;
}

/** An address or a CIDR; host bits and prefix stay as they were sent. */
export function cidr(description: string): TextSchema {
  return trimmed(description).custom(
    (value: string, helpers) => readCidr(value) ?? helpers.error('address.bad'),
    'address or CIDR',
  ) as TextSchema;
}

/** An address of the web: http or https. */
export function url(description: string): TextSchema {
  const schema = trimmed(description).custom((value: string, helpers) => {
    const error = urlError(value);
    return error === null ? value : helpers.error(error);
  }, 'URL') as TextSchema;
  return mark(schema, { json: { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' } });
}

/** What is wrong with an address of the web; null if nothing is wrong. */
export function urlError(value: string): 'url.host' | 'url.scheme' | null {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/[^/?#]/.exec(value)?.[1];
  if (scheme === undefined) return 'url.host';
  if (!/^https?$/i.test(scheme)) return 'url.scheme';
  return URL.canParse(value) ? null : 'url.host';
}

function listOfText(description: string, max: number): Joi.ArraySchema {
  return joi.array().items(joi.string().allow('')).max(max).description(description);
}

function hasDuplicates(members: readonly unknown[]): boolean {
  return new Set(members).size < members.length;
}

/** An empty list of errors that a rule may return; Joi recognizes only lists that it made. */
function errorList(helpers: Joi.CustomHelpers): Joi.ErrorReport[] {
  return (helpers as Joi.CustomHelpers & { errorsArray(): Joi.ErrorReport[] }).errorsArray();
}
