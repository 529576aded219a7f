// Users: one e-mail, one user, whatever its case and its form.

import test from 'ava';
import { emailKey, emailLook } from '../../../models/index.ts';
import { uniqueColumn } from '../../../models/database/errors.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

test('an e-mail has one key for every case and every form of its letters', (t) => {
  t.is(emailKey('Ann@Example.COM'), 'ann@example.com');
  t.is(emailKey('e\u0301@x'), emailKey('\u00c9@X'));
  t.not(emailKey('e@x'), emailKey('\u00e9@x'));
  t.not(emailKey('a@x'), emailKey('a@x '));
  for (const email of ['\u0130@x', 'A\u030A@X', '\u1E9E@x', '\u{1d160}@x'])
    t.is(emailKey(emailKey(email)), emailKey(email), email);
});

test('addresses look alike whose letters a person takes for one another', (t) => {
  const kim = emailLook('kim@example.com');
  t.regex(kim, /^[0-9a-f]{64}$/);
  for (const lookAlike of [
    'KIM@Example.com',
    '\u212aim@example.com',
    'k\u0131m@example.com',
    'K\u0130M@example.com',
    'k\u0131\u0307m@example.com',
    '\uff4b\uff49\uff4d@example.com',
    '\uff2b\uff29\uff2d\uff20example\uff0ecom',
    '\u{1d424}im@example.com',
    'k\u2170m@example.com',
    'ki\u00adm@example.com',
    'kim@\u200bexample.com',
    'kim\ufe0f@example.com',
  ])
    t.is(emailLook(lookAlike), kim, JSON.stringify(lookAlike));
  for (const other of [
    'kin@example.com',
    'k\u00edm@example.com',
    'kim@example.org',
    'kim@example.com ',
    'k.im@example.com',
  ])
    t.not(emailLook(other), kim, other);
  t.is(emailLook('\u017fam@x'), emailLook('SAM@x'));
  t.is(emailLook('\u00e5@x'), emailLook('\u212b@x'));
  t.not(emailLook('e@x'), emailLook('\u00e9@x'));
});

for (const kind of databaseKinds()) {
  test(`${kind}: a fresh user is enabled, unprivileged and without password`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database, { email: 'Ann@Example.com' });
    const user = await database.models.User.findByPk(id, { rejectOnEmpty: true });
    const { email, email_key, role, password_hash, disabled_at, disabled_by } = user;
    t.deepEqual(
      { email, email_key, role, password_hash, disabled_at, disabled_by },
      {
        email: 'Ann@Example.com',
        email_key: 'ann@example.com',
        role: 'unprivileged',
        password_hash: null,
        disabled_at: null,
        disabled_by: null,
      },
    );
    t.is(user.last_signed_in_at, null);
    t.is(user.last_signed_in_method, null);
  });

  test(`${kind}: an e-mail is taken in every case, also by an update`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@example.com' });
    const taken = async (act: Promise<unknown>) =>
      t.is(uniqueColumn(await t.throwsAsync(act)), 'email_key');
    await taken(addUser(database, { email: 'ANN@EXAMPLE.COM' }));
    const { id } = await addUser(database);
    await taken(
      write(database, async (transaction) => {
        const other = await database.models.User.findByPk(id, { transaction, rejectOnEmpty: true });
        await other.update({ email: 'Ann@example.com' }, { transaction });
      }),
    );
  });

  test(`${kind}: a user is found by e-mail in any case, and may change only the case`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@example.com' });
    await write(database, (transaction) =>
      user.update({ email: 'Ann@example.com' }, { transaction }),
    );
    const found = await database.models.User.findOne({
      where: { email_key: emailKey('ANN@example.com') },
      rejectOnEmpty: true,
    });
    t.is(found.id, user.id);
    t.is(found.email, 'Ann@example.com');
  });

  test(`${kind}: a user is disabled with its cause, to the millisecond`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const disabled_at = new Date('2026-11-20T10:11:12.345Z');
    await write(database, (transaction) =>
      user.update({ disabled_at, disabled_by: 'provider' }, { transaction }),
    );
    await user.reload();
    t.deepEqual(user.disabled_at, disabled_at);
    t.is(user.disabled_by, 'provider');
  });
}
