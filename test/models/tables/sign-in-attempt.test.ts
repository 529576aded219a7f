// Attempts as rows: one for each thing that is counted.

import test from 'ava';
import { UniqueConstraintError } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: what is counted has one row`, async (t) => {
    const database = await openDatabase(t, kind);
    const { SignInAttempt } = database.models;
    const row = {
      sha256: 'a'.repeat(64),
      kind: 'account',
      count: 1,
      expires_at: new Date(),
    } as const;
    await SignInAttempt.create(row);
    await t.throwsAsync(SignInAttempt.create(row), { instanceOf: UniqueConstraintError });
    const found = await SignInAttempt.findByPk(row.sha256);
    t.is(found?.expires_at.getTime(), row.expires_at.getTime());
  });
}
