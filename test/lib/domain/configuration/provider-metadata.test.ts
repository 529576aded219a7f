// An entry with a metadata address: what may be left out, what is fetched when it is saved, and
// what is refused, with the reason.

import test, { type ExecutionContext } from 'ava';
import { ENTITY_ID, idpMetadata, otherIdpKey } from '../../../support/auth/bad-saml-provider.ts';
import {
  databaseKinds,
  firstKind,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { write } from '../../../models/fixtures.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import {
  federation,
  samlMetadata,
  signOnService,
} from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
import { openServer } from '../../../support/api/server.ts';

const first = idpMetadata(signOnService());
const second = idpMetadata(signOnService(), { key: otherIdpKey });
const stranger = idpMetadata(signOnService(), { entityId: 'urn:stranger' });
const common = { id: 'adfs', label: 'A', auto_create_users: false };

async function open(t: ExecutionContext, kind: TestDatabaseKind) {
  const { send, database } = await openServer(
    t,
    kind,
    {},
    {
      discoveryLimits: { timeoutMs: 20_000, bytesMax: 100_000 },
    },
  );
  const address = await openMetadataAddress(t, first);
  const put = async (entry: object) => {
    const configuration = { saml_identity_providers: [{ ...common, ...entry }] };
    const { status: code, body } = await send('PATCH', '/v0/configuration', {
      body: { configuration },
    });
    return code === 200
      ? body.data.saml_identity_providers[0]
      : body.errors.saml_identity_providers[0];
  };
  const refresh = () =>
    send('PUT', '/v0/saml_metadata/adfs', { body: { saml_metadata: { refresh: true } } });
  return { address, put, refresh, database };
}

for (const kind of databaseKinds()) {
  test(`${kind}: metadata that are left out are fetched and kept`, async (t) => {
    const { address, put } = await open(t, kind);
    const saved = await put({ metadata_url: ` ${address.url} ` });
    t.is(saved.metadata, first);
    t.is(saved.metadata_url, address.url);
    address.serve(status(500));
    for (const metadata of [undefined, '', null]) {
      const again = await put({ metadata_url: address.url, metadata, label: 'B' });
      t.is(again.metadata, first, 'an address that stays is not asked again');
    }
    t.is(address.count(), 1);
  });

  test(`${kind}: an entry without an address must have metadata`, async (t) => {
    const { put } = await open(t, kind);
    for (const metadata_url of [undefined, '', null, ' '])
      t.deepEqual(await put({ metadata_url }), { metadata: ["can't be blank"] });
    const plain = await put({ metadata: first });
    t.false('metadata_url' in plain);
  });

  test(`${kind}: an address must be https, or of this machine`, async (t) => {
    const { put } = await open(t, kind);
    const refusal = async (metadata_url: unknown) => (await put({ metadata_url })).metadata_url;
    const notHttps = 'must begin with https:// (http:// is for loopback addresses)';
    t.deepEqual(await refusal('http://idp.example/m'), [notHttps]);
    t.deepEqual(await refusal('file:///etc/passwd'), ['does not contain a scheme or a host']);
    t.deepEqual(await refusal('ftp://idp.example/m'), ['only http, https schemes are supported']);
    t.deepEqual(await refusal('idp.example'), ['does not contain a scheme or a host']);
    t.deepEqual(await refusal(5), ['is invalid']);
  });

  test(`${kind}: the document at an address is checked before it is saved`, async (t) => {
    const { address, put } = await open(t, kind);
    const { url: metadata_url } = address;
    address.serve(status(404));
    t.deepEqual(await put({ metadata_url }), {
      metadata_url: ['is invalid. Details: its address answered with status 404'],
    });
    t.is((await put({ metadata_url, metadata: first })).metadata, first, 'it serves meanwhile');
    for (const served of [
      '<html/>',
      first.replace(' entityID', ' validUntil="2020-01-01" entityID'),
    ]) {
      address.serve(served);
      const refusal = await put({
        metadata_url: `${metadata_url}?${served.length}`,
        metadata: first,
      });
      t.regex(refusal.metadata_url[0], /^is invalid\. Details: its? /);
    }
    address.serve(stranger);
    const other = await put({ metadata_url: `${metadata_url}?other`, metadata: first });
    t.deepEqual(other.metadata_url, [
      `is invalid. Details: it is about another provider: its entityID is not ${ENTITY_ID}`,
    ]);
    const bad = await put({ metadata_url, metadata: '<x/>' });
    t.regex(bad.metadata[0], /^is invalid\. Details: /);
    t.is(
      (await put({ metadata_url: `${metadata_url}?other` })).metadata,
      stranger,
      'said outright',
    );
  });

  test(`${kind}: an entry that loses its address keeps the metadata that were fetched last`, async (t) => {
    const { address, put, refresh } = await open(t, kind);
    await put({ metadata_url: address.url });
    address.serve(second);
    t.is((await refresh()).status, 200);
    const older = await put({ metadata: first });
    t.is(older.metadata_url, address.url, 'whoever does not know the field leaves it as it is');
    t.is(older.metadata, first);
    const kept = await put({ metadata: first, metadata_url: null });
    t.is(kept.metadata, second);
    t.false('metadata_url' in kept);
    t.is((await put({ metadata: first })).metadata, first, 'from then on it is as it was sent');
  });
}

for (const kind of databaseKinds())
  test(`${kind}: of several providers one must be named`, async (t) => {
    const { address, put } = await open(t, kind);
    const metadata = federation('urn:a', 'urn:b');
    const must = (...ids: string[]) => ({
      entity_id: [
        `must name one of the ${ids.length} identity providers that the metadata describe: ${ids.join(', ')}`,
      ],
    });
    t.deepEqual(await put({ metadata }), must('urn:a', 'urn:b'));
    t.deepEqual(await put({ metadata, entity_id: 'urn:x' }), must('urn:a', 'urn:b'));
    t.deepEqual(await put({ metadata: samlMetadata({ entityId: 'urn:a' }), entity_id: 'urn:x' }), {
      entity_id: ['must name the identity provider that the metadata describe: urn:a'],
    });
    t.deepEqual(await put({ metadata, entity_id: 'x'.repeat(1_025) }), {
      entity_id: ['should be at most 1024 character(s)'],
    });
    const saved = await put({ metadata, entity_id: ' urn:b ' });
    t.is(saved.entity_id, 'urn:b');
    t.is((await put({ metadata, label: 'B' })).entity_id, 'urn:b', 'it stays where it is not sent');
    t.deepEqual(await put({ metadata, entity_id: null }), must('urn:a', 'urn:b'));
    // What is fetched has several too.
    address.serve(metadata);
    t.deepEqual(await put({ id: 'b', metadata_url: address.url }), must('urn:a', 'urn:b'));
    const fetched = await put({ id: 'b', metadata_url: address.url, entity_id: 'urn:b' });
    t.is(fetched.metadata, metadata);
    const turned = await put({ id: 'b', metadata_url: address.url, entity_id: 'urn:a' });
    t.is(turned.entity_id, 'urn:a');
    t.regex(
      String((await put({ id: 'c', metadata_url: address.url, entity_id: 'urn:x' })).metadata_url),
      /does not describe urn:x, which entity_id names, but urn:a, urn:b/,
    );
  });

for (const kind of firstKind())
  test(`${kind}: an entry that was saved with several keeps the first one`, async (t) => {
    const { put, database } = await open(t, kind);
    await put({ metadata: first });
    const metadata = federation('urn:a', 'urn:b');
    // As a version saved it that did not ask.
    const configuration = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    const [entry] = configuration.saml_identity_providers;
    const saml_identity_providers = [{ ...samlEntry(entry), metadata }];
    await write(database, (transaction) =>
      configuration.update({ saml_identity_providers }, { transaction }),
    );
    t.is((await put({ metadata, label: 'B' })).label, 'B');
    t.is((await put({ metadata, entity_id: 'urn:b' })).entity_id, 'urn:b');
    t.truthy((await put({ metadata, entity_id: null })).entity_id, 'it is asked for from then on');
  });
