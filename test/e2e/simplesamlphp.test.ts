// Debian's SimpleSAMLphp as it is installed, and a person in a real browser.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { openBrowser } from '../support/browser.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { samlEntry } from '../support/providers.ts';
import { openSimplesamlphp, type Simplesamlphp } from '../support/simplesamlphp.ts';

const ALICE = { mail: 'alice@example.com' };

test.serial('a person signs in through SimpleSAMLphp', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const idp = await openSimplesamlphp(t, { people: { alice: ALICE } });
  await introduce(t, gateway, idp);
  const page = await person();
  await page.goto('/user_account');
  await page.getByRole('link', { name: 'Sign in with SAML' }).click();
  await idp.signIn(page, 'alice');
  await page.waitForURL(`${gateway.url}/user_account`);
  await page.getByText('alice@example.com').first().waitFor();
});

/** Gives each the metadata of the other. */
async function introduce(
  t: ExecutionContext,
  gateway: GatewayProcess,
  idp: Simplesamlphp,
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({
    metadata: idp.metadata,
    // It signs the assertion alone.
    signed_envelopes_in_resp: false,
  });
  const configuration = { saml_identity_providers: [entry] };
  const saved = await gateway.call('PATCH', '/v0/configuration', { configuration });
  t.is(saved.status, 200, saved.text);
  idp.know(await (await fetch(`${gateway.url}/auth/saml/sp/metadata/${entry.id}`)).text());
}
