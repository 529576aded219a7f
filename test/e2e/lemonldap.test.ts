// Debian's LemonLDAP::NG as it is installed, and a person in a real browser.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import type { OpenidConnectProvider, SamlIdentityProvider } from '../../models/index.ts';
import { beginTestSignIn, openBrowser } from '../support/web/browser.ts';
import { FIRST_ADMIN, type GatewayProcess } from '../support/gateway/gateway-process.ts';
import { DWHO, type Lemonldap, openLemonldap } from '../support/auth/lemonldap.ts';
import { oidcEntry, samlEntry } from '../support/auth/provider-entries.ts';
import { makeTeams } from '../support/auth/teams.ts';

test.serial('a person signs in through OpenID Connect of LemonLDAP::NG', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openLemonldap(t);
  await introduceOidc(t, gateway, idp);
  const page = await person();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with Okta' }).click();
  await idp.signIn(page);
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText(DWHO.email).first().waitFor();
});

test.serial('a person signs in through SAML of LemonLDAP::NG', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openLemonldap(t);
  await introduceSaml(t, gateway, idp);
  const page = await person();
  await signInThroughSaml(page, gateway, idp);
  await page.getByText(DWHO.email).first().waitFor();
});

test.serial('who changes groups at LemonLDAP::NG has the other rules here', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openLemonldap(t);
  const groups_map = { vpn: 'Engineering', ops: 'Operations' };
  const wishes = { groups_claim: 'groups', groups_map };
  await introduceOidc(t, gateway, idp, wishes, {}, { vpn: '$uid eq "dwho"', ops: '0' });
  const { rulesLet } = await makeTeams(t, gateway);
  const signIn = async (): Promise<void> => {
    const page = await person();
    await page.goto('/user_account');
    await page.getByRole('link', { name: 'Sign in with Okta' }).click();
    await idp.signIn(page);
    await page.waitForURL(`${gateway.url}/user_account`);
  };
  await signIn();
  const judged = await rulesLet(DWHO.email);
  t.deepEqual(await judged(), { Engineering: 'passed', Operations: 'refused' });
  await introduceOidc(t, gateway, idp, wishes, {}, { vpn: '0', ops: '$uid eq "dwho"' });
  await signIn();
  t.deepEqual(await judged(), { Engineering: 'refused', Operations: 'passed' });
  await introduceOidc(t, gateway, idp, wishes, {}, { vpn: '0', ops: '0' });
  await signIn();
  t.deepEqual(await judged(), { Engineering: 'refused', Operations: 'refused' });
});

test.serial('who signs out here is signed out at LemonLDAP::NG too, and comes back', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openLemonldap(t);
  await introduceOidc(t, gateway, idp, {}, { LogoutBypassConfirm: 1 });
  const page = await person();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with Okta' }).click();
  await idp.signIn(page);
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${gateway.url}/`);
  await page.getByRole('link', { name: 'Sign in with Okta' }).click();
  await page.locator('input[name=user]').waitFor();
});

test.serial(
  'signing out at LemonLDAP::NG ends the session here, in a frame of its page',
  async (t) => {
    const { gateway, person } = await openBrowser(t);
    const idp = await openLemonldap(t);
    await introduceSaml(t, gateway, idp);
    const [here, elsewhere] = [await person(), await person()];
    await signInThroughSaml(here, gateway, idp);
    await signInThroughSaml(elsewhere, gateway, idp);
    const answered = here.waitForResponse(
      (response) =>
        response.request().method() === 'POST' && response.url().includes('/sp/logout/'),
    );
    await here.goto(`${idp.origin}/?logout=1`);
    t.is((await answered).status(), 303);
    await here.waitForResponse((response) => response.url().includes('SAMLResponse='));
    await here.goto(`${gateway.url}/user_account`);
    await here.getByRole('link', { name: 'Sign in with SAML' }).waitFor();
    await elsewhere.goto('/user_account');
    await elsewhere.getByText(DWHO.email).first().waitFor();
  },
);

test.serial('an unsigned request of LemonLDAP::NG to sign out is named in the log', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openLemonldap(t);
  await introduceSaml(t, gateway, idp, {}, { SignSLOMessage: 0 });
  const page = await person();
  await signInThroughSaml(page, gateway, idp);
  const answered = page.waitForResponse(
    (response) => response.status() === 403 && response.url().includes('/sp/logout/'),
  );
  await page.goto(`${idp.origin}/?logout=1`);
  await answered;
  t.true(gateway.output().includes('"detail":"the request is not signed"'));
});

test.serial(
  'a test sign-in through LemonLDAP::NG finds what it signs, and signs nobody in',
  async (t) => {
    const { gateway, person } = await openBrowser(t);
    const idp = await openLemonldap(t);
    await introduceSaml(t, gateway, idp);
    const admin = await person();
    await beginTestSignIn(admin, 'saml/saml-idp');
    await idp.signIn(admin);
    await admin.getByRole('heading', { name: 'Test sign-in: SAML' }).waitFor();
    for (const words of [
      'The entry as it is saved admits this answer.',
      'The provider signs the response (rsa-sha256) and the assertion (rsa-sha256).',
      'The flags ask for just that.',
      DWHO.email,
    ])
      await admin.getByText(words).first().waitFor();
    await admin.goto('/user_account');
    await admin.getByText(FIRST_ADMIN.email).first().waitFor();
    t.false((await gateway.call('GET', '/v0/users')).text.includes(DWHO.email));
    t.true((await gateway.command('audit', 'list')).includes('identity_provider test sign-in'));
  },
);

test.serial(
  'a test sign-in through OpenID Connect of LemonLDAP::NG tells its claims',
  async (t) => {
    const { gateway, person } = await openBrowser(t);
    const idp = await openLemonldap(t);
    await introduceOidc(t, gateway, idp, { required_claim: { name: 'groups', value: 'vpn' } });
    const admin = await person();
    await beginTestSignIn(admin, 'oidc/okta');
    await idp.signIn(admin);
    await admin.getByRole('heading', { name: 'Test sign-in: Okta' }).waitFor();
    for (const words of [
      'The ID token is signed (RS256).',
      'The e-mail address is in the claim email.',
      'You lack the required claim groups=vpn',
      DWHO.email,
    ])
      await admin.getByText(words).first().waitFor();
    t.false((await gateway.call('GET', '/v0/users')).text.includes(DWHO.email));
  },
);

test.serial('refused through SAML of LemonLDAP::NG: nobody knows the person here', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openLemonldap(t);
  await introduceSaml(t, gateway, idp, { auto_create_users: false });
  const page = await person();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page);
  await page.getByText(/user not found and auto_create_users disabled/).waitFor();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).waitFor();
});

const refusals: [
  says: string,
  entry: Partial<OpenidConnectProvider>,
  options: Record<string, unknown>,
  page: RegExp,
  detail: string | null,
][] = [
  [
    'nobody knows the person here',
    { auto_create_users: false },
    {},
    /user not found and auto_create_users disabled/,
    null,
  ],
  [
    'the person lacks the claim that is required',
    { required_claim: { name: 'groups', value: 'vpn' } },
    {},
    /does not admit your account/,
    'no claim groups',
  ],
  [
    'the ID token has no signature of a key pair',
    {},
    { IDTokenSignAlg: 'HS512' },
    /answer of the identity provider is not valid/,
    'algorithm HS512',
  ],
];
for (const [says, entry, options, page, detail] of refusals)
  test.serial(`refused through LemonLDAP::NG: ${says}`, async (t) => {
    const { gateway, person } = await openBrowser(t);
    const idp = await openLemonldap(t);
    await introduceOidc(t, gateway, idp, entry, options);
    const visitor = await person();
    await visitor.goto('/user_account');
    await visitor.getByRole('link', { name: 'Sign in with Okta' }).click();
    await idp.signIn(visitor, DWHO.login, 'a wrong password');
    t.false(visitor.url().startsWith(gateway.url), 'refused by the provider itself');
    await idp.signIn(visitor);
    await visitor.getByText(page).waitFor();
    if (detail !== null) t.true(gateway.output().includes(`"detail":"${detail}"`));
  });

/** Makes each known to the other. */
async function introduceOidc(
  t: ExecutionContext,
  gateway: GatewayProcess,
  idp: Lemonldap,
  changes: Partial<OpenidConnectProvider> = {},
  options: Record<string, unknown> = {},
  groups: Record<string, string> = {},
): Promise<void> {
  const addresses = {
    redirectUri: `${gateway.url}/auth/oidc/okta/callback/`,
    postLogoutUri: `${gateway.url}/`,
  };
  await idp.knowOidc(addresses, options, groups);
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri, ...changes });
  await configure(t, gateway, { openid_connect_providers: [entry] });
}

/** Gives each the metadata of the other. */
async function introduceSaml(
  t: ExecutionContext,
  gateway: GatewayProcess,
  idp: Lemonldap,
  changes: Partial<SamlIdentityProvider> = {},
  options: Record<string, unknown> = {},
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({ metadata: idp.metadata, ...changes });
  await configure(t, gateway, { saml_identity_providers: [entry] });
  const ours = await fetch(`${gateway.url}/auth/saml/sp/metadata/${entry.id}`);
  await idp.knowSaml(await ours.text(), options);
}

async function signInThroughSaml(
  page: Page,
  gateway: GatewayProcess,
  idp: Lemonldap,
): Promise<void> {
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page);
  await page.waitForURL(`${gateway.url}/user_account`);
}

async function configure(
  t: ExecutionContext,
  gateway: GatewayProcess,
  configuration: object,
): Promise<void> {
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
}
