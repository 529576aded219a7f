// Times as people type them: in UTC, or with the offset of their zone.

import test from 'ava';
import { timeIn, typedTime } from '../../../../lib/web/kit/typed-time.ts';

const typed = (ends_at: string, ends_at_offset?: string): string =>
  timeIn(
    { payload: { ends_at, ...(ends_at_offset === undefined ? {} : { ends_at_offset }) } },
    'ends_at',
  );

test('a time without an offset is in UTC, one with an offset becomes so', (t) => {
  t.is(typed(''), '');
  t.is(typed('', '60'), '');
  t.is(typed(' 2026-12-31T17:00 '), '2026-12-31T17:00');
  t.is(typed('2026-12-31T17:00', '-60'), '2026-12-31T16:00');
  t.is(typed('2026-12-31T23:30:15', '300'), '2027-01-01T04:30:15');
  t.is(typed('2026-12-31T17:00', '-345'), '2026-12-31T11:15');
});

test('an offset that no zone has, or a time that the zone does not have, is no time', (t) => {
  for (const offset of ['none', '841', '-9999', '1e2', '0x1', '60; 1'])
    t.is(typed('2026-03-29T02:30', offset), `2026-03-29T02:30 ${offset}`);
  t.is(typed('yesterday', '60'), 'yesterday 60');
});

test('times of the API are typed without zone, and without parts that are zero', (t) => {
  t.is(typedTime('2026-12-31T17:00:00.000000Z'), '2026-12-31T17:00');
  t.is(typedTime('2026-12-31T17:00:01.500000Z'), '2026-12-31T17:00:01.500');
});
