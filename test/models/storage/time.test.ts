// Timestamps as text: what is written can be read, on both databases.

import test from 'ava';
import { parseSqlTime, sqlTime } from '../../../models/storage/time.ts';

const time = new Date('2026-11-20T10:11:12.345Z');

test('a time is written as the columns hold it', (t) => {
  t.is(sqlTime('sqlite', time), '2026-11-20 10:11:12.345 +00:00');
  t.is(sqlTime('mysql', time), '2026-11-20 10:11:12.345');
});

test('a time is read from the text of either database, and from a Date', (t) => {
  for (const value of [
    '2026-11-20 10:11:12.345 +00:00',
    '2026-11-20 10:11:12.345000',
    '2026-11-20 10:11:12.345',
    time,
  ])
    t.deepEqual(parseSqlTime(value), time);
});
