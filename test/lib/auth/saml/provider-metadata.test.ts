// What is known of a provider by its entry: read once, and refused in words where it is of no use.

import test from 'ava';
import {
  metadataErrorOf,
  metadataOf,
  parseMetadata,
} from '../../../../lib/auth/saml/provider-metadata.ts';
import {
  ENTITY_ID,
  idpKey,
  idpMetadata,
  otherIdpKey,
} from '../../../support/auth/bad-saml-provider.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { derOf } from '../../../support/auth/metadata-address.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { claimMetadata, settleMetadata, writeTransaction } from '../../../../models/index.ts';

test('metadata are read once and remembered', async (t) => {
  const text = idpMetadata(signOnService());
  const first = await parseMetadata(text);
  t.is(first.entityId, ENTITY_ID);
  t.is(await parseMetadata(text), first, 'the same, not read again');
  for (let i = 0; i < 16; i += 1) await metadataErrorOf(`<x${i}/>`);
  t.deepEqual(await parseMetadata(text), first);
});

test('metadata that are of no use are refused, each time', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  for (let i = 0; i < 2; i += 1)
    await t.throwsAsync(metadataOf(database, samlEntry({ metadata: '<x/>' })), {
      name: 'ProviderRefusal',
      message: /^provider_misconfigured: it does not describe/,
    });
  t.regex((await metadataErrorOf('<x/>')) ?? '', /does not describe/);
  t.is(await metadataErrorOf(idpMetadata(signOnService())), null);
});

for (const kind of firstKind())
  test(`${kind}: what was fetched serves in place of the entry, with former certificates`, async (t) => {
    const database = await openDatabase(t, kind);
    const metadata_url = 'https://idp.example/metadata';
    const entry = samlEntry({ metadata: '', metadata_url });
    const message = /no metadata were fetched: not asked for yet/;
    await t.throwsAsync(metadataOf(database, entry), { message });
    const row = await claimMetadata(database, entry, new Date(), () => true);
    const document = idpMetadata(signOnService());
    const former = derOf(otherIdpKey);
    await writeTransaction(database, (transaction) =>
      settleMetadata(database, row!, { document, former_certificates: [former] }, transaction),
    );
    const served = await metadataOf(database, entry);
    t.is(served.entityId, ENTITY_ID);
    t.deepEqual(served.signingCertificates, [derOf(idpKey), former]);
    t.deepEqual(served.awaitedCertificates, []);
    // An entry that is changed by hand begins anew.
    const other = { ...entry, metadata: idpMetadata(signOnService(), { entityId: 'urn:x' }) };
    t.is((await metadataOf(database, other)).entityId, 'urn:x');
  });
