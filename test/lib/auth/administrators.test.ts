// Who can administer, and which command lets somebody in where nobody can.

import test from 'ava';
import { letInCommand, readAdministration } from '../../../lib/auth/administrators.ts';
import { addUser, write } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const closed = {
  local_auth_enabled: false,
  openid_connect_providers: [],
  saml_identity_providers: [],
};
const open = { ...closed, local_auth_enabled: true };

for (const kind of databaseKinds())
  test(`${kind}: an administrator needs a password that serves, or a provider`, async (t) => {
    const database = await openDatabase(t, kind);
    t.deepEqual(await readAdministration(database, open), { canSignIn: false, email: null });
    await addUser(database, { email: 'ann@b.example', password_hash: 'x' });
    t.deepEqual(await readAdministration(database, open), { canSignIn: false, email: null });
    const disabled = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await addUser(database, {
      email: 'off@b.example',
      role: 'admin',
      password_hash: 'x',
      ...disabled,
    });
    t.deepEqual(await readAdministration(database, open), {
      canSignIn: false,
      email: 'off@b.example',
    });
    const boss = await addUser(database, { email: 'boss@b.example', role: 'admin' });
    const email = 'boss@b.example';
    t.deepEqual(await readAdministration(database, open), { canSignIn: false, email });
    const provider = { id: 'p' } as never;
    const providers = { ...closed, openid_connect_providers: [provider] };
    t.deepEqual(await readAdministration(database, providers), { canSignIn: true, email });
    await write(database, (transaction) => boss.update({ password_hash: 'x' }, { transaction }));
    t.deepEqual(await readAdministration(database, open), { canSignIn: true, email });
    t.deepEqual(await readAdministration(database, closed), { canSignIn: false, email });
  });

test('the command can be copied into a shell, whatever the e-mail holds', (t) => {
  t.regex(letInCommand(null), /admin create-or-reset --email E$/);
  t.regex(letInCommand('a.b+c@d-e.example'), /--email a\.b\+c@d-e\.example$/);
  t.regex(letInCommand("o'n$(id);x@b"), /--email 'o'\\''n\$\(id\);x@b'$/);
});
