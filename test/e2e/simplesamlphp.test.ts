// Debian's SimpleSAMLphp as it is installed, and a person in a real browser. The tests share one
// provider, which each of them sets up anew, and one gateway.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import type { SamlIdentityProvider } from '../../models/index.ts';
import { beginTestSignIn, openBrowserAt, type Stage } from '../support/web/browser.ts';
import {
  asNew,
  FIRST_ADMIN,
  type WholeGateway,
  startGateway,
} from '../support/gateway/gateway-process.ts';
import { samlEntry } from '../support/auth/provider-entries.ts';
import { makeTeams } from '../support/auth/teams.ts';
import {
  openSimplesamlphp,
  type Simplesamlphp,
  type SimplesamlphpSetup,
} from '../support/auth/simplesamlphp.ts';
import { LastingFile } from '../support/suite/lasting.ts';

const ALICE = { mail: 'alice@example.com' };
const BOB = { mail: 'bob@example.com' };
/** What an administrator of the provider turns on, so that its requests to sign out are signed. */
const SIGNED_LOGOUT = { 'sign.logout': 'true' };

const file = new LastingFile();
let shared: WholeGateway;
let idp: Simplesamlphp;

test.before('a gateway and a provider', async (t) => {
  t.timeout(120_000);
  [shared, idp] = await Promise.all([startGateway(file), openSimplesamlphp(file)]);
});

test.after.always('both end', () => file.end());

/** The gateway as if it were new, a browser before it, and the metadata of the provider. */
async function openStage(
  t: ExecutionContext,
  setup: SimplesamlphpSetup,
): Promise<Stage & { metadata: string }> {
  const [gateway, metadata] = await Promise.all([asNew(shared), idp.setUp(setup)]);
  return { ...(await openBrowserAt(t, gateway)), metadata };
}

test.serial('a person signs in through SimpleSAMLphp', async (t) => {
  const { gateway, person, metadata } = await openStage(t, { people: { alice: ALICE } });
  await introduce(t, gateway, metadata);
  const page = await person();
  await signInThrough(page, gateway, 'alice');
  await page.getByText(ALICE.mail).first().waitFor();
});

test.serial(
  'signing out at SimpleSAMLphp ends the session here, though names are transient',
  async (t) => {
    const people = { alice: ALICE, bob: BOB };
    const { gateway, person, metadata } = await openStage(t, { people, hosted: SIGNED_LOGOUT });
    await introduce(t, gateway, metadata);
    const [alice, bob] = [await person(), await person()];
    await signInThrough(alice, gateway, 'alice');
    await signInThrough(bob, gateway, 'bob');
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
    const { gateway, person, metadata } = await openStage(t, { people: { alice: ALICE } });
    await introduce(t, gateway, metadata);
    const page = await person();
    await signInThrough(page, gateway, 'alice');
    await page.goto(idp.signOutUrl(`${gateway.url}/`));
    await page.getByRole('heading', { name: 'Signed out here' }).waitFor();
    await page.getByText(/must be signed, with RSA and SHA-256/).waitFor();
    t.true(gateway.output().includes('"detail":"the request is not signed"'));
    await page.goto('/user_account');
    await page.getByRole('link', { name: 'Sign in with SAML' }).waitFor();
  },
);

test.serial('who changes groups at SimpleSAMLphp has the other rules here', async (t) => {
  const { gateway, person, metadata } = await openStage(t, {
    people: { alice: { ...ALICE, groups: ['vpn', 'x'] } },
  });
  const groups_map = { vpn: 'Engineering', ops: 'Operations' };
  await introduce(t, gateway, metadata, { groups_attribute: 'groups', groups_map });
  const { rulesLet } = await makeTeams(t, gateway);
  await signInThrough(await person(), gateway, 'alice');
  const judged = await rulesLet(ALICE.mail);
  t.deepEqual(await judged(), { Engineering: 'passed', Operations: 'refused' });
  idp.changePeople({ alice: { ...ALICE, groups: 'ops' } });
  await signInThrough(await person(), gateway, 'alice');
  t.deepEqual(await judged(), { Engineering: 'refused', Operations: 'passed' });
});

test.serial('SimpleSAMLphp changes its key, and people sign in all the while', async (t) => {
  const people = { alice: ALICE, bob: BOB };
  const { gateway, person } = await openStage(t, { people });
  await introduce(t, gateway, '', { metadata_url: idp.metadataUrl });
  const [alice, bob, again] = [await person(), await person(), await person()];
  await signInThrough(alice, gateway, 'alice');
  const certificates = async (): Promise<{ sha256: string; state: string }[]> =>
    (await gateway.call('GET', '/v0/saml_metadata')).body.data[0].certificates;
  const [first] = await certificates();

  // Without notice: the answer that an unknown key signed is the reason to fetch.
  await idp.changeKey();
  await signInThrough(bob, gateway, 'bob');
  const [second, ...others] = await certificates();
  t.deepEqual(others, []);
  t.is(second?.state, 'in_use');
  t.not(second?.sha256, first?.sha256);

  // Fetched before: the former key serves until the new one is seen.
  await idp.changeKey();
  const saml_metadata = { refresh: true };
  const fetched = await gateway.call('PATCH', '/v0/saml_metadata/saml-idp', { saml_metadata });
  t.is(fetched.status, 200, fetched.text);
  t.deepEqual(
    (await certificates()).map(({ sha256, state }) => [sha256 === second?.sha256, state]),
    [
      [false, 'awaited'],
      [true, 'former'],
    ],
  );
  await signInThrough(again, gateway, 'alice');
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
    const { gateway, person, metadata } = await openStage(t, { people: { alice: ALICE }, hosted });
    await introduce(t, gateway, metadata, entry);
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
    const hosted = { 'saml20.sign.response': 'false' };
    const { gateway, person, metadata } = await openStage(t, { people: { alice: ALICE }, hosted });
    await introduce(t, gateway, metadata);
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
    await signInThrough(alice, gateway, 'alice');
    await alice.getByText(ALICE.mail).first().waitFor();
  },
);

/** Gives each the metadata of the other. */
async function introduce(
  t: ExecutionContext,
  gateway: WholeGateway,
  metadata: string,
  changes: Partial<SamlIdentityProvider> = {},
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({ metadata, ...changes });
  const configuration = { saml_identity_providers: [entry] };
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
  idp.know(await (await fetch(`${gateway.url}/auth/saml/sp/metadata/${entry.id}`)).text());
}

async function signInThrough(page: Page, gateway: WholeGateway, login: string): Promise<void> {
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page, login);
  await page.waitForURL(`${gateway.url}/user_account`);
}
