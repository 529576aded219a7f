// The numbers of contract.h against those of TypeScript: the two sides of every batch.

import { readFileSync } from 'node:fs';
import test from 'ava';
import * as constants from '../../../dataplane/constants.ts';
import * as contract from '../../../dataplane/contract.ts';
import * as native from '../../../dataplane/native/index.ts';
import * as socketContract from '../../../dataplane/socket-contract.ts';
import { endpoint, ENDPOINT_BYTES } from '../../../dataplane/wire/address.ts';

const header = readFileSync(
  new URL('../../../dataplane/native/contract.h', import.meta.url),
  'utf8',
);

/** Every constexpr of the header; `1ull << 52` and the like are computed. */
const numbers = new Map(
  [...header.matchAll(/^constexpr \w+ (\w+) = ([^;]+);/gm)].map(([, name, text]) => [
    name!,
    evaluate(text!),
  ]),
);

/** Sums, products and shifts of whole numbers: all that the header uses. */
function evaluate(text: string): bigint {
  const plain = text.replaceAll('ull', '').trim();
  const parts = (operator: string): string[] | null => splitOutside(plain, operator);
  for (const operator of [' - ', ' + ', ' << ', ' * ']) {
    const found = parts(operator);
    if (found === null) continue;
    const [left, right] = found.map(evaluate) as [bigint, bigint];
    if (operator === ' - ') return left - right;
    if (operator === ' + ') return left + right;
    return operator === ' << ' ? left << right : left * right;
  }
  return plain.startsWith('(') ? evaluate(plain.slice(1, -1)) : BigInt(plain);
}

/** Splits at the last operator outside parentheses. */
function splitOutside(text: string, operator: string): [string, string] | null {
  for (let at = text.length; at >= 0; at--) {
    const left = text.slice(0, at);
    if (!text.startsWith(operator, at) || left.split('(').length !== left.split(')').length)
      continue;
    return [left, text.slice(at + operator.length)];
  }
  return null;
}

const shared: Readonly<Record<string, unknown>> = {
  ...constants,
  ...contract,
  ...native,
  ...socketContract,
};

/** Names that differ in C++, or that only C++ needs. */
const renamed: Readonly<Record<string, string>> = { ERRORS: 'ERROR_COUNT' };
const onlyNative = new Set(['TRANSPORT_HEADER_BYTES', 'TRAIN_DATAGRAMS', 'TRAIN_BYTES']);

test('the header was read', (t) => {
  t.true(numbers.size > 35);
  t.is(numbers.get('SLOT_BYTES'), 65_856n);
});

for (const [name, value] of numbers) {
  if (onlyNative.has(name)) continue;
  test(`${name} is the same number on both sides`, (t) => {
    t.is(shared[renamed[name] ?? name], Number(value));
  });
}

test('every mark, error and event of TypeScript is in the header', (t) => {
  for (const name of Object.keys(shared).filter((one) => /^(MARK|EVENT)_/.test(one)))
    t.true(numbers.has(name), name);
});

test('a train fits into one datagram of IPv4', (t) => {
  t.true(numbers.get('TRAIN_BYTES')! <= 65_507n);
});

test('the header of transport data is the rest of its overhead', (t) => {
  t.is(
    numbers.get('TRANSPORT_HEADER_BYTES')! + numbers.get('TAG_BYTES')!,
    BigInt(constants.TRANSPORT_OVERHEAD_BYTES),
  );
});

test('the fields of an endpoint record stand where TypeScript says', (t) => {
  const struct = /struct EndpointRecord \{([^}]*)\};/.exec(header)![1]!;
  const sizes: Record<string, number> = { uint8_t: 1, uint16_t: 2, uint32_t: 4 };
  const offsets = new Map<string, number>();
  let at = 0;
  for (const [, type, name, count] of struct.matchAll(/^\s*(uint\d+_t) (\w+)(?:\[(\d+)\])?;/gm)) {
    offsets.set(name!, at);
    at += sizes[type!]! * Number(count ?? 1);
  }
  t.is(at, ENDPOINT_BYTES);
  for (const [name, offset] of Object.entries(endpoint))
    t.is(offsets.get(name === 'identity' ? 'single_until' : name), offset, name);
});
