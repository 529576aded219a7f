// Trust in providers over the API: each entry says whether it is trusted. The audit trail keeps
// changes.

import test from 'ava';
import { isTrusted } from '../../../../models/index.ts';
import { openProvider, samlMetadata } from '../../../support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import { openServer, refused, surfaces } from '../../../support/api/server.ts';

const path = '/v0/trusted_providers';

for (const kind of surfaces())
  test(`${kind}: an entry can become trusted and lose the trust again, and answers show it`, async (t) => {
    const { send, database } = await openServer(t, kind);
    t.deepEqual((await send('GET', path)).body, { data: [] });
    const authority = `${(await openProvider(t)).origin}/discovery`;
    const configuration = {
      openid_connect_providers: [oidcEntry({ discovery_document_uri: authority })],
      saml_identity_providers: [samlEntry({ id: 'okta', metadata: samlMetadata() })],
    };
    const saved = await send('PATCH', '/v0/configuration', { body: { configuration } });
    t.is(saved.status, 200, saved.text);
    const put = (entry: string, trusted: unknown, method = 'PUT') =>
      send(method, `${path}/${entry}`, { body: { trusted_provider: { trusted } } });
    const marked = await put('oidc/okta', true);
    t.is(marked.status, 200, marked.text);
    t.deepEqual(marked.body.data, { kind: 'oidc', id: 'okta', label: 'Okta', trusted: true });
    t.true(await isTrusted(database, { kind: 'oidc', provider_id: 'okta', authority }));
    t.deepEqual((await send('GET', path)).body.data, [
      { kind: 'oidc', id: 'okta', label: 'Okta', trusted: true },
      { kind: 'saml', id: 'okta', label: 'SAML', trusted: false },
    ]);
    t.deepEqual((await send('GET', '/v0/configuration')).body, saved.body, 'as clients know it');
    t.deepEqual((await put('oidc/okta', 'maybe')).body, refused({ trusted: ['is invalid'] }));
    t.true(await isTrusted(database, { kind: 'oidc', provider_id: 'okta', authority }));
    t.is((await put('oidc/okta', false, 'PATCH')).body.data.trusted, false);
    t.false(await isTrusted(database, { kind: 'oidc', provider_id: 'okta', authority }));
    await put('oidc/okta', true);
    const save = (providers: object[]) =>
      send('PATCH', '/v0/configuration', {
        body: { configuration: { openid_connect_providers: providers } },
      });
    const elsewhere = `${(await openProvider(t)).origin}/discovery`;
    for (const other of [[oidcEntry({ discovery_document_uri: elsewhere })], []]) {
      await put('oidc/okta', true);
      t.is((await save(other)).status, 200);
      const back = await save(configuration.openid_connect_providers);
      t.is(back.status, 200, back.text);
      t.is((await send('GET', path)).body.data[0].trusted, false, 'the mark does not come back');
    }
    for (const none of ['oidc/none', 'other/okta']) t.is((await put(none, true)).status, 404, none);
    const entries = await database.models.AuditEntry.findAll({
      where: { kind: 'trusted_provider' },
    });
    t.is(entries.length, 6);
  });
