// Random requests made of the OpenAPI document: values that a schema allows, and values that it
// cannot allow whatever else a request holds.

import fc, { type Arbitrary } from 'fast-check';
import { type Part, resolve } from './openapi.ts';
import { anyCharacter } from './characters.ts';

/** Any value that a schema allows, as far as its keywords say. */
export function allowedBy(given: Part): Arbitrary<unknown> {
  return once(allowed, resolve(given), makeAllowed);
}

/** Values that no schema of these types allows; checked alone, whatever the field is. */
export function refusedBy(given: Part): Arbitrary<unknown> {
  return once(refused, resolve(given), makeRefused);
}

const allowed = new WeakMap<object, Arbitrary<unknown>>();
const refused = new WeakMap<object, Arbitrary<unknown>>();

/** To make them for a schema takes longer than to draw a value of them. */
function once(
  made: WeakMap<object, Arbitrary<unknown>>,
  schema: Part,
  make: (schema: Part) => Arbitrary<unknown>,
): Arbitrary<unknown> {
  const found = made.get(schema as object) ?? make(schema);
  made.set(schema as object, found);
  return found;
}

function makeAllowed(schema: Part): Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as unknown[]));
  const types = typesOf(schema);
  return fc.oneof(...types.map((type) => ofType(type, schema)));
}

function ofType(type: string, schema: Part): Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -(2 ** 31), max: schema.maximum ?? 2 ** 31 });
    case 'array':
      return fc.array(allowedBy(schema.items), { maxLength: 4 });
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries<Part>(schema.properties ?? {}).map(([name, one]) => [
            name,
            allowedBy(one),
          ]),
        ),
        { requiredKeys: (schema.required ?? []) as string[] },
      );
    default:
      return textOf(schema);
  }
}

const likely = fc.constantFrom(
  'a.b',
  'vpn.example.com:51820',
  '10.0.0.0/8',
  '9.9.9.9',
  'fd00::/64',
  '::1',
  'ann@example.com',
  'openid email',
  'correct horse battery',
);

function textOf({ format, pattern, minLength = 0, maxLength = 300 }: Part): Arbitrary<unknown> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'ipv4') return fc.oneof(fc.ipV4(), fc.constantFrom('100.64.0.9', '100.127.9.9'));
  if (format === 'ipv6') return fc.oneof(fc.ipV6(), fc.constantFrom('fd00::9', 'fd00::3f:9'));
  if (pattern !== undefined)
    return fc
      .stringMatching(new RegExp(pattern as string))
      .filter((text) => text.length >= minLength && text.length <= maxLength);
  const any = fc.string({ unit: anyCharacter, minLength, maxLength: Math.min(maxLength, 80) });
  return fc.oneof(any, likely);
}

function makeRefused(schema: Part): Arbitrary<unknown> {
  const types = typesOf(schema);
  const all = fc.oneof(
    fc.string({ unit: anyCharacter }).map((text) => ({ [text]: text })),
    fc.constantFrom(
      JSON.parse('{"__proto__":{"polluted":1}}') as unknown,
      { constructor: { prototype: 1 } },
      { toString: 1, valueOf: null, length: 5 },
      nested(900),
      1e300,
      -1e308,
      0.5,
      Number.MAX_SAFE_INTEGER + 2,
    ),
    types.includes('array') ? fc.constant([{}]) : fc.array(fc.jsonValue(), { minLength: 1 }),
    types.includes('string')
      ? fc.constantFrom('\0', 'a\0b', '\ud800', 'x\udfffy', '\udc00\ud800')
      : fc.string({ unit: anyCharacter, minLength: 1 }).filter((text) => !/^[+-]?\d*$/.test(text)),
  );
  return all.filter((value) => !isOf(types, value));
}

/** Lists in lists. */
function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < depth; i += 1) value = [value];
  return value;
}

function typesOf({ type }: Part): string[] {
  return (Array.isArray(type) ? type : [type]) as string[];
}

/** True for a value that could be one of the types. */
function isOf(types: readonly string[], value: unknown): boolean {
  if (typeof value === 'object' && value !== null)
    // A list of what no list here holds stays refused; an object may be one.
    return !Array.isArray(value) && types.includes('object');
  if (typeof value === 'boolean') return types.includes('boolean');
  if (typeof value === 'string')
    return types.includes('boolean') && /^(true|false|0|1)$/.test(value);
  return false;
}
