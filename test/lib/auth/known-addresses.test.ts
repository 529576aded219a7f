// Addresses from which somebody signed in before.

import test from 'ava';
import { KNOWN_MAX, KnownAddresses } from '../../../lib/auth/known-addresses.ts';
import { configOf } from '../../support/api/server.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addPerson } from '../../support/web/visitor.ts';

for (const kind of databaseKinds())
  test(`${kind}: live sessions tell them at first, and only open ones`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: user_id } = await addPerson(database, 'ann@example.com');
    const now = new Date();
    const times = { inserted_at: now, seen_at: now };
    for (const [i, [state, address]] of (
      [
        ['open', '2001:db8:1:2::3'],
        ['second factor', '192.0.2.1'],
      ] as const
    ).entries())
      await database.models.Session.create({
        user_id,
        state,
        address,
        method: 'email',
        ...times,
        sha256: String(i).repeat(64),
      });
    const known = await KnownAddresses.of(database, configOf());
    t.true(known.has('2001:db8:1:2::99'), 'the /64 counts');
    t.false(known.has('192.0.2.1'), 'a password alone is no sign-in there');
    known.add('192.0.2.1');
    t.true((await KnownAddresses.of(database, configOf())).has('192.0.2.1'));
  });

test('the one that was used longest ago is forgotten', (t) => {
  const known = new KnownAddresses(configOf());
  known.add('192.0.2.1');
  known.add('192.0.2.2');
  known.add('192.0.2.1');
  for (let i = 0; i < KNOWN_MAX - 1; i += 1)
    known.add(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  t.true(known.has('192.0.2.1'));
  t.false(known.has('192.0.2.2'));
});
