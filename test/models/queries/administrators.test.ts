// Who is an administrator because a provider says so: the role comes and goes with its word, and
// the role of anybody else does not.

import test from 'ava';
import {
  type Database,
  isLastAdministrator,
  markTrusted,
  setRoleBy,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

const PROVIDER = 'oidc/okta';

function say(database: Database, userId: string, isAdmin: boolean, provider = PROVIDER) {
  return write(database, (transaction) =>
    setRoleBy(database, provider, { userId, isAdmin }, transaction),
  );
}

for (const kind of databaseKinds()) {
  test(`${kind}: a provider takes away the role that it gave, and no other`, async (t) => {
    const database = await openDatabase(t, kind);
    const byHand = await addUser(database, { role: 'admin' });
    const user = await addUser(database);
    await say(database, byHand.id, true);
    t.is((await byHand.reload()).role_provider, null, 'one already');
    await say(database, byHand.id, false);
    t.is((await byHand.reload()).role, 'admin');
    await say(database, user.id, true);
    t.like(await user.reload(), { role: 'admin', role_provider: PROVIDER });
    await say(database, user.id, false, 'saml/okta');
    t.is((await user.reload()).role, 'admin', 'another provider');
    await say(database, user.id, false);
    t.like(await user.reload(), { role: 'unprivileged', role_provider: null });
  });

  test(`${kind}: a role that is set by hand is no longer the provider's`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { role: 'admin' });
    const user = await addUser(database);
    await say(database, user.id, true);
    for (const role of ['unprivileged', 'admin'] as const)
      await write(database, async (transaction) => {
        const row = await database.models.User.findByPk(user.id, { transaction, lock: true });
        await row!.update({ role }, { transaction });
      });
    await say(database, user.id, false);
    t.like(await user.reload(), { role: 'admin', role_provider: null });
  });

  test(`${kind}: the last enabled administrator stays one`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await addUser(database, {
      role: 'admin',
      disabled_at: new Date(),
      disabled_by: 'administrator',
    });
    await say(database, user.id, true);
    const isLast = () =>
      write(database, async (transaction) =>
        isLastAdministrator(database, await user.reload({ transaction }), transaction),
      );
    t.true(await isLast());
    await say(database, user.id, false);
    t.is((await user.reload()).role, 'admin');
    await addUser(database, { role: 'admin' });
    t.false(await isLast());
    await say(database, user.id, false);
    t.is((await user.reload()).role, 'unprivileged', 'once there is another one');
  });

  test(`${kind}: with the mark of trust the roles go too`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { role: 'admin' });
    const user = await addUser(database);
    await say(database, user.id, true);
    const mark = (provider_id: string, isTrusted: boolean) => {
      const entry = { kind: 'oidc', provider_id, authority: 'https://id.example/d' } as const;
      return write(database, (transaction) => markTrusted(database, entry, isTrusted, transaction));
    };
    await mark('okta', true);
    await mark('other', false);
    t.is((await user.reload()).role, 'admin');
    await mark('okta', false);
    t.is((await user.reload()).role, 'unprivileged');
  });
}
