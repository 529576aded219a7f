// Sign-in through an OpenID provider that lies. One thing of a good sign-in is changed, and the
// sign-in must be refused for that reason. Against a real provider: real-provider.test.ts.

import test, { type ExecutionContext } from 'ava';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import { RECENT_MS } from '../../../../lib/kit/records/session-life.ts';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import {
  beginOidc,
  finishOidc,
  type OidcContext,
  redirectUriOf,
} from '../../../../lib/auth/oidc/sign-in.ts';
import {
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import {
  type BadProvider,
  type Bent,
  CLIENT,
  openBadProvider,
  otherKey,
} from '../../../support/auth/bad-openid-provider.ts';
import { proofOf } from '../../../support/auth/openid-provider.ts';
import { identityKey } from '../../../../models/index.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';

const beginner = { browserSha256: 'b'.repeat(64), userId: null, returnTo: '/devices' };
const limits = { timeoutMs: 30_000, bytesMax: 50_000 };

interface World {
  context: OidcContext;
  idp: BadProvider;
  /** Signs in, from the request to the account. */
  signIn: () => ReturnType<typeof proofOf>;
}

async function open(t: ExecutionContext, kind: TestDatabaseKind = 'sqlite'): Promise<World> {
  const idp = await openBadProvider(t);
  const database = await openDatabase(t, kind);
  const provider = oidcEntry({ discovery_document_uri: idp.discoveryUri, client_id: CLIENT.id });
  const clients = new OidcClients(limits);
  const redirectUri = redirectUriOf(provider, 'http://127.0.0.1:13000/');
  const context = { database, clients, provider, redirectUri };
  const signIn = async () => {
    const query = idp.authorize(await beginOidc(context, beginner));
    return proofOf(finishOidc(context, query, beginner.browserSha256));
  };
  return { context, idp, signIn };
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(work, { instanceOf: ProviderRefusal });
  return error?.message ?? '';
}

for (const kind of firstKind())
  test(`${kind}: a sign-in returns the account and the tokens to keep`, async (t) => {
    const { context, idp, signIn } = await open(t, kind);
    const { account, tokens, returnTo } = await signIn();
    t.deepEqual(account, {
      kind: 'oidc',
      provider_id: 'okta',
      issuer: idp.origin,
      subject: 'subject-1',
      email: 'person@example.com',
      isEmailVerified: true,
      isBindable: true,
    });
    t.is(tokens.refreshToken, 'refresh-1');
    t.regex(tokens.idToken ?? '', /^ey/);
    t.is(returnTo, '/devices');
    t.is(await context.database.models.SignInRequest.count(), 0, 'used up');
  });

test('the request carries PKCE, state, nonce, scope and offline access', async (t) => {
  const { context, idp } = await open(t);
  const address = await beginOidc(context, beginner);
  const { searchParams: query, origin, pathname } = new URL(address);
  t.is(origin + pathname, `${idp.origin}/authorize`);
  t.is(query.get('client_id'), CLIENT.id);
  t.is(query.get('response_type'), 'code');
  t.is(query.get('redirect_uri'), 'http://127.0.0.1:13000/auth/oidc/okta/callback/');
  t.is(query.get('scope'), 'openid email profile');
  t.is(query.get('access_type'), 'offline');
  t.is(query.get('code_challenge_method'), 'S256');
  for (const name of ['state', 'nonce', 'code_challenge']) t.is(query.get(name)?.length, 43, name);
  await finishOidc(context, idp.authorize(address), beginner.browserSha256);
  const verifier = idp.asked[0]?.['code_verifier'] ?? '';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  t.is(query.get('code_challenge'), challenge);
  t.is(idp.asked[0]?.['redirect_uri'], query.get('redirect_uri') ?? '');
});

test('two sign-ins have different states and nonces', async (t) => {
  const { context } = await open(t);
  const [one, other] = [await beginOidc(context, beginner), await beginOidc(context, beginner)];
  for (const name of ['state', 'nonce', 'code_challenge'])
    t.not(new URL(one).searchParams.get(name), new URL(other).searchParams.get(name), name);
});

test('the address of the entry replaces ours', async (t) => {
  const { context } = await open(t);
  const redirect_uri = 'https://vpn.example.com/elsewhere';
  const provider = { ...context.provider, redirect_uri };
  t.is(redirectUriOf(provider, 'http://127.0.0.1:13000/'), redirect_uri);
});

test('the client secret is sent in the way that the provider accepts', async (t) => {
  const { idp, signIn, context } = await open(t);
  await signIn();
  const [, basic = ''] = idp.asked[0]?.authorization?.split(' ') ?? [];
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':');
  t.deepEqual([id, decodeURIComponent(secret)], [CLIENT.id, CLIENT.secret]);
  idp.bent.document = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
  const fresh = { ...context, clients: new OidcClients(limits) };
  await finishOidc(fresh, idp.authorize(await beginOidc(fresh, beginner)), beginner.browserSha256);
  t.is(idp.asked[1]?.['client_secret'], CLIENT.secret);
  t.is(idp.asked[1]?.authorization, undefined);
});

test('an e-mail that the ID token lacks comes from userinfo, for the same subject only', async (t) => {
  const { idp, signIn } = await open(t);
  idp.bent.claims = { email: undefined, email_verified: undefined };
  idp.bent.userinfo = { sub: 'subject-1', email: 'asked@example.com', email_verified: 'true' };
  const { account } = await signIn();
  t.is(account.email, 'asked@example.com');
  t.is(account.isEmailVerified, true);
  idp.bent.userinfo = { ...idp.bent.userinfo, sub: 'subject-2' };
  t.regex(await refusal(t, signIn()), /^answer_invalid/);
});

test('userinfo is asked whether an e-mail is verified, where it would link an account', async (t) => {
  const { idp, signIn, context } = await open(t);
  const askedIs = async (times: number, verdict: boolean | null, says: string) => {
    idp.paths.length = 0;
    const { account } = await signIn();
    t.is(account.isEmailVerified, verdict, says);
    t.is(account.email, 'Person@example.com', says);
    t.is(idp.paths.filter((path) => path === '/userinfo').length, times, says);
  };
  const said = { sub: 'subject-1', email: 'person@example.com', email_verified: true };
  idp.bent.claims = { email: 'Person@example.com', email_verified: undefined };
  idp.bent.userinfo = said;
  await askedIs(0, null, 'nobody has the address');
  const user = await addUser(context.database, { email: 'person@example.com' });
  await askedIs(1, true, 'somebody has it');
  idp.bent.userinfo = { ...said, email_verified: false };
  await askedIs(1, false, 'not verified');
  idp.bent.userinfo = { ...said, email_verified: undefined };
  await askedIs(1, null, 'userinfo says nothing of it either');
  for (const email of ['other@example.com', 'pers\u014Dn@example.com', undefined]) {
    idp.bent.userinfo = { ...said, email };
    await askedIs(1, null, `userinfo speaks of ${email}`);
  }
  for (const userinfo of [null, { ...said, sub: 'subject-2' }, { email_verified: true }]) {
    idp.bent.userinfo = userinfo;
    await askedIs(1, null, 'it cannot be asked');
  }
  idp.bent.userinfo = said;
  idp.bent.document = { userinfo_endpoint: undefined };
  const clients = new OidcClients(limits);
  const query = idp.authorize(await beginOidc({ ...context, clients }, beginner));
  const { account } = await proofOf(finishOidc({ ...context, clients }, query, 'b'.repeat(64)));
  t.is(account.isEmailVerified, null, 'there is no userinfo');
  idp.bent.claims = { email: 'Person@example.com', email_verified: false };
  await askedIs(0, false, 'the token says it');
  idp.bent.claims = { email: 'Person@example.com', email_verified: undefined };
  const linked = {
    kind: 'oidc' as const,
    provider_id: 'okta',
    issuer: idp.origin,
    subject: 'subject-1',
  };
  await write(context.database, (transaction) =>
    context.database.models.Identity.create(
      { ...linked, user_id: user.id, account_key: identityKey(linked) },
      { transaction },
    ),
  );
  await askedIs(0, null, 'the account is linked');
});

test('userinfo that was asked for another claim also says whether the e-mail is verified', async (t) => {
  const { idp, signIn, context } = await open(t);
  Object.assign(context.provider, { groups_claim: 'groups' });
  await addUser(context.database, { email: 'person@example.com' });
  idp.bent.claims = { email_verified: undefined };
  idp.bent.userinfo = { sub: 'subject-1', email: 'person@example.com', email_verified: true };
  t.true((await signIn()).account.isEmailVerified);
  t.is(idp.paths.filter((path) => path === '/userinfo').length, 1);
});

const verdicts: [claim: unknown, verdict: boolean | null][] = [
  [true, true],
  ['true', true],
  [false, false],
  ['false', false],
  [0, false],
  ['', false],
  [undefined, null],
  [null, null],
];
for (const [claim, verdict] of verdicts)
  test(`email_verified ${JSON.stringify(claim)} means ${verdict}`, async (t) => {
    const { idp, signIn } = await open(t);
    idp.bent.claims = { email_verified: claim };
    t.is((await signIn()).account.isEmailVerified, verdict);
  });

const seconds = () => Math.floor(Date.now() / 1_000);

/** What is changed, and why it is refused. */
const bendings: [says: string, bend: (bent: Bent, idp: BadProvider) => void, why: RegExp][] = [
  ['another nonce', (b) => (b.claims = { nonce: 'n'.repeat(43) }), /answer_invalid: .*nonce/],
  ['no nonce', (b) => (b.claims = { nonce: undefined }), /answer_invalid/],
  ['another issuer', (b) => (b.claims = { iss: 'http://evil.example' }), /answer_invalid: .*iss/],
  ['another audience', (b) => (b.claims = { aud: 'someone' }), /answer_invalid: .*aud/],
  [
    'two audiences, meant for the other',
    (b) => (b.claims = { aud: [CLIENT.id, 'someone'], azp: 'someone' }),
    /answer_invalid: .*azp/,
  ],
  [
    'a token that expired',
    (b) => (b.claims = { iat: seconds() - 900, exp: seconds() - 90 }),
    /answer_invalid: .*exp/,
  ],
  [
    'a token from the future',
    (b) => (b.claims = { iat: seconds() + 900, nbf: seconds() + 900, exp: seconds() + 1_800 }),
    /answer_invalid/,
  ],
  ['no expiry', (b) => (b.claims = { exp: undefined }), /answer_invalid/],
  ['no subject', (b) => (b.claims = { sub: undefined }), /answer_invalid/],
  ['an empty subject', (b) => (b.claims = { sub: '' }), /answer_invalid/],
  ['a long subject', (b) => (b.claims = { sub: 's'.repeat(256) }), /answer_invalid: subject/],
  ['alg none', (b) => (b.header = { alg: 'none' }), /answer_invalid: algorithm none$/],
  ['alg HS512', (b) => (b.header = { alg: 'HS512' }), /answer_invalid: algorithm HS512$/],
  [
    'an algorithm that nobody knows',
    (b) => (b.header = { alg: '<secret>' }),
    /answer_invalid: algorithm unknown$/,
  ],
  ['another key', (b) => (b.signingKey = otherKey), /answer_invalid: signature$/],
  ['an unknown key id', (b) => (b.header = { kid: 'other' }), /answer_invalid: no such key$/],
  [
    'an HMAC with the client secret',
    (b) =>
      (b.tokens = (good) => {
        const [, claims] = String(good['id_token']).split('.');
        const header = Buffer.from('{"alg":"HS256"}').toString('base64url');
        const text = `${header}.${claims}`;
        const mac = createHmac('sha256', CLIENT.secret).update(text).digest('base64url');
        return { ...good, id_token: `${text}.${mac}` };
      }),
    /answer_invalid/,
  ],
  [
    'claims changed after signing',
    (b) =>
      (b.tokens = (good) => {
        const [header, claims = '', signature] = String(good['id_token']).split('.');
        const payload = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object;
        const lied = Buffer.from(JSON.stringify({ ...payload, email: 'admin@x' })).toString(
          'base64url',
        );
        return { ...good, id_token: `${header}.${lied}.${signature}` };
      }),
    /answer_invalid/,
  ],
  ['no ID token', (b) => (b.tokens = ({ id_token: _gone, ...others }) => others), /answer_invalid/],
  ['a list for an answer', (b) => (b.tokens = () => []), /answer_invalid/],
  [
    'garbage for an answer',
    (b) => (b.answer = (r) => void r.setHeader('content-type', 'application/json').end('<html>')),
    /answer_invalid/,
  ],
  ['a page for an answer', (b) => (b.answer = (r) => void r.end('<html>secret')), /answer_invalid/],
  [
    'an answer without end',
    (b) => (b.answer = (r) => void r.end('x'.repeat(60_000))),
    /provider_unreachable/,
  ],
  ['a hang-up', (b) => (b.answer = (r) => void r.destroy()), /provider_unreachable: network/],
  [
    'status 503',
    (b) => (b.answer = (r) => void r.writeHead(503).end('away')),
    /provider_failing: status 503/,
  ],
  [
    'status 500 with an error',
    (b) => (b.answer = (r) => void r.writeHead(500, JSON_TYPE).end('{"error":"invalid_grant"}')),
    /provider_failing: status 500$/,
  ],
  [
    'a redirect',
    (b, { origin }) =>
      (b.answer = (r) => void r.writeHead(307, { location: `${origin}/keys` }).end()),
    /answer_invalid: status 307/,
  ],
  [
    'a refusal of the code',
    (b) => (b.answer = (r) => void r.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}')),
    /provider_refused: invalid_grant/,
  ],
  [
    'a refusal of the client',
    (b) => (b.answer = (r) => void r.writeHead(401, JSON_TYPE).end('{"error":"invalid_client"}')),
    /provider_misconfigured: invalid_client/,
  ],
];
const JSON_TYPE = { 'content-type': 'application/json' };

for (const [says, bend, why] of bendings)
  test(`refused: ${says}`, async (t) => {
    const { idp, signIn } = await open(t);
    await t.notThrowsAsync(signIn());
    bend(idp.bent, idp);
    t.regex(await refusal(t, signIn()), why);
  });

test('clocks may differ by a minute at most', async (t) => {
  const { idp, signIn } = await open(t);
  const rows: [ok: boolean, claims: Record<string, number>][] = [
    [true, { iat: seconds() - 300, exp: seconds() - 45 }],
    [false, { iat: seconds() - 300, exp: seconds() - 75 }],
    [true, { iat: seconds() + 45, nbf: seconds() + 45 }],
    [false, { nbf: seconds() + 75 }],
  ];
  for (const [isGood, claims] of rows) {
    idp.bent.claims = claims;
    if (isGood) await t.notThrowsAsync(signIn(), JSON.stringify(claims));
    else t.regex(await refusal(t, signIn()), /answer_invalid/, JSON.stringify(claims));
  }
});

test('a request to a slow provider ends after a time limit', async (t) => {
  const { idp, context } = await open(t);
  const slow = { ...context, clients: new OidcClients({ ...limits, timeoutMs: 4_000 }) };
  const query = idp.authorize(await beginOidc(slow, beginner));
  idp.bent.answer = () => undefined;
  const beganMs = performance.now();
  const why = await refusal(t, finishOidc(slow, query, beginner.browserSha256));
  t.is(why, 'provider_unreachable: time-out');
  t.true(performance.now() - beganMs < limits.timeoutMs);
});

test('a provider that cannot be reached is named so, and asked again at the next sign-in', async (t) => {
  const { context, idp } = await open(t);
  const provider = { ...context.provider, discovery_document_uri: 'http://127.0.0.1:1/d' };
  const why = await refusal(t, beginOidc({ ...context, provider }, beginner));
  t.regex(why, /^provider_unreachable: it cannot be fetched/);
  idp.bent.document = { issuer: 5 };
  t.regex(await refusal(t, beginOidc(context, beginner)), /^provider_unreachable: its issuer/);
  idp.bent.document = {};
  await t.notThrowsAsync(beginOidc(context, beginner));
});

test('a provider without signatures by key pairs is refused before the browser is sent there', async (t) => {
  const { context, idp } = await open(t);
  idp.bent.document = { id_token_signing_alg_values_supported: ['none', 'HS256'] };
  t.regex(await refusal(t, beginOidc(context, beginner)), /^provider_misconfigured/);
});

test('a state works once, in its browser and at its provider, and any attempt uses it up', async (t) => {
  const { context, idp } = await open(t);
  const begun = async () => idp.authorize(await beginOidc(context, beginner));
  const finish = (query: URLSearchParams, browser: string | null = beginner.browserSha256) =>
    finishOidc(context, query, browser);
  const query = await begun();
  await finish(query);
  t.is(await refusal(t, finish(query)), 'request_unknown');
  t.is(await refusal(t, finish(await begun(), 'c'.repeat(64))), 'other_browser');
  t.is(await refusal(t, finish(await begun(), null)), 'other_browser');
  const elsewhere = { ...context, provider: { ...context.provider, id: 'other' } };
  const strayed = await begun();
  t.regex(
    await refusal(t, finishOidc(elsewhere, strayed, beginner.browserSha256)),
    /request_unknown: another provider/,
  );
  t.is(await refusal(t, finish(strayed)), 'request_unknown');
  for (const state of ['', 'x'.repeat(2_000)])
    t.regex(await refusal(t, finish(new URLSearchParams({ code: 'c', state }))), /request_invalid/);
  const unknown = randomBytes(32).toString('base64url');
  const guessed = new URLSearchParams({ code: 'c', state: unknown });
  t.is(await refusal(t, finish(guessed)), 'request_unknown');
});

test('an error that the browser brings back is logged by its kind', async (t) => {
  const { context, idp } = await open(t);
  const rows: [error: string, why: string][] = [
    ['access_denied', 'provider_refused: access_denied'],
    ['temporarily_unavailable', 'provider_failing: temporarily_unavailable'],
    ['unauthorized_client', 'provider_misconfigured: unauthorized_client'],
    ['<script>', 'provider_refused: unknown'],
  ];
  for (const [error, why] of rows) {
    const query = idp.authorize(await beginOidc(context, beginner));
    query.delete('code');
    query.set('error', error);
    t.is(await refusal(t, finishOidc(context, query, beginner.browserSha256)), why);
  }
});

test('the log holds nothing that a provider sent', async (t) => {
  const { idp, signIn } = await open(t);
  idp.bent.answer = (r) =>
    void r
      .writeHead(400, JSON_TYPE)
      .end('{"error":"invalid_grant","error_description":"the-secret-text"}');
  const error = await t.throwsAsync(signIn(), { instanceOf: ProviderRefusal });
  t.false(`${error?.message} ${error?.text} ${error?.detail}`.includes('secret-text'));
  t.is(error?.cause, undefined);
});

test('a user who is signed in already has to prove it again', async (t) => {
  const { context, idp } = await open(t);
  const asked = async (userId: string | null) =>
    new URL(await beginOidc(context, { ...beginner, userId })).searchParams.get('max_age');
  t.is(await asked(null), null);
  t.is(await asked('00000000-0000-4000-8000-000000000000'), '0');
  t.truthy(idp.origin);
});

test('the time of the sign-in at the provider is known if the provider sends it', async (t) => {
  const { idp, signIn } = await open(t);
  const seconds = Math.floor(Date.now() / 1_000);
  const since = async (auth_time: unknown): Promise<Date | undefined> => {
    idp.bent.claims = { auth_time };
    return (await signIn()).since;
  };
  t.deepEqual(await since(seconds - 600), new Date((seconds - 600) * 1_000));
  const unsaid = (await since(undefined))?.getTime() ?? Date.now();
  t.true(Date.now() - unsaid >= RECENT_MS, 'who signs out and in again is no recent one');
  t.is(await since(seconds + 600), undefined, 'a clock that is ahead makes nothing more recent');
});
