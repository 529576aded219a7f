// Owners by e-mail and by id; people and groups that a field offers.

import test from 'ava';
import {
  ownerEmails,
  ownerErrors,
  ownerIdOf,
  offeredGroups,
  offeredPeople,
} from '../../../../lib/web/parts/owners.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { write } from '../../../models/fixtures.ts';

for (const kind of firstKind()) {
  test(`${kind}: an e-mail in any spelling finds its user, an unknown one finds nobody`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database, { email: 'Ann@example.com' });
    t.is(await ownerIdOf(database, 'ann@EXAMPLE.com'), id);
    t.is(await ownerIdOf(database, 'bob@example.com'), 'nobody');
    t.is(await ownerIdOf(database, ''), '');
  });

  test(`${kind}: people are offered by e-mail with their names, however many there are`, async (t) => {
    const database = await openDatabase(t, kind);
    await write(database, (transaction) =>
      database.models.User.bulkCreate(
        Array.from({ length: 101 }, (_, i) => ({
          email: `u${i}@example.com`,
          role: 'unprivileged',
        })),
        { transaction },
      ),
    );
    await addUser(database, { email: 'Ann@example.com', name: 'Ann <b>Archer' });
    const ann = { value: 'Ann@example.com', label: 'Ann@example.com · Ann <b>Archer' };
    t.deepEqual(await offeredPeople(database, ' archer '), [ann]);
    const all = await offeredPeople(database, '');
    t.is(all.length, 10);
    t.deepEqual(all[0], ann);
  });

  test(`${kind}: a group is offered behind those that were typed before it`, async (t) => {
    const database = await openDatabase(t, kind);
    const [, both] = await write(database, (transaction) =>
      database.models.Group.bulkCreate([{ name: 'Staff' }, { name: 'On|Off' }], { transaction }),
    );
    t.deepEqual(await offeredGroups(database, 'sta'), [{ value: 'Staff', label: 'Staff' }]);
    t.deepEqual(await offeredGroups(database, 'Guests| sta'), [
      { value: 'Guests|Staff', label: 'Staff' },
    ]);
    t.is((await offeredGroups(database, 'Guests|')).length, 2);
    const [byId] = await offeredGroups(database, 'on');
    t.deepEqual(byId, { value: both!.id, label: 'On|Off' }, 'its name would be read as two');
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
