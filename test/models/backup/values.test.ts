// Values on their way from one database to the other: exact, or refused.

import test from 'ava';
import { selectable, sqlValueOf, valueOf } from '../../../models/backup/values.ts';

const good = [
  ['text', '', ''],
  ['text', '😀\n', '😀\n'],
  ['integer', -7, -7],
  ['bigint', '9223372036854775807', '9223372036854775807'],
  ['flag', 1, true],
  ['flag', 0, false],
  ['time', '2026-11-21 08:09:10.123 +00:00', '2026-11-21T08:09:10.123000Z'],
  ['time', '2026-11-21 08:09:10.123456', '2026-11-21T08:09:10.123456Z'],
  ['text', null, null],
] as const;

for (const [kind, raw, value] of good)
  test(`${kind} ${JSON.stringify(raw)} is carried as ${JSON.stringify(value)}`, (t) => {
    t.is(valueOf(kind, raw), value);
    const back = sqlValueOf('sqlite', kind, value);
    t.not(back, undefined);
    t.is(valueOf(kind, back), value);
  });

test('a time has the text that all others of its column have', (t) => {
  const at = '2026-11-21T08:09:10.123000Z';
  t.is(sqlValueOf('sqlite', 'time', at), '2026-11-21 08:09:10.123 +00:00');
  t.is(sqlValueOf('mysql', 'time', at), '2026-11-21 08:09:10.123000');
  const finer = '2026-11-21T08:09:10.123456Z';
  t.is(sqlValueOf('sqlite', 'time', finer), '2026-11-21 08:09:10.123456 +00:00');
});

const bad = [
  ['text', 7],
  ['integer', '7'],
  ['integer', 2 ** 53],
  ['bigint', 7],
  ['bigint', '1e3'],
  ['flag', 2],
  ['flag', 'true'],
  ['time', 'yesterday'],
  ['time', '2026-13-41T08:09:10.123000Z'],
  ['time', 7],
] as const;

for (const [kind, value] of bad)
  test(`${JSON.stringify(value)} is no ${kind}`, (t) => {
    t.is(valueOf(kind, value), undefined);
    t.is(sqlValueOf('mysql', kind, value), undefined);
  });

test('great numbers and times are read as text, where the driver would not', (t) => {
  t.is(selectable('sqlite', 'a', 'bigint'), 'CAST(a AS TEXT)');
  t.is(selectable('mysql', 'a', 'bigint'), 'CAST(a AS CHAR)');
  t.is(selectable('mysql', 'a', 'time'), 'CAST(a AS CHAR)');
  t.is(selectable('sqlite', 'a', 'time'), 'a');
  t.is(selectable('mysql', 'a', 'text'), 'a');
});
