// Users are found by how their e-mails look, also after a change of the e-mail.

import test from 'ava';
import { emailLook, findLookAlikes } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

const KIM = 'kim@example.com';
const WIDE = '\uff4bim@example.com';

for (const kind of databaseKinds())
  test(`${kind}: all users of one look are found, and whoever changes the e-mail has another`, async (t) => {
    const database = await openDatabase(t, kind);
    const users = [
      await addUser(database, { email: KIM }),
      await addUser(database, { email: WIDE }),
      await addUser(database, { email: 'eve@example.com' }),
    ] as const;
    const find = async (...emails: string[]) => {
      const found = await write(database, (transaction) =>
        findLookAlikes(database, emails, transaction),
      );
      return found.map(({ id }) => id).toSorted();
    };
    const ids = users.map(({ id }) => id);
    const look = emailLook(KIM);
    t.deepEqual(await find('\u212aim@example.com'), ids.slice(0, 2).toSorted());
    t.deepEqual(await find(WIDE, 'EVE@example.com'), ids.toSorted());
    t.deepEqual(await find('nobody@example.com'), []);
    t.deepEqual(await find(), []);
    t.is((await database.models.User.findByPk(ids[1]))?.email_look, look);
    await write(database, (transaction) =>
      users[1].update({ email: 'kai@example.com' }, { transaction }),
    );
    t.deepEqual(await find(KIM), [ids[0]]);
  });
