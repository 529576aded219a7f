// Metadata that are fetched from addresses, over the API: what is known of each, a fetch at once,
// former certificates made void; and what an entry with an address may leave out.

import test from 'ava';
import {
  ENTITY_ID,
  idpKey,
  idpMetadata,
  otherIdpKey,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
import { openServer, refused, surfaces } from '../../../support/api/server.ts';

const documentOf = (key: typeof idpKey) => idpMetadata(signOnService(), { key });

for (const kind of surfaces())
  test(`${kind}: metadata are listed, fetched, and former certificates made void`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const address = await openMetadataAddress(t, documentOf(idpKey));
    const entry = { label: 'A', auto_create_users: false };
    const entries = [
      { ...entry, id: 'adfs', metadata_url: address.url },
      { ...entry, id: 'pasted', metadata: documentOf(idpKey) },
    ];
    const body = { configuration: { saml_identity_providers: entries } };
    t.is((await send('PATCH', '/v0/configuration', { body })).status, 200);
    const { data: listed } = (await send('GET', '/v0/saml_metadata')).body;
    t.is(listed.length, 1);
    const fresh = { id: 'adfs', label: 'A', metadata_url: address.url, entity_id: ENTITY_ID };
    t.like(listed[0], { ...fresh, fetched_at: null, refresh_at: null, problem: null });
    t.like(listed[0].certificates, [{ state: 'in_use' }]);

    const put = (sent: object, id = 'adfs', method = 'PUT') =>
      send(method, `/v0/saml_metadata/${id}`, { body: { saml_metadata: sent } });
    const statesOf = async (answer: ReturnType<typeof put>) =>
      (await answer).body.data.certificates.map((one: { state: string }) => one.state);
    address.serve(documentOf(otherIdpKey));
    t.deepEqual(await statesOf(put({})), ['in_use'], 'nothing was asked for');
    t.deepEqual(await statesOf(put({ refresh: true })), ['awaited', 'former']);
    address.serve(status(404));
    const refusal = (await put({ refresh: true }, 'adfs', 'PATCH')).body.data;
    t.is(refusal.problem, 'its address answered with status 404');
    t.regex(refusal.fetched_at, /^\d{4}-/);
    t.deepEqual(await statesOf(put({ drop_former: true })), ['in_use']);
    const audit = await database.models.AuditEntry.findAll({ where: { kind: 'saml_metadata' } });
    t.deepEqual(audit.map(({ actor }) => actor).toSorted(), ['gateway', 'user']);

    t.deepEqual((await put({ refresh: 'yes' })).body, refused({ refresh: ['is invalid'] }));
    for (const none of ['pasted', 'none']) t.is((await put({ refresh: true }, none)).status, 404);
  });
