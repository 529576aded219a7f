// Statements of one transaction run one by one; after it ended, none is sent any more.

import test from 'ava';
import { readTransaction, writeTransaction } from '../../../models/index.ts';
import { outermost } from '../../../models/storage/statement-order.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, userValues } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: statements asked for together all run, in their order`, async (t) => {
    const database = await openDatabase(t, kind);
    const { result } = await writeTransaction(database, (transaction) =>
      Promise.all(
        Array.from({ length: 20 }, () =>
          database.models.User.create(userValues(), { transaction }),
        ),
      ),
    );
    const ids = (await database.models.User.findAll({ order: ['id'] })).map(({ id }) => id);
    t.deepEqual(
      ids,
      result.map(({ id }) => id),
    );
  });

  test(`${kind}: when one of several statements fails, none of the rest remains`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const { User } = database.models;
    await t.throwsAsync(
      writeTransaction(database, (transaction) =>
        Promise.all([
          User.create({ email: user.email }, { transaction }),
          ...Array.from({ length: 10 }, () => User.create(userValues(), { transaction })),
        ]),
      ),
      { name: 'SequelizeUniqueConstraintError' },
    );
    t.is(await User.count(), 1);
  });

  test(`${kind}: a statement that nobody waited for does not outlive its transaction`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    let late: Promise<unknown> | undefined;
    await t.throwsAsync(
      writeTransaction(database, async (transaction) => {
        const first = User.count({ transaction });
        late = User.create(userValues(), { transaction }).catch(() => undefined);
        await first;
        throw new Error('roll back');
      }),
      { message: 'roll back' },
    );
    await late;
    t.is(await User.count(), 0);
  });

  test(`${kind}: a savepoint belongs to the transaction around it`, async (t) => {
    const database = await openDatabase(t, kind);
    await readTransaction(database, async (transaction) => {
      const savepoint = await database.sequelize.transaction({ transaction });
      t.is(outermost(savepoint), transaction);
      t.is(outermost(transaction), transaction);
      t.is(await database.models.User.count({ transaction: savepoint }), 0);
    });
  });
}
