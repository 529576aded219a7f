// Many people become users with links at once. Which groups they join: joining.test.ts.

import test from 'ava';
import { enrolledFile, enrolMany } from '../../../../lib/domain/enrolment/many.ts';
import { peopleOf } from '../../../support/auth/people.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addUser, write } from '../../../models/fixtures.ts';

for (const kind of databaseKinds())
  test(`${kind}: everybody who is enabled gets a link; who is new is made`, async (t) => {
    const database = await openDatabase(t, kind);
    const present = await addUser(database, {
      email: 'Ann@example.com',
      name: 'Ann Lee',
      role: 'admin',
    });
    const disabled = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await addUser(database, { email: 'bob@example.com', ...disabled });
    const people = peopleOf('ann@example.com', 'bob@example.com', 'eve@example.com');
    people.people = people.people.map((one, i) => ({ ...one, name: `Person ${i}` }));
    const wish = {
      hours: 1,
      createdBy: null,
      isMailed: false,
      externalUrl: 'https://vpn.example/postern/',
    };
    const { people: made } = await write(database, (transaction) =>
      enrolMany(database, people, wish, transaction),
    );
    t.deepEqual(
      made.map(({ email, was_there: wasThere, url }) => [email, wasThere, url !== null]),
      [
        ['Ann@example.com', true, true],
        ['bob@example.com', true, false],
        ['eve@example.com', false, true],
      ],
    );
    t.regex(made[0]?.url ?? '', /^https:\/\/vpn\.example\/postern\/one_time_links\/[\w-]{43}$/);
    await present.reload();
    t.is(present.role, 'admin');
    t.is(present.name, 'Ann Lee', 'a list never replaces a name');
    const eve = await database.models.User.findByPk(made[2]?.user_id ?? '');
    t.like(eve, {
      email: 'eve@example.com',
      name: 'Person 2',
      role: 'unprivileged',
      password_hash: null,
    });
    const file = enrolledFile(made).split('\r\n');
    t.deepEqual(file.slice(2), [
      'bob@example.com,,',
      `eve@example.com,${made[2]?.url},${made[2]?.expires_at}`,
      '',
    ]);
  });
