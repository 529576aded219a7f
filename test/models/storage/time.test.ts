// Timestamps as text: what is written can be read, on both databases.

import test from 'ava';
import { parseSqlTime, sqlTime } from '../../../models/storage/time.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addRule } from '../fixtures.ts';

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

for (const kind of databaseKinds())
  test(`${kind}: models read every year as it was written`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const year of ['0001', '0049', '0099', '0100', '1066', '2026', '9999']) {
      const endsAt = new Date(`${year}-06-01T01:02:03.456Z`);
      const { id } = await addRule(database, { destination: '10.0.0.1', ends_at: endsAt });
      const row = await database.models.Rule.findByPk(id, { rejectOnEmpty: true });
      t.is(row.ends_at?.toISOString(), endsAt.toISOString());
    }
  });
