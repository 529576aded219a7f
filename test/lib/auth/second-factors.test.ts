// Second factors.

import test from 'ava';
import { hasSecondFactor } from '../../../lib/auth/second-factors.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';
import { addPerson } from '../../support/visitor.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a user has a second factor once one is set up`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addPerson(database, 'ann@example.com');
    t.false(await hasSecondFactor(database, id));
    const row = { user_id: id, name: 'phone', secret: 'JBSWY3DPEHPK3PXP', last_step: 0 };
    await database.models.SecondFactor.create({ ...row, inserted_at: new Date() });
    t.true(await hasSecondFactor(database, id));
  });
}
