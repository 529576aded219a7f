// Used assertions: each lets somebody in once, and is forgotten when it has expired.

import test from 'ava';
import { forgetAssertions, useAssertion } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const now = new Date('2026-11-21T12:00:00Z');
const later = new Date(now.getTime() + 60_000);

for (const kind of databaseKinds())
  test(`${kind}: an assertion is used once, whoever races, and forgotten when it expired`, async (t) => {
    const database = await openDatabase(t, kind);
    const id = 'a'.repeat(64);
    const use = () => useAssertion(database, { id, expiresAt: later });
    const uses = await Promise.all([use(), use(), use()]);
    t.deepEqual(uses.toSorted(), [false, false, true]);
    t.true(await useAssertion(database, { id: 'b'.repeat(64), expiresAt: later }));
    const latest = new Date(later.getTime() + 1);
    await useAssertion(database, { id: 'c'.repeat(64), expiresAt: latest });
    t.is(await forgetAssertions(database, now), 0);
    t.false(await use(), 'using another forgot none');
    t.is(await forgetAssertions(database, later), 2);
    const left = await database.models.UsedAssertion.findAll();
    t.deepEqual(
      left.map((row) => row.id[0]),
      ['c'],
    );
  });
