// Relinking over the API: one user or everybody of an entry. The audit trail keeps it.

import test from 'ava';
import type { Identity } from '../../../../models/index.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { samlMetadata } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { openServer, refused, surfaces } from '../../../support/api/server.ts';

for (const kind of surfaces())
  test(`${kind}: one user or everybody of an entry can be linked again`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const entries = [samlEntry({ id: 'okta', metadata: samlMetadata() })];
    const body = { configuration: { saml_identity_providers: entries } };
    t.is((await send('PATCH', '/v0/configuration', { body })).status, 200);
    const [user, other] = [await addUser(database), await addUser(database)];
    const admin = await addUser(database, { role: 'admin' });
    const links: Identity[] = [];
    for (const one of [user, other, admin]) {
      const link = await addIdentity(database, one);
      links.push(
        await write(database, (transaction) => link.update({ kind: 'saml' }, { transaction })),
      );
    }
    const put = (relink: object, entry = 'saml/okta', method = 'PUT') =>
      send(method, `/v0/trusted_providers/${entry}/relink`, { body: { relink } });
    const untils = () =>
      Promise.all(links.map(async (link) => (await link.reload()).relink_until !== null));

    const blank = refused({ user_id: ["can't be blank"] });
    for (const nobody of [{}, { user_id: '' }, { user_id: null, everyone: false }])
      t.deepEqual((await put(nobody)).body, blank, JSON.stringify(nobody));
    const both = await put({ user_id: user.id, everyone: true });
    t.deepEqual(both.body, refused({ everyone: ['must not be present'] }));
    t.deepEqual((await put({ user_id: 'x' })).body, refused({ user_id: ['does not exist'] }));
    const stranger = await addUser(database);
    t.regex((await put({ user_id: stranger.id })).text, /is not linked through this/);
    t.regex((await put({ user_id: admin.id })).text, /is an administrator/);
    for (const none of ['saml/none', 'oidc/okta', 'other/okta'])
      t.is((await put({ everyone: true }, none)).status, 404, none);
    t.deepEqual(await untils(), [false, false, false]);

    const one = await put({ user_id: user.id.toUpperCase() });
    t.is(one.status, 200, one.text);
    const { until } = one.body.data as { until: string };
    t.like(one.body.data, { user_id: user.id, everyone: false, users: 1, administrators: 0 });
    t.deepEqual(await untils(), [true, false, false]);
    t.is(links[0]?.relink_until?.getTime(), Date.parse(until));
    const all = await put({ everyone: 'true' }, 'saml/okta', 'PATCH');
    t.like(all.body.data, { user_id: null, everyone: true, users: 2, administrators: 1 });
    t.deepEqual(await untils(), [true, true, false]);
    const where = { kind: 'identity', action: 'update', record_id: links[1]?.id ?? '' };
    const entry = (await database.models.AuditEntry.findAll({ where })).at(-1);
    t.deepEqual(Object.keys(entry?.changes ?? {}), ['relink_until']);
    t.is(entry?.actor, 'user');
  });
