// Signing in through identity providers in a real browser, which decides by itself which cookies go
// along: the providers are another site (localhost beside 127.0.0.1).

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { otherIdpKey } from '../support/auth/bad-saml-provider.ts';
import { beginTestSignIn, inspect, openBrowser, signedIn, signIn } from '../support/web/browser.ts';
import { openRealProvider } from '../support/auth/openid-provider.ts';
import { oidcEntry, samlEntry } from '../support/auth/provider-entries.ts';
import { openSamlProvider, type RealSamlProvider } from '../support/auth/saml-provider.ts';
import type { WholeGateway } from '../support/gateway/gateway-process.ts';

async function configure(
  t: ExecutionContext,
  gateway: WholeGateway,
  configuration: Record<string, unknown>,
): Promise<void> {
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
}

test('a person signs in through OpenID, and signs out there too', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openRealProvider(t, {
    redirectUris: [`${gateway.url}/auth/oidc/okta/callback/`],
    postLogoutUris: [`${gateway.url}/`],
  });
  idp.people.set('alice', { email: 'alice@example.com', email_verified: true });
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  await configure(t, gateway, { openid_connect_providers: [entry] });
  const page = await person();
  // The provider's page asks for letters of somebody else's.
  await page.route('https://fonts.googleapis.com/**', (route) =>
    route.fulfill({ contentType: 'text/css', body: '' }),
  );
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with Okta' }).click();
  await page.getByPlaceholder('Enter any login').fill('alice');
  await page.getByPlaceholder('and password').fill('anything');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText('alice@example.com').first().waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/localhost:\d+\/session\/end/);
  await page.getByRole('button', { name: /Yes, sign me out|Continue/ }).click();
  await page.waitForURL(`${gateway.url}/`);
  t.is(await page.getByText('alice@example.com').count(), 0);
});

/** Starts a SAML provider, and makes each known to the other. */
async function introduceSaml(
  t: ExecutionContext,
  gateway: WholeGateway,
): Promise<RealSamlProvider> {
  const consume = `${gateway.url}/auth/saml/sp/consume/saml-idp`;
  const idp = await openSamlProvider(t, consume, otherIdpKey);
  const { base_url: _default, ...entry } = samlEntry({ metadata: idp.metadata });
  await configure(t, gateway, { saml_identity_providers: [entry] });
  const metadata = await (await fetch(`${gateway.url}/auth/saml/sp/metadata/saml-idp`)).text();
  const [, ours = ''] = /X509Certificate>([^<]+)</.exec(metadata) ?? [];
  const lines = ours.replaceAll(/\s/g, '').match(/.{1,64}/g) ?? [];
  const signingCert = ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----'];
  idp.options = { signingCert: `${signingCert.join('\n')}\n` };
  return idp;
}

test('a person signs in through SAML, though the answer comes from another site', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await introduceSaml(t, gateway);
  const page = await person();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText('person@example.com').first().waitFor();
  t.deepEqual(idp.errors, []);
  // Signed in already: the sign-in of before is replaced, and the provider is asked again.
  await page.goto('/auth/saml/auth/signin/saml-idp?return_to=/user_account');
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText('person@example.com').first().waitFor();
});

test('an administrator tests a sign-in, stays who they are, and sets the flags', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await introduceSaml(t, gateway);
  idp.options = { ...idp.options, signResponse: false };
  const page = await person();
  await beginTestSignIn(page, 'saml/saml-idp');
  await page.getByRole('heading', { name: 'Test sign-in: SAML' }).waitFor();
  await page.getByText('untick “Responses must be signed”').waitFor();
  await page.reload();
  await page.getByText('signs the assertion (rsa-sha256), and nothing else.').waitFor();
  await inspect(t, page, 'provider-test');
  await page.goto('/settings/providers/saml/saml-idp');
  await inspect(t, page, 'provider-tested');
  await page.getByRole('button', { name: 'Set the flags to what the provider signs' }).click();
  await page.getByText('The flags ask for just that.').waitFor();
  t.false(await page.getByLabel('Responses must be signed').isChecked());
  t.true(await page.getByLabel('Assertions must be signed').isChecked());
});

test('a provider that is away says so on a page, and a password still lets in', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openRealProvider(t, { redirectUris: [] });
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  await configure(t, gateway, { openid_connect_providers: [entry] });
  idp.close();
  const page = await person();
  await page.goto('/');
  await page.getByRole('link', { name: 'Sign in with Okta' }).click();
  await page.getByText('The identity provider cannot be reached').waitFor();
  await inspect(t, page, 'provider-away');
  await signIn(page);
  await signedIn(page);
});
