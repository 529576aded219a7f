// A sign-in through a SAML provider, from the request to the account. Each request and each
// assertion works once, at its provider, in the browser that began.

import { createVerify } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import { addressesOf, serviceProvider } from '../../../../lib/auth/saml/service-provider.ts';
import {
  beginSaml,
  completeSaml,
  consumeSaml,
  type SamlContext,
} from '../../../../lib/auth/saml/sign-in.ts';
import {
  answerXml,
  base64,
  BOTH,
  denial,
  ENTITY_ID,
  goodWords,
  idpMetadata,
  requestIn,
  type Said,
} from '../../../support/auth/bad-saml-provider.ts';
import {
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { configOf } from '../../../support/api/server.ts';

const beginner = { browserSha256: 'b'.repeat(64), userId: null, returnTo: '/devices' };

interface World {
  context: SamlContext;
  /** Begins a sign-in, and lets the provider answer. */
  answer: (
    said?: Partial<Said>,
    userId?: string | null,
  ) => Promise<{ samlResponse: string; relayState: string }>;
}

async function open(
  t: ExecutionContext,
  kind: TestDatabaseKind = 'sqlite',
  changes: Partial<SamlContext['provider']> = {},
): Promise<World> {
  const database = await openDatabase(t, kind);
  const provider = samlEntry({ metadata: idpMetadata(signOnService()), ...changes });
  const ours = await serviceProvider(configOf(), database);
  const context = { database, provider, ours };
  const { consume } = addressesOf(provider);
  const answer = async (said: Partial<Said> = {}, userId: string | null = null) => {
    const begun = await beginSaml(context, { ...beginner, userId });
    const { id, query } = requestIn(begun.address);
    const status = said.status ?? goodWords(id, consume).status;
    // A refusal has no assertion.
    const inner = said.status === undefined ? undefined : '';
    const xml = answerXml({ ...goodWords(id, consume), ...said, status }, BOTH, inner);
    return { samlResponse: base64(xml), relayState: query.get('RelayState') ?? '' };
  };
  return { context, answer };
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(work, { instanceOf: ProviderRefusal });
  return error?.message ?? '';
}

async function ticketOf(work: ReturnType<typeof consumeSaml>): Promise<string> {
  const consumed = await work;
  if (consumed.kind !== 'proven') throw new Error(JSON.stringify(consumed));
  return consumed.ticket;
}

for (const kind of firstKind()) {
  test(`${kind}: a sign-in returns the account to the browser that began`, async (t) => {
    const { context, answer } = await open(t, kind);
    const ticket = await ticketOf(consumeSaml(context, await answer()));
    const { account, returnTo } = await completeSaml(context, ticket, beginner.browserSha256);
    t.is(returnTo, '/devices');
    t.deepEqual(account, {
      kind: 'saml',
      provider_id: 'saml-idp',
      issuer: ENTITY_ID,
      subject: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress person@example.com',
      email: 'person@example.com',
      isEmailVerified: null,
      isBindable: true,
    });
    t.is(await context.database.models.SignInRequest.count(), 0, 'used up');
    t.is(
      await refusal(t, completeSaml(context, ticket, beginner.browserSha256)),
      'request_unknown',
    );
  });

  test(`${kind}: an answer works once, and an assertion for one request only`, async (t) => {
    const { context, answer } = await open(t, kind);
    const posted = await answer({ assertionId: '_same' });
    await consumeSaml(context, posted);
    t.is(await refusal(t, consumeSaml(context, posted)), 'request_unknown');
    const again = await answer({ assertionId: '_same' });
    t.is(await refusal(t, consumeSaml(context, again)), 'answer_used');
    const other = await answer();
    const swapped = { ...(await answer()), relayState: other.relayState };
    t.is(await refusal(t, consumeSaml(context, swapped)), 'answer_invalid: InResponseTo');
  });
}

test('the page that ends a sign-in works only in the browser that began', async (t) => {
  const { context, answer } = await open(t);
  for (const browser of ['c'.repeat(64), null]) {
    const ticket = await ticketOf(consumeSaml(context, await answer()));
    t.is(await refusal(t, completeSaml(context, ticket, browser)), 'other_browser');
  }
});

test('over HTTPS the posted answer too works only in that browser', async (t) => {
  const { context, answer } = await open(t);
  const post = async (browserSha256: string | null) =>
    consumeSaml(context, { ...(await answer()), browserSha256 });
  t.is(await refusal(t, post(null)), 'other_browser');
  t.is(await refusal(t, post('c'.repeat(64))), 'other_browser');
  t.is((await post(beginner.browserSha256)).kind, 'proven');
});

test('a provider cannot begin: an answer without our request is refused', async (t) => {
  const { context } = await open(t);
  const { consume } = addressesOf(context.provider);
  const unasked = {
    ...goodWords('_x', consume),
    responseInResponseTo: null,
    subjectInResponseTo: null,
  };
  const samlResponse = base64(answerXml(unasked));
  t.regex(
    await refusal(t, consumeSaml(context, { samlResponse, relayState: null })),
    /request_invalid/,
  );
  t.is(
    await refusal(t, consumeSaml(context, { samlResponse, relayState: '/' })),
    'request_unknown',
  );
});

test('a relay state and a ticket cannot replace each other, nor work at another provider', async (t) => {
  const { context, answer } = await open(t);
  const { relayState } = await answer();
  t.is(
    await refusal(t, completeSaml(context, relayState, beginner.browserSha256)),
    'request_unknown',
  );
  const ticket = await ticketOf(consumeSaml(context, await answer()));
  const { samlResponse } = await answer();
  t.is(
    await refusal(t, consumeSaml(context, { samlResponse, relayState: ticket })),
    'request_unknown',
  );
  const elsewhere = { ...context, provider: { ...context.provider, id: 'other' } };
  t.regex(await refusal(t, consumeSaml(elsewhere, await answer())), /another provider/);
});

test('a denial names the user who began, if somebody was signed in', async (t) => {
  const { context, answer } = await open(t, 'sqlite', { signed_assertion_in_resp: false });
  const status = denial('AuthnFailed');
  const denied = (begunBy: string | null) => ({ kind: 'denied', status: 'AuthnFailed', begunBy });
  t.deepEqual((await consumeSaml(context, await answer({ status }))) as object, denied(null));
  t.deepEqual((await consumeSaml(context, await answer({ status }, 'u'))) as object, denied('u'));
});

// ---- the request -------------------------------------------------------------------------------

test('the request names us and our addresses, and is signed', async (t) => {
  const { context } = await open(t);
  const begun = await beginSaml(context, beginner);
  t.true(begun.address.startsWith('https://idp.example/sso?'));
  const { xml, query } = requestIn(begun.address);
  t.regex(
    xml,
    /AssertionConsumerServiceURL="http:\/\/127\.0\.0\.1:13000\/auth\/saml\/sp\/consume\/saml-idp"/,
  );
  t.regex(xml, />urn:firezone\.dev:firezone-app</);
  t.notRegex(xml, /ForceAuthn|RequestedAuthnContext/);
  t.is(query.get('SigAlg'), 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256');
  const [signed = '', signature = ''] = begun.address.split('?')[1]?.split('&Signature=') ?? [];
  const verifier = createVerify('sha256').update(signed.replaceAll('+', '%20'));
  const isGood = verifier.verify(
    context.ours.key.certificate,
    decodeURIComponent(signature),
    'base64',
  );
  t.true(isGood);
});

test('a user who is signed in already has to prove it again', async (t) => {
  const { context } = await open(t);
  const begun = await beginSaml(context, { ...beginner, userId: 'u' });
  t.regex(requestIn(begun.address).xml, /ForceAuthn="true"/);
});

test('without the flag requests are signed only if the provider requires it', async (t) => {
  const { context } = await open(t, 'sqlite', { sign_requests: false });
  t.false((await beginSaml(context, beginner)).address.includes('Signature='));
  const metadata = idpMetadata(signOnService(), { wants: ' WantAuthnRequestsSigned="true"' });
  const wanting = { ...context, provider: { ...context.provider, metadata } };
  t.true((await beginSaml(wanting, beginner)).address.includes('Signature='));
});

test('a provider that accepts only forms gets a form, with the signature inside', async (t) => {
  const metadata = idpMetadata(signOnService('HTTP-POST', 'https://idp.example/post'));
  const { context } = await open(t, 'sqlite', { metadata });
  const begun = await beginSaml(context, beginner);
  if (begun.kind !== 'post') return t.fail();
  t.is(begun.address, 'https://idp.example/post');
  const xml = Buffer.from(begun.fields['SAMLRequest'] ?? '', 'base64').toString();
  t.regex(xml, /<samlp:AuthnRequest[\s\S]*<SignatureValue>/);
  t.is(begun.fields['RelayState']?.length, 43);
});

test('metadata that became unusable are refused with a clear reason', async (t) => {
  const { context } = await open(t, 'sqlite', { metadata: '<html/>' });
  t.regex(await refusal(t, beginSaml(context, beginner)), /^provider_misconfigured: it does not/);
});
