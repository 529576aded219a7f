// Fetched metadata in the console: shown on the page of the provider, fetched on a click, a former
// certificate removed; and what the form does with an address.

import test from 'ava';
import { idpMetadata, otherIdpKey } from '../../../support/auth/bad-saml-provider.ts';
import { checkGuard, checkText, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';

const PROVIDER = '/settings/providers/saml/adfs';
const FETCH = `${PROVIDER}/metadata/refresh`;
const DROP = `${PROVIDER}/metadata/drop-former`;

for (const kind of firstKind())
  test(`${kind}: metadata are fetched and shown, for administrators only`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, send } = console;
    const first = idpMetadata(signOnService());
    const address = await openMetadataAddress(t, first);
    const typed = { id: 'adfs', label: 'ADFS', metadata_url: address.url, metadata: '' };
    t.is((await admin.post('/settings/providers/saml/new', typed)).location, '/settings/providers');
    await checkGuard(t, console, { forms: [FETCH, DROP] });
    const entry = async () =>
      (await send('GET', '/v0/configuration')).body.data.saml_identity_providers[0];
    t.like(await entry(), { metadata: first, metadata_url: address.url });

    const page = await admin.get(PROVIDER);
    checkText(t, page, PROVIDER);
    t.true(page.text.includes('Metadata from the address'));
    t.true(page.text.includes(`action="${FETCH}"`));
    t.false(page.text.includes(`action="${DROP}"`));
    t.false(page.text.includes('IDPSSODescriptor'), 'what does not serve any more is not shown');

    address.serve(idpMetadata(signOnService(), { key: otherIdpKey }));
    t.is((await admin.post(FETCH)).location, PROVIDER);
    const after = (await admin.get(PROVIDER)).text;
    t.true(after.includes('New metadata serve.'));
    t.true(after.includes('former, serves until a new one is seen in use'));
    // Saving another field keeps the fetched metadata.
    await admin.post(PROVIDER, { ...typed, label: 'Other' });
    t.like(await entry(), { label: 'Other', metadata: first });
    t.true((await admin.get(PROVIDER)).text.includes(`action="${DROP}"`));
    t.is((await admin.post(DROP)).location, PROVIDER);
    t.false((await admin.get(PROVIDER)).text.includes('former, serves until'));

    address.serve(status(404));
    await admin.post(FETCH);
    const refused = (await admin.get(PROVIDER)).text;
    t.true(refused.includes('The metadata were not taken: its address answered with status 404.'));
    t.true(refused.includes('The last good metadata serve.'));
    const problem = 'The metadata of the SAML provider adfs were not taken';
    t.true((await admin.get('/dashboard')).text.includes(problem));
    const tried = await admin.post(PROVIDER, { ...typed, do: 'try' });
    t.true(tried.text.includes('The document at the metadata address cannot be used'));

    await admin.post(PROVIDER, { ...typed, metadata_url: '' });
    const without = await entry();
    t.false('metadata_url' in without);
    t.not(without.metadata, first, 'what was fetched last stays');
    for (const path of [FETCH, DROP]) t.is((await admin.post(path)).status, 404);
  });
