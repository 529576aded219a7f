// The column of users that says whether they put the first steps away: it is added once, and takes a
// time.

import test from 'ava';
import { up } from '../../../models/migrations/0021-first-steps.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds())
  test(`${kind}: the column may be added again, and keeps what it has`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await user.reload();
    t.is(user.first_steps_dismissed_at, null);
    const first_steps_dismissed_at = new Date(Date.UTC(2026, 10, 30));
    await write(database, (transaction) =>
      user.update({ first_steps_dismissed_at }, { transaction }),
    );
    await up(database);
    await user.reload();
    t.deepEqual(user.first_steps_dismissed_at, first_steps_dismissed_at);
  });
