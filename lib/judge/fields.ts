// Makers of the fields that resources are made of. A field is a Joi schema that judges a value
// which is there; what nothing, null and "" mean is judge.ts's business, told by these flags of the
// schema: `required` (create needs it), `allow(null)` (update may empty it), `default` (create
// fills it in), and by `meta`, see FieldMeta. Joi's own rules and ours with a `jsonSchema` describe
// the field to OpenAPI.

import Joi from 'joi';
import { joiMessages } from './messages.ts';
import { canonicalHost, judgeDnsServer, judgeEndpoint, readAddress, readCidr } from './network.ts';

/** What `meta` may say of a field. */
export interface FieldMeta {
  /** Only answered; ignored when sent. */
  readOnly?: true;
  /** Only sent; never answered. */
  writeOnly?: true;
  /** Ignored by updates. */
  createOnly?: true;
  /** On create, null is no way to leave it out. */
  nullIsBlank?: true;
  /** Never null in answers, though an update may say null. */
  neverNull?: true;
  /** Required only where this field is not sent; it is empty then. */
  unless?: string;
  /**
   * Of a record in a list that is replaced whole, a field that older clients do not know: answered
   * only where it was sent, kept where a later list does not name it, taken away by null or "".
   */
  keptUnsent?: true;
  /** What JSON Schema says of it and Joi does not. */
  json?: Readonly<Record<string, unknown>>;
  /** The same for answers alone, where those have another form than requests. */
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

/** A rule on the number of code points, as Joi.extend takes it. */
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

/** True when a text has fewer code points; looks no further than it must. */
function isShorter(text: string, limit: number): boolean {
  if (text.length < limit) return true;
  let count = 0;
  for (const _character of text) if ((count += 1) >= limit) return false;
  return true;
}

/** Joi with our string: NUL and lone surrogates cannot be read, lengths count code points. */
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

/** How every schema here is run; strict ones convert nothing, the others trim. */
const preferences: Joi.ValidationOptions = {
  abortEarly: false,
  messages: joiMessages,
};

/** The fields of one resource. */
export function resource(fields: Record<string, Joi.Schema>): Joi.ObjectSchema {
  const judged = Object.entries(fields).map(([name, field]) => [name, field.prefs(preferences)]);
  return joi.object(Object.fromEntries(judged));
}

/** What `meta` says of a field, by its description. */
export function metaOf({ metas = [] }: Joi.Description): FieldMeta {
  return Object.assign({}, ...metas) as FieldMeta;
}

/** Adds what Joi has no word for. */
export function mark<S extends Joi.Schema>(schema: S, meta: FieldMeta): S {
  return schema.meta(meta) as S;
}

/** Members of each kind of list; judge.ts looks at no member of a longer one. */
const CIDRS_MAX = 1_000;
const DNS_SERVERS_MAX = 100;
const ENTRIES_MAX = 100;

/** Records with fields of their own; judge.ts judges each as a create, with distinct ids. */
export function entryList(description: string, entry: Joi.ObjectSchema): Joi.ArraySchema {
  return joi.array().items(entry).max(ENTRIES_MAX).description(description);
}

/** The records that a list holds; null where the schema is no such list. */
export function entryOf(schema: Joi.Schema): Joi.ObjectSchema | null {
  const { items } = schema.$_terms as { items?: Joi.Schema[] };
  const [item] = schema.type === 'array' ? (items ?? []) : [];
  return item?.type === 'object' ? (item as Joi.ObjectSchema) : null;
}

/**
 * Records of a list as they are kept: a field that older clients do not know stays as the record of
 * that id had it where it was not sent, and goes where null was sent.
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

/** Text that is taken as it comes. */
export function text(description: string): TextSchema {
  return joi.string().description(description);
}

/** Text without the spaces around it. */
export function trimmed(description: string): TextSchema {
  return text(description).trim() as TextSchema;
}

/** One of a few words. */
export function choice(description: string, ...words: string[]): Joi.StringSchema {
  return text(description).valid(...words);
}

/** True or false; judge.ts reads the texts that stand for them. */
export function flag(description: string): Joi.BooleanSchema {
  return joi.boolean().strict().description(description);
}

/** A whole number; judge.ts reads numbers sent as text. */
export function integer(description: string, min: number, max: number): Joi.NumberSchema {
  return joi.number().strict().unsafe().integer().min(min).max(max).description(description);
}

/** A point in time, only ever answered. */
export function timestamp(description: string): Joi.Schema {
  const pattern = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$';
  return mark(text(description).isoDate(), { readOnly: true, json: { pattern } });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True for a UUID in any case. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}

/** True for an id of a path that the database can be asked for. */
export function isReadableId(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

/** The id of another record; in lower case, as ids are kept. */
export function reference(description: string): TextSchema {
  const schema = text(description).custom(
    (id: string, helpers) => (isUuid(id) ? id.toLowerCase() : helpers.error('record.absent')),
    'UUID',
  ) as TextSchema;
  return mark(schema, { json: { format: 'uuid' } });
}

/** The id of the record itself. */
export function recordId(description: string): Joi.Schema {
  return mark(text(description).uuid(), { readOnly: true });
}

/** Addresses and CIDRs; a bad member spoils the list. */
export function cidrList(description: string): Joi.ArraySchema {
  return listOfText(description, CIDRS_MAX).custom((members: unknown[], helpers) => {
    const read = members.map((member) =>
      typeof member === 'string' ? readCidr(member.trim()) : null,
    );
    if (read.includes(null)) return helpers.error('list.member');
    return hasDuplicates(read) ? helpers.error('list.duplicates') : read;
  }, 'addresses or CIDRs');
}

/** DNS servers; one message for each fault. */
export function dnsList(description: string): Joi.ArraySchema {
  return listOfText(description, DNS_SERVERS_MAX).custom((members: unknown[], helpers) => {
    if (!members.every((member) => typeof member === 'string')) return helpers.error('list.member');
    const texts = members.map((member) => member.trim());
    const errors = errorList(helpers);
    for (const { host, codes } of texts.map(judgeDnsServer))
      for (const code of codes) errors.push(helpers.error(code, { host }));
    const canonical = texts.map(canonicalHost);
    if (hasDuplicates(canonical)) errors.push(helpers.error('list.duplicates'));
    return errors.length === 0 ? canonical : errors;
  }, 'addresses or host names');
}

/** Where clients find the gateway. */
export function endpoint(description: string): TextSchema {
  return trimmed(description).custom((value: string, helpers) => {
    const { host, codes } = judgeEndpoint(value);
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

/** An address or a CIDR, host bits and prefix as given. */
export function cidr(description: string): TextSchema {
  return trimmed(description).custom(
    (value: string, helpers) => readCidr(value) ?? helpers.error('address.bad'),
    'address or CIDR',
  ) as TextSchema;
}

/** An address of the web: http or https. */
export function url(description: string): TextSchema {
  const schema = trimmed(description).custom((value: string, helpers) => {
    const fault = urlFault(value);
    return fault === null ? value : helpers.error(fault);
  }, 'URL') as TextSchema;
  return mark(schema, { json: { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' } });
}

/** What is wrong with an address of the web; null when nothing is. */
export function urlFault(value: string): 'url.host' | 'url.scheme' | null {
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

/** An empty list of errors, such as a rule may return; Joi knows it by a mark of its own. */
function errorList(helpers: Joi.CustomHelpers): Joi.ErrorReport[] {
  return (helpers as Joi.CustomHelpers & { errorsArray(): Joi.ErrorReport[] }).errorsArray();
}
