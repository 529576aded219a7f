// Writes that are tried over the API: where there is no data plane, and for commands of this host.
// What is answered: ../../observe/dry-run/dry-run.test.ts.

import test from 'ava';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { openServer } from '../../../support/api/server.ts';
import { fakeLive } from '../../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const body = {
  dry_run: { method: 'POST', path: '/v0/rules', body: { rule: { destination: '10.0.0.6' } } },
};

for (const kind of databaseKinds()) {
  test(`${kind}: without a data plane nobody can say what a write would do`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { status } = await send('POST', '/v0/dry_run', { body });
    t.is(status, 503);
    t.is(await database.models.Rule.count(), 0);
  });

  test(`${kind}: the user of the token cannot be tried to lose the role`, async (t) => {
    const { send, database } = await openServer(t, kind, {}, { live: fakeLive(GATEWAY) });
    const { body: users } = await send('GET', '/v0/users');
    const [{ id }] = users.data as [{ id: string }];
    const operation = { method: 'PATCH', body: { user: { role: 'unprivileged' } } };
    const tryOn = (path: string) =>
      send('POST', '/v0/dry_run', { body: { dry_run: { ...operation, path } } });
    t.is((await tryOn(`/v0/users/${id}`)).status, 422);
    const other = await addUser(database, { role: 'admin' });
    t.is((await tryOn(`/v0/users/${other.id}`)).status, 200);
    t.is((await database.models.User.findByPk(other.id))?.role, 'admin');
  });
}
