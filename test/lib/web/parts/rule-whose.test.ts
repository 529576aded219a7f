// Whose a rule is, in one field: everyone, a user or a group, and what it offers.

import test from 'ava';
import {
  offeredWhose,
  readWhose,
  whoseErrors,
  whoseText,
} from '../../../../lib/web/parts/rule-whose.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: a name is read as it is shown, and a group may have the name of a user`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@example.com' });
    const addGroup = (name: string) =>
      write(database, (transaction) => database.models.Group.create({ name }, { transaction }));
    const [staff, namesake, all] = [
      await addGroup('staff'),
      await addGroup('ann@example.com'),
      await addGroup('everyone'),
    ];
    const none = { user_id: '', group_id: '' };
    for (const [text, wanted] of [
      ['', none],
      ['  Everyone ', none],
      ['ANN@example.com', { ...none, user_id: user.id }],
      ['staff', { ...none, group_id: staff.id }],
      ['group staff', { ...none, group_id: staff.id }],
      ['group ann@example.com', { ...none, group_id: namesake.id }],
      ['group everyone', { ...none, group_id: all.id }],
    ] as const)
      t.deepEqual(await readWhose(database, text), wanted, text);
    const unknown = await readWhose(database, 'nobody here');
    t.notRegex(unknown.user_id, /^$|^[0-9a-f-]{36}$/);
    for (const whose of [
      { user_id: null, group_id: null },
      { user_id: user.id, group_id: null },
      { user_id: null, group_id: staff.id },
      { user_id: null, group_id: namesake.id },
    ]) {
      const text = await whoseText(database, whose);
      const read = await readWhose(database, text);
      t.deepEqual(read, { user_id: whose.user_id ?? '', group_id: whose.group_id ?? '' }, text);
    }
    const plain = (value: string) => ({ value, label: value });
    t.deepEqual(await offeredWhose(database, 'ann'), [
      plain('group ann@example.com'),
      plain('ann@example.com'),
    ]);
    t.deepEqual(await offeredWhose(database, 'group st'), [plain('group staff')]);
    t.deepEqual((await offeredWhose(database, ''))[0], plain('everyone'));
    for (let i = 0; i < 12; i += 1) await addUser(database);
    t.is((await offeredWhose(database, '')).length, 10);
  });

for (const kind of databaseKinds()) {
  test(`${kind}: a person is offered by e-mail and name, and chosen by the e-mail alone`, async (t) => {
    const database = await openDatabase(t, kind);
    const boss = await addUser(database, { email: 'b@example.com', name: 'everyone' });
    await addUser(database, { email: 'smith@example.com', name: 'b@example.com' });
    const label = 'b@example.com · everyone';
    t.deepEqual(await offeredWhose(database, 'every'), [
      { value: 'everyone', label: 'everyone' },
      { value: 'b@example.com', label },
    ]);
    const [first, second] = await offeredWhose(database, 'B@');
    t.deepEqual(first, { value: 'b@example.com', label });
    t.deepEqual(second, { value: 'smith@example.com', label: 'smith@example.com · b@example.com' });
    t.is((await readWhose(database, first?.value ?? '')).user_id, boss.id);
    t.deepEqual(await readWhose(database, 'everyone'), { user_id: '', group_id: '' });
  });
}

test('errors of both fields of the API stand at the one field', (t) => {
  t.deepEqual(whoseErrors({ user_id: [messages.absent] }, 'x'), {
    whose: ['No user has the e-mail “x”, and no group has this name'],
  });
  const others = { destination: ['is wrong'] };
  t.deepEqual(whoseErrors(others, 'x'), others);
  t.deepEqual(whoseErrors({ ...others, group_id: ['is odd'] }, 'x'), {
    ...others,
    whose: ['is odd'],
  });
});
