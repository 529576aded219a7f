// Debian's SimpleSAMLphp as it is installed, and a person in a real browser.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import type { SamlIdentityProvider } from '../../models/index.ts';
import { beginTestSignIn, openBrowser } from '../support/web/browser.ts';
import { FIRST_ADMIN, type GatewayProcess } from '../support/gateway/gateway-process.ts';
import { samlEntry } from '../support/auth/provider-entries.ts';
import { makeTeams } from '../support/auth/teams.ts';
import { openSimplesamlphp, type Simplesamlphp } from '../support/auth/simplesamlphp.ts';

const ALICE = { mail: 'alice@example.com' };
const BOB = { mail: 'bob@example.com' };
/** What an administrator of the provider turns on, so that its requests to sign out are signed. */
const SIGNED_LOGOUT = { 'sign.logout': 'true' };

test.serial('a person signs in through SimpleSAMLphp', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openSimplesamlphp(t, { people: { alice: ALICE } });
  await introduce(t, gateway, idp);
  const page = await person();
  await signInThrough(page, gateway, idp, 'alice');
  await page.getByText(ALICE.mail).first().waitFor();
});

test.serial(
  'signing out at SimpleSAMLphp ends the session here, though names are transient',
  async (t) => {
    const { gateway, person } = await openBrowser(t);
    const people = { alice: ALICE, bob: BOB };
    const idp = await openSimplesamlphp(t, { people, hosted: SIGNED_LOGOUT });
    await introduce(t, gateway, idp);
    const [alice, bob] = [await person(), await person()];
    await signInThrough(alice, gateway, idp, 'alice');
    await signInThrough(bob, gateway, idp, 'bob');
    await alice.goto(idp.signOutUrl(`${gateway.url}/`));
    await alice.waitForURL(`${gateway.url}/`);
    await alice.goto('/user_account');
    await alice.getByRole('link', { name: 'Sign in with SAML' }).waitFor();
    await bob.goto('/user_account');
    await bob.getByText(BOB.mail).first().waitFor();
    await alice.getByRole('link', { name: 'Sign in with SAML' }).click();
    await alice.locator('#username').waitFor();
  },
);

test.serial(
  'an unsigned request to sign out says what SimpleSAMLphp is to be set to',
  async (t) => {
    const { gateway, person } = await openBrowser(t);
    const idp = await openSimplesamlphp(t, { people: { alice: ALICE } });
    await introduce(t, gateway, idp);
    const page = await person();
    await signInThrough(page, gateway, idp, 'alice');
    await page.goto(idp.signOutUrl(`${gateway.url}/`));
    await page.getByRole('heading', { name: 'Signed out here' }).waitFor();
    await page.getByText(/must be signed, with RSA and SHA-256/).waitFor();
    t.true(gateway.output().includes('"detail":"the request is not signed"'));
    await page.goto('/user_account');
    await page.getByRole('link', { name: 'Sign in with SAML' }).waitFor();
  },
);

test.serial('who changes groups at SimpleSAMLphp has the other rules here', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openSimplesamlphp(t, { people: { alice: { ...ALICE, groups: ['vpn', 'x'] } } });
  const groups_map = { vpn: 'Engineering', ops: 'Operations' };
  await introduce(t, gateway, idp, { groups_attribute: 'groups', groups_map });
  const { rulesLet } = await makeTeams(t, gateway);
  await signInThrough(await person(), gateway, idp, 'alice');
  const judged = await rulesLet(ALICE.mail);
  t.deepEqual(await judged(), { Engineering: 'passed', Operations: 'refused' });
  idp.changePeople({ alice: { ...ALICE, groups: 'ops' } });
  await signInThrough(await person(), gateway, idp, 'alice');
  t.deepEqual(await judged(), { Engineering: 'refused', Operations: 'passed' });
});

test.serial('SimpleSAMLphp changes its key, and people sign in all the while', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const people = { alice: ALICE, bob: BOB };
  const idp = await openSimplesamlphp(t, { people });
  await introduce(t, gateway, idp, { metadata: '', metadata_url: idp.metadataUrl });
  const [alice, bob, again] = [await person(), await person(), await person()];
  await signInThrough(alice, gateway, idp, 'alice');
  const certificates = async (): Promise<{ sha256: string; state: string }[]> =>
    (await gateway.call('GET', '/v0/saml_metadata')).body.data[0].certificates;
  const [first] = await certificates();

  // Without notice: the answer that an unknown key signed is the reason to fetch.
  await idp.changeKey();
  await signInThrough(bob, gateway, idp, 'bob');
  const [second, ...others] = await certificates();
  t.deepEqual(others, []);
  t.is(second?.state, 'in_use');
  t.not(second?.sha256, first?.sha256);

  // Fetched before: the former key serves until the new one is seen.
  await idp.changeKey();
  await gateway.command('provider', 'refresh', '--id', 'saml/saml-idp');
  t.deepEqual(
    (await certificates()).map(({ sha256, state }) => [sha256 === second?.sha256, state]),
    [
      [false, 'awaited'],
      [true, 'former'],
    ],
  );
  await signInThrough(again, gateway, idp, 'alice');
  const third = await certificates();
  t.deepEqual(
    third.map(({ state }) => state),
    ['in_use'],
  );
  t.not(third[0]?.sha256, second?.sha256);
});

const refusals: [
  says: string,
  entry: Partial<SamlIdentityProvider>,
  hosted: Record<string, string>,
  page: RegExp,
  detail: string,
][] = [
  [
    'the person lacks the attribute that is required',
    { required_attribute: { name: 'groups', value: 'vpn' } },
    {},
    /does not admit your account/,
    'no attribute groups',
  ],
  [
    'the response is not signed',
    {},
    { 'saml20.sign.response': 'false' },
    /answer of the identity provider is not valid/,
    'signature: the response is not signed, and signed_envelopes_in_resp asks for it',
  ],
];
for (const [says, entry, hosted, shown, detail] of refusals)
  test.serial(`refused through SimpleSAMLphp: ${says}`, async (t) => {
    const { gateway, person } = await openBrowser(t);
    const idp = await openSimplesamlphp(t, { people: { alice: ALICE }, hosted });
    await introduce(t, gateway, idp, entry);
    const page = await person();
    await page.goto('/user_account');
    await page.getByRole('link', { name: 'Sign in with SAML' }).click();
    await idp.signIn(page, 'alice');
    await page.getByText(shown).waitFor();
    t.true(gateway.output().includes(`"detail":"${detail}"`));
    await page.goto('/user_account');
    await page.getByRole('link', { name: 'Sign in with SAML' }).waitFor();
  });

test.serial(
  'a test sign-in finds that SimpleSAMLphp signs one part, and sets the flags to it',
  async (t) => {
    const { gateway, person } = await openBrowser(t);
    const hosted = { 'saml20.sign.response': 'false' };
    const idp = await openSimplesamlphp(t, { people: { alice: ALICE }, hosted });
    await introduce(t, gateway, idp);
    const [admin, alice] = [await person(), await person()];
    await beginTestSignIn(admin, 'saml/saml-idp');
    await idp.signIn(admin, 'alice');
    await admin.getByRole('heading', { name: 'Test sign-in: SAML' }).waitFor();
    const found = admin.locator('main');
    for (const words of [
      'The provider signs the assertion (rsa-sha256), and nothing else.',
      'untick “Responses must be signed”',
      'The NameID is another one at each sign-in (transient)',
      'The e-mail address is in the attribute mail.',
      'The metadata name a single logout address.',
      ALICE.mail,
    ])
      await found.getByText(words).first().waitFor();
    await admin.getByText(FIRST_ADMIN.email).first().waitFor();
    const users = await gateway.call('GET', '/v0/users');
    t.false(users.text.includes(ALICE.mail), 'nobody is made');
    await admin.getByRole('button', { name: 'Set the flags to what the provider signs' }).click();
    await admin.getByText('The flags ask for just that.').waitFor();
    await signInThrough(alice, gateway, idp, 'alice');
    await alice.getByText(ALICE.mail).first().waitFor();
  },
);

/** Gives each the metadata of the other. */
async function introduce(
  t: ExecutionContext,
  gateway: GatewayProcess,
  idp: Simplesamlphp,
  changes: Partial<SamlIdentityProvider> = {},
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({ metadata: idp.metadata, ...changes });
  const configuration = { saml_identity_providers: [entry] };
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
  idp.know(await (await fetch(`${gateway.url}/auth/saml/sp/metadata/${entry.id}`)).text());
}

async function signInThrough(
  page: Page,
  gateway: GatewayProcess,
  idp: Simplesamlphp,
  login: string,
): Promise<void> {
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page, login);
  await page.waitForURL(`${gateway.url}/user_account`);
}
