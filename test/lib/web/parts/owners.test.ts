// Owners by e-mail and by id.

import test from 'ava';
import {
  ownerEmails,
  ownerErrors,
  ownerIdOf,
  suggestedOwners,
} from '../../../../lib/web/parts/owners.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';

for (const kind of firstKind()) {
  test(`${kind}: an e-mail in any spelling finds its user, an unknown one finds nobody`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database, { email: 'Ann@example.com' });
    t.is(await ownerIdOf(database, 'ann@EXAMPLE.com'), id);
    t.is(await ownerIdOf(database, 'bob@example.com'), 'nobody');
    t.is(await ownerIdOf(database, ''), '');
  });

  test(`${kind}: people are offered by e-mail with their names, and none if there are many`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'bob@example.com' });
    await addUser(database, { email: 'Ann@example.com', name: 'Ann <b>Archer' });
    t.deepEqual(await suggestedOwners(database), [
      { value: 'Ann@example.com', label: 'Ann@example.com · Ann <b>Archer' },
      { value: 'bob@example.com' },
    ]);
    for (let i = 0; i < 99; i += 1) await addUser(database, { email: `u${i}@example.com` });
    t.deepEqual(await suggestedOwners(database), []);
  });

  test(`${kind}: owners are found by id, each once, and an empty list finds nobody`, async (t) => {
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

test('an e-mail that nobody has is an error with its name; other errors are kept', (t) => {
  t.deepEqual(ownerErrors({ user_id: [messages.absent] }, 'a@x'), {
    user_id: ['No user has the e-mail “a@x”'],
  });
  const other = { user_id: ["can't be blank"], name: ['is invalid'] };
  t.is(ownerErrors(other, ''), other);
});
