// Linking people anew in the console: everybody on the page of the provider, one user on theirs.

import test from 'ava';
import { addIdentity, write } from '../../../models/fixtures.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { samlMetadata } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const PROVIDER = '/settings/providers/saml/okta';

for (const kind of firstKind())
  test(`${kind}: everybody or one user is linked anew, by administrators alone`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, adminUser, plainUser, database, send } = console;
    const entries = [samlEntry({ id: 'okta', metadata: samlMetadata() })];
    const body = { configuration: { saml_identity_providers: entries } };
    t.is((await send('PATCH', '/v0/configuration', { body })).status, 200);
    const here = `/users/${plainUser.id}`;
    const tab = `${here}/sign_in`;
    t.false((await admin.get(tab)).text.includes('Accounts at identity providers'));
    const links = [await addIdentity(database, plainUser), await addIdentity(database, adminUser)];
    const change = { kind: 'saml', issuer: NASTY, subject: NASTY } as const;
    for (const link of links)
      await write(database, (transaction) => link.update(change, { transaction }));
    await checkGuard(t, console, { forms: [`${PROVIDER}/relink`, `${here}/relink`] });
    const isFree = () =>
      Promise.all(links.map(async (link) => (await link.reload()).relink_until !== null));
    t.deepEqual(await isFree(), [false, false]);

    const page = await admin.get(tab);
    checkText(t, page, tab);
    t.true(page.text.includes(`action="${here}/relink"`));
    const one = { kind: 'saml', provider: 'okta' };
    t.is((await admin.post(`${here}/relink`, one)).location, tab);
    t.deepEqual(await isFree(), [true, false]);
    const after = await admin.get(tab);
    t.true(after.text.includes('1 user may be linked anew'), after.text);
    t.false(after.text.includes(`action="${here}/relink"`));

    const boss = `/users/${adminUser.id}`;
    t.false((await admin.get(`${boss}/sign_in`)).text.includes(`action="${boss}/relink"`));
    await admin.post(`${boss}/relink`, one);
    t.true((await admin.get(boss)).text.includes('This user is an administrator, who'));
    t.true((await admin.get(PROVIDER)).text.includes(`action="${PROVIDER}/relink"`));
    t.is((await admin.post(`${PROVIDER}/relink`)).location, PROVIDER);
    t.true((await admin.get(PROVIDER)).text.includes('1 administrator is left out'));
    t.deepEqual(await isFree(), [true, false]);

    for (const path of ['/settings/providers/oidc/okta', '/settings/providers/saml/none'])
      t.is((await admin.post(`${path}/relink`)).status, 404, path);
    t.is((await admin.post(`${here}/relink`, { ...one, provider: 'none' })).status, 404);
    t.is((await admin.post('/users/x/relink', one)).status, 404);
  });
