// Debian's LemonLDAP::NG as it is installed, and a person in a real browser. The tests share one
// provider, which knows us as several OpenID clients, and one gateway.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import type { OpenidConnectProvider, SamlIdentityProvider } from '../../models/index.ts';
import { beginTestSignIn, openBrowserAt, type Stage } from '../support/web/browser.ts';
import {
  asNew,
  FIRST_ADMIN,
  type WholeGateway,
  startGateway,
} from '../support/gateway/gateway-process.ts';
import { DWHO, type Known, type Lemonldap, openLemonldap } from '../support/auth/lemonldap.ts';
import { oidcEntry, samlEntry } from '../support/auth/provider-entries.ts';
import { makeTeams } from '../support/auth/teams.ts';
import { LastingFile } from '../support/suite/lasting.ts';

const file = new LastingFile();
let shared: WholeGateway;
let idp: Lemonldap;
/** What the provider knows of us, unless a test wants something else. */
let known: Known;

test.before('a gateway and a provider, which know each other', async (t) => {
  t.timeout(120_000);
  [shared, idp] = await Promise.all([startGateway(file), openLemonldap(file)]);
  await configureSaml(t, shared);
  const ours = await fetch(`${shared.url}/auth/saml/sp/metadata/${SAML_ID}`);
  const addresses = {
    redirectUri: `${shared.url}/auth/oidc/okta/callback/`,
    postLogoutUri: `${shared.url}/`,
  };
  known = {
    saml: { ours: await ours.text() },
    oidc: {
      plain: addresses,
      'without-question': { ...addresses, options: { LogoutBypassConfirm: 1 } },
      'no-key-pair': { ...addresses, options: { IDTokenSignAlg: 'HS512' } },
      'sees-groups': { ...addresses, seesGroups: true },
    },
    groups: { vpn: '$uid eq "dwho"', ops: '0' },
  };
});

test.after.always('both end', () => file.end());

/** The gateway as if it were new, a browser before it, and the provider. */
async function openStage(t: ExecutionContext, changes: Partial<Known> = {}): Promise<Stage> {
  const [gateway] = await Promise.all([asNew(shared), idp.know({ ...known, ...changes })]);
  return openBrowserAt(t, gateway);
}

test.serial('a person signs in through OpenID Connect of LemonLDAP::NG', async (t) => {
  const { gateway, person } = await openStage(t);
  await configureOidc(t, gateway);
  const page = await person();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with Okta' }).click();
  await idp.signIn(page);
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText(DWHO.email).first().waitFor();
});

test.serial('a person signs in through SAML of LemonLDAP::NG', async (t) => {
  const { gateway, person } = await openStage(t);
  await configureSaml(t, gateway);
  const page = await person();
  await signInThroughSaml(page, gateway);
  await page.getByText(DWHO.email).first().waitFor();
});

test.serial('who changes groups at LemonLDAP::NG has the other rules here', async (t) => {
  const { gateway, person } = await openStage(t);
  const groups_map = { vpn: 'Engineering', ops: 'Operations' };
  const wishes = { client_id: 'sees-groups', groups_claim: 'groups', groups_map };
  await configureOidc(t, gateway, wishes);
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
  await idp.know({ ...known, groups: { vpn: '0', ops: '$uid eq "dwho"' } });
  await signIn();
  t.deepEqual(await judged(), { Engineering: 'refused', Operations: 'passed' });
  await idp.know({ ...known, groups: { vpn: '0', ops: '0' } });
  await signIn();
  t.deepEqual(await judged(), { Engineering: 'refused', Operations: 'refused' });
});

test.serial('who signs out here is signed out at LemonLDAP::NG too, and comes back', async (t) => {
  const { gateway, person } = await openStage(t);
  await configureOidc(t, gateway, { client_id: 'without-question' });
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
    const { gateway, person } = await openStage(t);
    await configureSaml(t, gateway);
    const [here, elsewhere] = [await person(), await person()];
    await signInThroughSaml(here, gateway);
    await signInThroughSaml(elsewhere, gateway);
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
  const { gateway, person } = await openStage(t, {
    saml: { ...known.saml, options: { SignSLOMessage: 0 } },
  });
  await configureSaml(t, gateway);
  const page = await person();
  await signInThroughSaml(page, gateway);
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
    const { gateway, person } = await openStage(t);
    await configureSaml(t, gateway);
    const admin = await person();
    const began = new Date().toISOString();
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
    const { data } = (await gateway.call('GET', `/v0/audit?action=test%20sign-in&since=${began}`))
      .body;
    t.like(data, [{ kind: 'identity_provider', email: FIRST_ADMIN.email }]);
  },
);

test.serial(
  'a test sign-in through OpenID Connect of LemonLDAP::NG tells its claims',
  async (t) => {
    const { gateway, person } = await openStage(t);
    await configureOidc(t, gateway, { required_claim: { name: 'groups', value: 'vpn' } });
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
  const { gateway, person } = await openStage(t);
  await configureSaml(t, gateway, { auto_create_users: false });
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
  page: RegExp,
  detail: string | null,
][] = [
  [
    'nobody knows the person here',
    { auto_create_users: false },
    /user not found and auto_create_users disabled/,
    null,
  ],
  [
    'the person lacks the claim that is required',
    { required_claim: { name: 'groups', value: 'vpn' } },
    /does not admit your account/,
    'no claim groups',
  ],
  [
    'the ID token has no signature of a key pair',
    { client_id: 'no-key-pair' },
    /answer of the identity provider is not valid/,
    'algorithm HS512',
  ],
];
for (const [says, entry, page, detail] of refusals)
  test.serial(`refused through LemonLDAP::NG: ${says}`, async (t) => {
    const { gateway, person } = await openStage(t);
    await configureOidc(t, gateway, entry);
    const visitor = await person();
    await visitor.goto('/user_account');
    await visitor.getByRole('link', { name: 'Sign in with Okta' }).click();
    await idp.signIn(visitor, DWHO.login, 'a wrong password');
    t.false(visitor.url().startsWith(gateway.url), 'refused by the provider itself');
    await idp.signIn(visitor);
    await visitor.getByText(page).waitFor();
    if (detail !== null) t.true(gateway.output().includes(`"detail":"${detail}"`));
  });

const SAML_ID = 'saml-idp';

/** Makes the provider known to the gateway, for OpenID Connect. */
async function configureOidc(
  t: ExecutionContext,
  gateway: WholeGateway,
  changes: Partial<OpenidConnectProvider> = {},
): Promise<void> {
  const { discoveryUri: discovery_document_uri } = idp;
  const entry = oidcEntry({ client_id: 'plain', discovery_document_uri, ...changes });
  await configure(t, gateway, { openid_connect_providers: [entry] });
}

/** Makes the provider known to the gateway, for SAML. */
async function configureSaml(
  t: ExecutionContext,
  gateway: WholeGateway,
  changes: Partial<SamlIdentityProvider> = {},
): Promise<void> {
  const { metadata } = idp;
  const { base_url: _default, ...entry } = samlEntry({ id: SAML_ID, metadata, ...changes });
  await configure(t, gateway, { saml_identity_providers: [entry] });
}

async function signInThroughSaml(page: Page, gateway: WholeGateway): Promise<void> {
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page);
  await page.waitForURL(`${gateway.url}/user_account`);
}

async function configure(
  t: ExecutionContext,
  gateway: WholeGateway,
  configuration: object,
): Promise<void> {
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
}
