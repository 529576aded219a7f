// Who an entry leads to: the mark of trust is for that, whatever else of the entry changes.

import test from 'ava';
import {
  authorityOf,
  oidcAuthority,
  samlAuthority,
} from '../../../../lib/auth/identity/authority.ts';
import { ENTITY_ID, idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { samlMetadata, signOnService } from '../../../support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

test('an OpenID entry leads to its discovery document', (t) => {
  const discovery_document_uri = 'https://id.example/d';
  const entry = oidcEntry({ discovery_document_uri });
  const authority = { kind: 'oidc', provider_id: 'okta', authority: discovery_document_uri };
  t.deepEqual(oidcAuthority(entry) as object, authority);
  t.deepEqual(
    oidcAuthority(oidcEntry({ discovery_document_uri, client_secret: 'other' })),
    oidcAuthority(entry),
  );
});

test('a SAML entry leads to the entity of its metadata', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const entry = samlEntry({ metadata: idpMetadata(signOnService()) });
  const authority = { kind: 'saml', provider_id: 'saml-idp', authority: ENTITY_ID };
  t.deepEqual((await samlAuthority(database, entry)) as object, authority);
  const bad = samlEntry({ metadata: '<x/>' });
  await t.throwsAsync(samlAuthority(database, bad), { name: 'ProviderRefusal' });
});

test('trust is in an address or an entity id; metadata that cannot be read lead to nobody', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const address = oidcEntry().discovery_document_uri;
  t.is((await authorityOf(database, oidcEntry()))?.authority, address);
  const ofSaml = await authorityOf(database, samlEntry({ metadata: samlMetadata() }));
  t.is(typeof ofSaml?.authority, 'string');
  t.is(await authorityOf(database, samlEntry({ metadata: '<x/>' })), null);
});
