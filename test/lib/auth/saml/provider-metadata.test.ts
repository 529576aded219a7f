// What is known of a provider by its entry: read once, and refused in words where it is of no use.

import test from 'ava';
import { metadataFaultOf, metadataOf } from '../../../../lib/auth/saml/provider-metadata.ts';
import { ENTITY_ID, idpMetadata } from '../../../support/bad-saml-provider.ts';
import { signOnService } from '../../../support/identity-provider.ts';
import { samlEntry } from '../../../support/providers.ts';

test('metadata are read once and remembered', async (t) => {
  const entry = samlEntry({ metadata: idpMetadata(signOnService()) });
  const first = await metadataOf(entry);
  t.is(first.entityId, ENTITY_ID);
  t.is(await metadataOf({ ...entry }), first, 'the same, not read again');
  for (let i = 0; i < 16; i += 1) await metadataFaultOf(`<x${i}/>`);
  t.deepEqual(await metadataOf(entry), first);
});

test('metadata that are of no use are refused, each time', async (t) => {
  for (let i = 0; i < 2; i += 1)
    await t.throwsAsync(metadataOf({ metadata: '<x/>' }), {
      name: 'ProviderRefusal',
      message: /^provider_misconfigured: it does not describe/,
    });
  t.regex((await metadataFaultOf('<x/>')) ?? '', /does not describe/);
  t.is(await metadataFaultOf(idpMetadata(signOnService())), null);
});
