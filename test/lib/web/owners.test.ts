// Owners by e-mail and by id.

import test from 'ava';
import { ownerEmails, ownerIdOf } from '../../../lib/web/owners.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';
import { addUser } from '../../support/records.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: an e-mail in any spelling is its user's id, a strange one nobody's`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database, { email: 'Ann@example.com' });
    t.is(await ownerIdOf(database, 'ann@EXAMPLE.com'), id);
    t.is(await ownerIdOf(database, 'bob@example.com'), 'nobody');
    t.is(await ownerIdOf(database, ''), '');
  });

  test(`${kind}: owners are told by id, each once, and nobody where there is none`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database, { email: 'ann@example.com' });
    const bob = await addUser(database, { email: 'bob@example.com' });
    const records = [ann.id, null, bob.id, ann.id].map((user_id) => ({ user_id }));
    const emails = await ownerEmails(database, records);
    t.deepEqual(Object.fromEntries(emails), {
      [ann.id]: 'ann@example.com',
      [bob.id]: 'bob@example.com',
    });
    t.deepEqual(await ownerEmails(database, [{ user_id: null }]), new Map());
  });
}
