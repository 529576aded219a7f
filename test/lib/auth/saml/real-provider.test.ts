// Sign-in at a SAML provider that others wrote, samlp, over real HTTP: it checks the signature of our
// request, and we those of its answer.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { addressesOf, serviceProvider } from '../../../../lib/auth/saml/service-provider.ts';
import {
  beginSaml,
  completeSaml,
  consumeSaml,
  type SamlContext,
} from '../../../../lib/auth/saml/sign-in.ts';
import { otherIdpKey } from '../../../support/auth/bad-saml-provider.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { formIn } from '../../../support/auth/openid-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { openSamlProvider, type RealSamlProvider } from '../../../support/auth/saml-provider.ts';
import { configOf } from '../../../support/api/server.ts';

const beginner = { browserSha256: 'b'.repeat(64), userId: null };

async function open(
  t: ExecutionContext,
  key?: typeof otherIdpKey,
): Promise<{ idp: RealSamlProvider; context: SamlContext }> {
  const database = await openDatabase(t, 'sqlite');
  const ours = await serviceProvider(configOf(), database);
  const { consume } = addressesOf(samlEntry());
  const idp = await openSamlProvider(t, consume, key ?? ours.key);
  return { idp, context: { database, ours, provider: samlEntry({ metadata: idp.metadata }) } };
}

async function signIn(t: ExecutionContext, context: SamlContext) {
  const { address } = await beginSaml(context, beginner);
  const page = await (await fetch(address)).text();
  const form = formIn(page, address);
  t.is(form?.action, addressesOf(context.provider).consume, page);
  const { SAMLResponse: samlResponse = '', RelayState: relayState = '' } = form?.fields ?? {};
  const consumed = await consumeSaml(context, { samlResponse, relayState });
  if (consumed.kind !== 'proven') throw new Error(JSON.stringify(consumed));
  return completeSaml(context, consumed.ticket, beginner.browserSha256);
}

test('a person signs in', async (t) => {
  const { idp, context } = await open(t);
  const { account } = await signIn(t, context);
  t.is(account.issuer, `${idp.origin}/metadata`);
  t.is(account.email, 'person@example.com');
  t.true(account.isBindable);
  t.deepEqual(idp.errors, []);
});

test('the provider refuses a request that another key signed', async (t) => {
  const { idp, context } = await open(t, otherIdpKey);
  const { address } = await beginSaml(context, beginner);
  t.is((await fetch(address)).status, 400);
  t.is(idp.errors.length, 1);
});

const bad: [says: string, options: Record<string, unknown>, why: RegExp][] = [
  ['an assertion without a signature', { signAssertion: false }, /signature/],
  ['a response without a signature', { signResponse: false }, /signature/],
  ['another recipient', { recipient: 'https://other.example/' }, /Recipient/],
  ['another audience', { audience: 'urn:other' }, /audience/],
  ['another issuer', { issuer: 'urn:other' }, /Issuer/],
  ['SHA-1', { signatureAlgorithm: 'rsa-sha1', digestAlgorithm: 'sha1' }, /algorithm/],
  ['another key', { key: otherIdpKey.privateKey, cert: otherIdpKey.certificate }, /signature/],
];
for (const [says, options, message] of bad)
  test(`refused: ${says}`, async (t) => {
    const { idp, context } = await open(t);
    idp.options = options;
    await t.throwsAsync(signIn(t, context), { name: 'ProviderRefusal', message });
  });
