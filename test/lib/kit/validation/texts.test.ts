// What a text is.

import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { readAddress } from '../../../../lib/kit/validation/network.ts';
import {
  endpointText,
  isAddress,
  isReadableId,
  isSameAddress,
  isUuid,
  readTime,
  shortened,
} from '../../../../lib/kit/validation/texts.ts';

const UUID = randomUUID();

test('ids are UUIDs in any case, and texts that a database can be asked for', (t) => {
  t.true(isUuid(UUID));
  t.true(isUuid(UUID.toUpperCase()));
  for (const bad of ['', 'x', UUID.slice(1), `${UUID}0`, `{${UUID}}`]) t.false(isUuid(bad));
  t.true(isReadableId('a@b.c'));
  t.false(isReadableId('a\0'));
  t.false(isReadableId('\ud800'));
});

test('two texts are one address exactly where they are kept as the same one', (t) => {
  const group = fc.constantFrom('0', '0000', 'a', 'A', '000a', 'ffff');
  const written = fc.array(group, { minLength: 8, maxLength: 8 }).map((parts) => parts.join(':'));
  const odd = ['', 'laptop', '::', '::1.2.3.4', '::ffff:1.2.3.4', '010.0.0.1', 'fe80::1%eth0'];
  const any = fc.oneof(written, fc.ipV6(), fc.ipV4(), fc.constantFrom(...odd));
  fc.assert(
    fc.property(any, any, (a, b) => {
      const read = readAddress(a)?.text;
      t.is(isAddress(a), read !== undefined, a);
      const isSame = read !== undefined && read === readAddress(b)?.text;
      t.is(isSameAddress(a, b), isSame, `${a} ${b}`);
      if (read !== undefined) t.true(isSameAddress(a, read), a);
    }),
  );
});

test('an endpoint has brackets where an address has colons', (t) => {
  t.is(endpointText('192.0.2.1', 51_820), '192.0.2.1:51820');
  t.is(endpointText('2001:db8::1', 1), '[2001:db8::1]:1');
  t.is(endpointText('fe80::1%eth0', 1), '[fe80::1%eth0]:1');
});

test('a time has a zone, is in the calendar, and has four digits for its year in UTC', (t) => {
  const good: [string, string][] = [
    ['2026-11-25T10:00Z', '2026-11-25T10:00:00.000Z'],
    ['2026-11-25T10:00:00.5+02:00', '2026-11-25T08:00:00.500Z'],
    ['1970-01-01T01:00:00+01:00', '1970-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['2024-02-29T23:59:59-14:00', '2024-03-01T13:59:59.000Z'],
  ];
  for (const [text, time] of good) t.is(readTime(text)?.toISOString(), time, text);
  const bad = [
    '',
    'noon',
    '2026-11-25',
    '2026-11-25T10:00',
    '2026-02-30T10:00Z',
    '2026-11-25T25:00Z',
  ];
  const outside = [
    '9999-12-31T23:59:59-10:00',
    '1970-01-01T00:30:00+01:00',
    '0000-01-01T00:00:00+10:00',
    '0099-06-01T00:00:00Z',
    '+010000-01-01T00:00:00Z',
    `2026-11-25T10:00:00.${'0'.repeat(64)}Z`,
  ];
  for (const text of [...bad, ...outside]) t.is(readTime(text), null, text);
});

test('messages repeat the beginning of a foreign text', (t) => {
  t.is(shortened('a'.repeat(200)), 'a'.repeat(200));
  t.is(shortened('a'.repeat(100_000)), `${'a'.repeat(200)}…`);
});
