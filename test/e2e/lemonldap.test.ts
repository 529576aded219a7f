// Debian's LemonLDAP::NG as it is installed, and a person in a real browser.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { openBrowser } from '../support/browser.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { DWHO, type Lemonldap, openLemonldap } from '../support/lemonldap.ts';
import { oidcEntry, samlEntry } from '../support/providers.ts';

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
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page);
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText(DWHO.email).first().waitFor();
});

/** Makes each known to the other. */
async function introduceOidc(
  t: ExecutionContext,
  gateway: GatewayProcess,
  idp: Lemonldap,
): Promise<void> {
  await idp.knowOidc({
    redirectUri: `${gateway.url}/auth/oidc/okta/callback/`,
    postLogoutUri: `${gateway.url}/`,
  });
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  await configure(t, gateway, { openid_connect_providers: [entry] });
}

/** Gives each the metadata of the other. */
async function introduceSaml(
  t: ExecutionContext,
  gateway: GatewayProcess,
  idp: Lemonldap,
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({ metadata: idp.metadata });
  await configure(t, gateway, { saml_identity_providers: [entry] });
  const ours = await fetch(`${gateway.url}/auth/saml/sp/metadata/${entry.id}`);
  await idp.knowSaml(await ours.text());
}

async function configure(
  t: ExecutionContext,
  gateway: GatewayProcess,
  configuration: object,
): Promise<void> {
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
}
