// Test sign-ins from the button to the findings. Nobody is signed in or linked, only the session
// that began can read the findings, and the proposed flags are what the provider signs.

import test, { type ExecutionContext } from 'ava';
import type { SamlIdentityProvider } from '../../../../models/index.ts';
import { openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import { denial, idpMetadata, otherIdpKey } from '../../../support/auth/bad-saml-provider.ts';
import { type Console, checkGuard, checkText, openConsole } from '../../../support/web/console.ts';
import { firstKind, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { configure } from '../../../support/web/portal.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import {
  addSamlEntry,
  answerTo,
  beginTest,
  ENTRY,
  postAnswer,
} from '../../../support/auth/test-sign-in.ts';
import { Visitor } from '../../../support/web/visitor.ts';

const MAIL = `<a:AttributeStatement><a:Attribute Name="mail"><a:AttributeValue>&lt;img src=x onerror=alert(1)&gt;ann</a:AttributeValue></a:Attribute></a:AttributeStatement>`;
const SET = 'Set the flags to what the provider signs';
const BY_PASSWORD = { openid_connect_providers: [], saml_identity_providers: [] };

async function open(
  t: ExecutionContext,
  kind: TestDatabaseKind = 'sqlite',
  changes: Partial<SamlIdentityProvider> = {},
): Promise<Console> {
  const console = await openConsole(t, kind);
  await addSamlEntry(console, changes);
  return console;
}

/** What a test must not change. */
const written = async ({ database: { models } }: Console): Promise<unknown[]> => [
  await models.User.count(),
  await models.Identity.count(),
  (await models.Session.findAll()).map(({ id }) => id),
  (await models.User.findAll()).map((user) => [user.last_signed_in_at, user.disabled_at]),
];

const flagsIn = async ({ send }: Console): Promise<unknown> => {
  const { data } = (await send('GET', '/v0/configuration')).body as never;
  return (data['saml_identity_providers'] as object[])[0];
};

for (const kind of firstKind()) {
  test(`${kind}: if a provider signs only the assertion, the proposed flags say the same`, async (t) => {
    const console = await open(t, kind);
    const { admin } = console;
    const before = await written(console);
    const fields = answerTo(await beginTest(admin), { attributes: MAIL }, { response: false });
    const posted = await postAnswer(console, fields);
    t.is(posted.status, 303, posted.text);
    t.is(posted.headers['set-cookie'], undefined);
    t.true(posted.location?.startsWith(`${ENTRY}/tests/`));
    const page = await admin.get(posted.location ?? '');
    t.is(page.status, 200, page.text);
    for (const words of [
      'The response is not signed, and signed_envelopes_in_resp asks for it',
      'The provider signs the assertion (rsa-sha256), and nothing else.',
      'person@example.com',
      SET,
    ])
      t.true(page.text.includes(words), words);
    checkText(t, page, 'the findings');
    t.is((await admin.get(posted.location ?? '')).status, 200, 'it can be loaded again');
    t.deepEqual(await written(console), before, 'nobody is signed in, made or linked');
    t.true((await admin.get(ENTRY)).text.includes(SET));
    const set = await admin.post(`${ENTRY}/flags`);
    t.is(set.location, ENTRY);
    const after = await admin.get(ENTRY);
    t.true(after.text.includes('The flags ask for what the provider signs: the assertion alone.'));
    t.false(after.text.includes(SET));
    const flags = { signed_assertion_in_resp: true, signed_envelopes_in_resp: false };
    t.like(await flagsIn(console), flags);
    const { AuditEntry } = console.database.models;
    const [entry] = await AuditEntry.findAll({ where: { action: 'test sign-in' } });
    t.like(entry, { email: 'boss@example.com', kind: 'identity_provider', record_id: 'saml-idp' });
    t.is(console.services.counters.of('sign_ins', 'saml_tested'), 1);
    t.is(console.services.counters.of('sign_ins', 'saml_answer_invalid'), 0);
  });

  test(`${kind}: after new metadata the page no longer shows what the provider signs`, async (t) => {
    const console = await open(t, kind);
    const { admin } = console;
    await postAnswer(console, answerTo(await beginTest(admin), {}, { assertion: false }));
    t.true((await admin.get(ENTRY)).text.includes('the response alone'));
    const metadata = idpMetadata(signOnService(), { key: otherIdpKey });
    await addSamlEntry(console, { metadata: `${idpMetadata(signOnService())}\n` });
    t.true((await admin.get(ENTRY)).text.includes('the response alone'), 'they say the same');
    await addSamlEntry(console, { metadata });
    t.false((await admin.get(ENTRY)).text.includes('the response alone'));
    t.is((await admin.post(`${ENTRY}/flags`)).location, ENTRY);
    t.true((await admin.get(ENTRY)).text.includes('No test sign-in was made with the present'));
    t.like(await flagsIn(console), { signed_assertion_in_resp: true });
  });

  test(`${kind}: a user who is no longer an administrator cannot end a test`, async (t) => {
    const console = await open(t, kind);
    const fields = answerTo(await beginTest(console.admin));
    await console.database.models.Session.destroy({ where: { user_id: console.adminUser.id } });
    t.is((await postAnswer(console, fields)).status, 403);
    t.is(await console.database.models.SamlTest.count(), 0);
    t.is(await console.database.models.SignInRequest.count(), 0, 'used up');
  });
}

test('only administrators can test, and only entries that exist', async (t) => {
  const console = await open(t);
  await checkGuard(t, console, { forms: [`${ENTRY}/test`, `${ENTRY}/flags`] });
  const { location } = await postAnswer(console, answerTo(await beginTest(console.admin)));
  await checkGuard(t, console, { pages: [location ?? ''] });
  for (const path of ['/settings/providers/saml/none', '/settings/providers/oidc/none']) {
    await console.admin.get(ENTRY);
    t.is((await console.admin.post(`${path}/test`)).status, 404, path);
    t.is((await console.admin.get(`${path}/tests/${'t'.repeat(43)}`)).status, 404, path);
  }
  t.is((await console.admin.post('/settings/providers/saml/none/flags')).status, 404);
});

test('another session of the same administrator cannot read the findings', async (t) => {
  const console = await open(t);
  const { location } = await postAnswer(console, answerTo(await beginTest(console.admin)));
  const other = new Visitor(console);
  await other.signIn('boss@example.com');
  const page = await other.get(location ?? '');
  t.is(page.status, 404);
  t.regex(page.text, /only to the browser session that began the test/);
});

test('a test does not ask again for a proof of identity, and a denial disables nobody', async (t) => {
  const console = await open(t, 'sqlite', { signed_assertion_in_resp: false });
  await configure(console, { disable_vpn_on_oidc_error: true });
  const { admin, database, adminUser } = console;
  await admin.get(ENTRY);
  const fields = answerTo(await beginTest(admin), { status: denial('AuthnFailed') });
  const { location } = await postAnswer(console, fields);
  const { text } = await admin.get(location ?? '');
  t.true(text.includes('The provider did not let you in (AuthnFailed).'));
  t.is((await database.models.User.findByPk(adminUser.id))?.disabled_at, null);
  t.is(await database.models.SamlTest.count(), 0);
});

test('a list that the environment fixes can be tested, and its flags come from the environment', async (t) => {
  const { base_url: _default, ...entry } = samlEntry({ metadata: idpMetadata(signOnService()) });
  const console = await openConsole(t, 'sqlite', {
    SAML_IDENTITY_PROVIDERS: JSON.stringify([entry]),
  });
  const { admin } = console;
  const fields = answerTo(await beginTest(admin), {}, { response: false });
  const { location } = await postAnswer(console, fields);
  const { text } = await admin.get(location ?? '');
  t.true(text.includes('they are fixed by the environment'));
  t.false(text.includes(SET));
  t.is((await admin.post(`${ENTRY}/flags`)).status, 404);
});

test('a test through OpenID Connect shows the claims, and keeps no token', async (t) => {
  const console = await openConsole(t, 'sqlite');
  const { admin } = console;
  const idp = await openBadProvider(t);
  idp.bent.userinfo = { sub: 'subject-1' };
  const provider = oidcEntry({
    discovery_document_uri: idp.discoveryUri,
    required_claim: { name: 'hd', value: 'example.com' },
  });
  await configure(console, { openid_connect_providers: [provider] });
  const page = '/settings/providers/oidc/okta';
  const before = await written(console);
  const test = async (): Promise<string> => {
    await admin.get(page);
    const led = await admin.post(`${page}/test`);
    const [, address = ''] = /^0;url=(.+)$/.exec(String(led.headers['refresh'])) ?? [];
    t.is(new URL(address).searchParams.get('max_age'), null);
    const query = idp.authorize(address).toString();
    const back = await admin.get(`/auth/oidc/okta/callback/?${query}`);
    t.true(back.location?.startsWith(`${page}/tests/`), back.text);
    return (await admin.get(back.location ?? '')).text;
  };
  const found = await test();
  for (const words of ['You lack the required claim hd=example.com', 'in the claim email'])
    t.true(found.includes(words), found);
  t.false(found.includes(SET));
  idp.bent.claims = { aud: 'another' };
  t.true((await test()).includes('The answer is refused: answer_invalid'));
  t.deepEqual(await written(console), before);
  t.is(await console.database.models.IdentityTokens.count(), 0);
  t.is(console.services.counters.of('sign_ins', 'oidc_tested'), 2);
  await configure(console, BY_PASSWORD);
});
