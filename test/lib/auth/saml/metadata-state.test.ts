// What is shown of fetched metadata: times, problems, and the use of each certificate.

import { X509Certificate } from 'node:crypto';
import test from 'ava';
import {
  fingerprints,
  metadataState,
  metadataStates,
} from '../../../../lib/auth/saml/metadata-state.ts';
import { refreshOnDemand } from '../../../../lib/auth/saml/refresh.ts';
import {
  ENTITY_ID,
  idpKey,
  idpMetadata,
  otherIdpKey,
} from '../../../support/auth/bad-saml-provider.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { derOf, openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const sha256 = ({ certificate }: typeof idpKey) =>
  new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();

for (const kind of firstKind())
  test(`${kind}: the state of an entry before, during and after the fetch of its metadata`, async (t) => {
    const database = await openDatabase(t, kind);
    const address = await openMetadataAddress(t, status(404));
    const entry = samlEntry({ metadata: '', metadata_url: address.url });
    const empty = { entityId: null, fetchedAt: null, problem: null, certificates: [] };
    t.like(await metadataState(database, entry), { ...empty, refreshAt: null });
    await refreshOnDemand({ database }, entry);
    const problem = 'its address answered with status 404';
    t.like(await metadataState(database, entry), { ...empty, problem });
    for (const key of [idpKey, otherIdpKey]) {
      address.serve(idpMetadata(signOnService(), { key }));
      await refreshOnDemand({ database }, entry);
    }
    const state = await metadataState(database, entry);
    t.like(state, { entityId: ENTITY_ID, problem: null, url: address.url, label: 'SAML' });
    t.true(state!.refreshAt! > state!.fetchedAt!);
    t.deepEqual(
      state?.certificates.map((one) => [one.sha256, one.state]),
      [
        [sha256(otherIdpKey), 'awaited'],
        [sha256(idpKey), 'former'],
      ],
    );
    const { metadata_url: _none, ...without } = entry;
    t.is(await metadataState(database, without), null);
    t.is((await metadataStates(database, [entry, without])).length, 1);
  });

test('each fingerprint is shown once, in order', (t) => {
  const found = fingerprints([derOf(idpKey), derOf(otherIdpKey), derOf(idpKey)]);
  t.deepEqual(found, [sha256(idpKey), sha256(otherIdpKey)].toSorted());
});
