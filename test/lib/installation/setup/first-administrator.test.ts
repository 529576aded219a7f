// The administrator that the first start of an installation makes, and that later starts find.

import test from 'ava';
import { findTokenOwner, hashToken } from '../../../../lib/auth/tokens.ts';
import { verifyPassword } from '../../../../lib/auth/passwords.ts';
import { makeFirstAdministrator } from '../../../../lib/installation/setup/first-administrator.ts';
import { configOf } from '../../../support/api/server.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const GATEWAY = '0198f5c8-0000-7000-8000-000000000001';

for (const kind of databaseKinds()) {
  test(`${kind}: the credentials of the first administrator are shown once`, async (t) => {
    const database = await openDatabase(t, kind);
    const credentials = await makeFirstAdministrator(configOf(), database, GATEWAY);
    t.is(credentials?.email, 'admin@localhost');
    const user = await database.models.User.findOne({ rejectOnEmpty: true });
    t.is(user.role, 'admin');
    t.true(await verifyPassword(String(credentials?.password), String(user.password_hash)));
    const owner = await findTokenOwner(database, hashToken(String(credentials?.token)));
    t.is(owner?.userId, user.id);
    t.is(await makeFirstAdministrator(configOf(), database, GATEWAY), null);
    t.is(await database.models.User.count(), 1);
    t.is(await database.models.ApiToken.count(), 1);
  });

  test(`${kind}: the credentials of an administrator from the environment are not shown`, async (t) => {
    const database = await openDatabase(t, kind);
    const bootstrap = `pst_${'a'.repeat(43)}`;
    const config = configOf({
      DEFAULT_ADMIN_EMAIL: 'root@example.com',
      DEFAULT_ADMIN_PASSWORD: 'correct horse battery',
      BOOTSTRAP_API_TOKEN: bootstrap,
    });
    t.is(await makeFirstAdministrator(config, database, GATEWAY), null);
    const user = await database.models.User.findOne({ rejectOnEmpty: true });
    t.is(user.email, 'root@example.com');
    t.true(await verifyPassword('correct horse battery', String(user.password_hash)));
    t.is((await findTokenOwner(database, hashToken(bootstrap)))?.userId, user.id);
    // At the next start the variable is gone, and its token no longer works.
    t.is(await makeFirstAdministrator(configOf(), database, GATEWAY), null);
    t.is(await findTokenOwner(database, hashToken(bootstrap)), null);
  });
}
