// Sign-in at a real OpenID provider, oidc-provider, over real HTTP: with PKCE, nonce and a signed ID
// token, with the e-mail asked for where the token has none.

import test from 'ava';
import { refreshTokenGrant } from 'openid-client';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import {
  beginOidc,
  finishOidc,
  type OidcContext,
  redirectUriOf,
} from '../../../../lib/auth/oidc/sign-in.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import {
  openRealProvider,
  Person,
  proofOf,
  type RealProvider,
} from '../../../support/auth/openid-provider.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import type { ExecutionContext } from 'ava';

const EXTERNAL_URL = 'http://127.0.0.1:13000/';
const limits = { timeoutMs: 30_000, bytesMax: 1_048_576 };
const beginner = { browserSha256: 'b'.repeat(64), userId: null };

async function open(
  t: ExecutionContext,
  configuration: Parameters<typeof openRealProvider>[2] = {},
): Promise<{ idp: RealProvider; context: OidcContext }> {
  const redirectUri = redirectUriOf(oidcEntry(), EXTERNAL_URL);
  const idp = await openRealProvider(t, { redirectUris: [redirectUri] }, configuration);
  idp.people.set('alice', { email: 'alice@example.com', email_verified: true });
  const provider = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  const database = await openDatabase(t, 'sqlite');
  return { idp, context: { database, clients: new OidcClients(limits), provider, redirectUri } };
}

async function signIn(context: OidcContext, login = 'alice') {
  const address = await beginOidc(context, beginner);
  const back = await new Person(login).visit(address, EXTERNAL_URL);
  return proofOf(finishOidc(context, new URL(back).searchParams, beginner.browserSha256));
}

for (const conformIdTokenClaims of [true, false])
  test(`a person signs in; e-mail ${conformIdTokenClaims ? 'asked for' : 'in the ID token'}`, async (t) => {
    const { idp, context } = await open(t, { conformIdTokenClaims });
    const { account, tokens } = await signIn(context);
    t.deepEqual(account, {
      kind: 'oidc',
      provider_id: 'okta',
      issuer: idp.origin,
      subject: 'alice',
      email: 'alice@example.com',
      isEmailVerified: true,
      isBindable: true,
    });
    t.truthy(tokens.refreshToken);
    t.truthy(tokens.idToken);
  });

test('an address that the provider has not verified is known as such', async (t) => {
  const { idp, context } = await open(t);
  idp.people.set('bob', { email: 'bob@example.com', email_verified: false });
  t.is((await signIn(context, 'bob')).account.isEmailVerified, false);
});

test('a code is of no use to another sign-in', async (t) => {
  const { context } = await open(t);
  const [mine, yours] = [await beginOidc(context, beginner), await beginOidc(context, beginner)];
  const back = new URL(await new Person('alice').visit(mine, EXTERNAL_URL)).searchParams;
  back.set('state', new URL(yours).searchParams.get('state') ?? '');
  // PKCE: the verifier of the other sign-in is not the one of this code.
  await t.throwsAsync(finishOidc(context, back, beginner.browserSha256), {
    message: 'provider_refused: invalid_grant',
  });
});

test('a refresh token that was rotated serves, the one before it does not', async (t) => {
  const { context } = await open(t);
  const { tokens } = await signIn(context);
  const { configuration } = await context.clients.of(context.provider);
  const fresh = await refreshTokenGrant(configuration, tokens.refreshToken ?? '');
  t.truthy(fresh.refresh_token);
  t.not(fresh.refresh_token, tokens.refreshToken);
  await t.throwsAsync(refreshTokenGrant(configuration, tokens.refreshToken ?? ''));
});

for (const token_endpoint_auth_method of ['client_secret_basic', 'client_secret_post'] as const)
  test(`an entry that names ${token_endpoint_auth_method} signs in and refreshes`, async (t) => {
    const { context } = await open(t);
    const provider = { ...context.provider, token_endpoint_auth_method };
    const { tokens } = await signIn({ ...context, provider });
    const { configuration, askedBy } = await context.clients.of(provider);
    await refreshTokenGrant(configuration, tokens.refreshToken ?? '');
    t.is(askedBy(), token_endpoint_auth_method);
  });

test('our client with another secret is refused', async (t) => {
  const { context } = await open(t);
  const provider = { ...context.provider, client_secret: 'wrong' };
  await t.throwsAsync(signIn({ ...context, provider }), {
    message: 'provider_misconfigured: invalid_client',
  });
});
