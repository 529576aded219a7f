// By which method the token endpoint is shown the secret: the one that the entry names, else the one
// that works, and after two failures only one for a while. What the provider says is cut.

import test, { type ExecutionContext } from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import {
  beginOidc,
  finishOidc,
  type OidcContext,
  redirectUriOf,
} from '../../../../lib/auth/oidc/sign-in.ts';
import {
  type BadProvider,
  CLIENT,
  openBadProvider,
} from '../../../support/auth/bad-openid-provider.ts';
import { proofOf } from '../../../support/auth/openid-provider.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import {
  type AuthMethod,
  descriptionOf,
  isClientRefused,
  KnownMethods,
  offeredMethods,
  type TokenAnswer,
} from '../../../../lib/auth/oidc/client-authentication.ts';
import { discoveryDocument } from '../../../support/auth/identity-provider.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';

const document = discoveryDocument('http://x.example') as never;
const BOTH = ['client_secret_basic', 'client_secret_post'] as const;
const MINUTE_MS = 60_000;
const beginner = { browserSha256: 'b'.repeat(64), userId: null };
const limits = { timeoutMs: 20_000, bytesMax: 50_000 };

async function open(t: ExecutionContext): Promise<{ idp: BadProvider; context: OidcContext }> {
  const idp = await openBadProvider(t);
  const database = await openDatabase(t, 'sqlite');
  const provider = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  const redirectUri = redirectUriOf(provider, 'http://127.0.0.1:13000/');
  return { idp, context: { database, clients: new OidcClients(limits), provider, redirectUri } };
}

async function signIn(idp: BadProvider, context: OidcContext) {
  const query = idp.authorize(await beginOidc(context, beginner));
  return finishOidc(context, query, beginner.browserSha256);
}

const GOOD: TokenAnswer = { status: 200, json: {} };
const REFUSED: TokenAnswer = { status: 400, json: { error: 'invalid_client' } };

/** Asks, and answers which methods were tried and which answer came. */
function asker(takes: (method: AuthMethod) => TokenAnswer) {
  const methods = new KnownMethods();
  return async (nowMs = 0, entry: object = {}, said: object = {}) => {
    const tried: AuthMethod[] = [];
    const attempt = async (method: AuthMethod) => {
      tried.push(method);
      return takes(method);
    };
    const provider = oidcEntry(entry);
    const given = { ...(document as object), ...said } as never;
    const answered = await methods.ask({ provider, document: given, nowMs, attempt });
    return { tried, ...answered };
  };
}

const listed = (...methods: string[]) => ({ token_endpoint_auth_methods_supported: methods });

test('the likely method comes first: the body where it is offered, else the header', async (t) => {
  const ask = asker(() => GOOD);
  t.deepEqual((await ask()).tried, ['client_secret_basic']);
  t.deepEqual((await asker(() => GOOD)(0, {}, listed(...BOTH))).tried, ['client_secret_post']);
  const basic = await asker(() => GOOD)(0, {}, listed('client_secret_basic'));
  t.deepEqual(basic.tried, ['client_secret_basic']);
});

test('the method that the entry names is the only one', async (t) => {
  for (const token_endpoint_auth_method of BOTH) {
    const ask = asker(() => REFUSED);
    for (const said of [{}, listed(...BOTH), listed()])
      t.deepEqual((await ask(0, { token_endpoint_auth_method }, said)).tried, [
        token_endpoint_auth_method,
      ]);
  }
});

test('where one is refused the other is tried, and what worked is remembered', async (t) => {
  for (const right of BOTH) {
    const ask = asker((method) => (method === right ? GOOD : REFUSED));
    const first = await ask(0, {}, listed(...BOTH));
    t.is(first.tried.at(-1), right);
    t.is(first.method, right);
    t.is(first.answer, GOOD);
    t.is(first.other, null);
    t.deepEqual((await ask(1, {}, listed(...BOTH))).tried, [right]);
    for (const [changes, says] of [
      [{ id: 'other' }, 'another entry'],
      [{ client_secret: 'other' }, 'another secret'],
      [{ client_id: 'other' }, 'another client'],
    ] as const)
      t.deepEqual((await ask(1, changes, listed(...BOTH))).tried, first.tried, says);
    t.deepEqual((await ask(2, { label: 'other' }, listed(...BOTH))).tried, [right]);
  }
});

test('a client that is registered anew is found again', async (t) => {
  let right: AuthMethod = 'client_secret_post';
  const ask = asker((method) => (method === right ? GOOD : REFUSED));
  t.is((await ask()).tried.length, 2);
  t.is((await ask()).tried.length, 1);
  right = 'client_secret_basic';
  t.deepEqual((await ask()).tried, ['client_secret_post', 'client_secret_basic']);
  t.deepEqual((await ask()).tried, ['client_secret_basic']);
});

test('if both are refused only one is tried for ten minutes', async (t) => {
  let answers: Record<AuthMethod, TokenAnswer> = {
    client_secret_basic: { status: 401, json: { error: 'invalid_client', error_description: 'b' } },
    client_secret_post: REFUSED,
  };
  const ask = asker((method) => answers[method]);
  const first = await ask();
  t.deepEqual(first.tried, [...BOTH]);
  t.is(first.answer, answers.client_secret_basic, 'the answer to the likely one');
  t.is(first.other, REFUSED);
  const alone = await ask(10 * MINUTE_MS - 1);
  t.deepEqual(alone.tried, ['client_secret_basic']);
  t.is(alone.other, null);
  t.is((await ask(5, { client_secret: 'corrected' })).tried.length, 2, 'a new secret begins anew');
  t.deepEqual((await ask(10 * MINUTE_MS)).tried, [...BOTH]);
  // It is corrected at the provider within the ten minutes.
  answers = { ...answers, client_secret_basic: GOOD };
  t.deepEqual((await ask(11 * MINUTE_MS)).tried, ['client_secret_basic']);
  answers = { client_secret_basic: REFUSED, client_secret_post: GOOD };
  t.deepEqual((await ask(12 * MINUTE_MS)).tried, [...BOTH]);
});

test('only the client counts: other errors try nothing else and are not remembered', async (t) => {
  for (const [status, json] of [
    [400, { error: 'invalid_grant' }],
    [401, { error: 'invalid_grant' }],
    [400, { error: 'invalid_request' }],
    [400, null],
    [429, null],
    [500, { error: 'invalid_client' }],
    [503, null],
  ] as const) {
    t.false(isClientRefused({ status, json }), `${status}`);
    t.is((await asker(() => ({ status, json }))()).tried.length, 1);
  }
  for (const json of [null, 'text', {}, { error: 7 }, { error: 'unauthorized_client' }])
    t.true(isClientRefused({ status: 401, json }));
  // A provider that fails at the second method has not refused it.
  const ask = asker((method) =>
    method === 'client_secret_basic' ? REFUSED : { status: 503, json: null },
  );
  t.is((await ask()).answer.status, 503);
  t.is((await ask(1)).tried.length, 2);
});

test('a description is one line, without what we sent, and not long', (t) => {
  const said = (error_description: unknown, ...sent: string[]) =>
    descriptionOf({ status: 400, json: { error: 'x', error_description } }, sent);
  t.is(said('Client  authentication\nfailed.'), 'Client authentication failed.');
  t.is(said('secret s3cret and code c0de', 's3cret', '', 'c0de'), 'secret … and code …');
  t.is(said('abcdef', 'abc', 'abcdef'), '…', 'the longer one first');
  t.is(said('a\u0000b\u202Ec\u001B[1m'), 'a b c [1m');
  t.is(Array.from(said('😀'.repeat(1_000)) ?? '').length, 301);
  for (const none of [undefined, null, 7, '', ' \n', ['x']]) t.is(said(none), null);
  t.is(descriptionOf({ status: 400, json: null }, []), null);
});

test('what a provider offers is both where it does not say', (t) => {
  t.deepEqual(offeredMethods({}), [...BOTH]);
  t.deepEqual(offeredMethods(listed('private_key_jwt')), []);
  t.deepEqual(offeredMethods(listed('client_secret_post', 'none')), ['client_secret_post']);
});

for (const takes of BOTH)
  test(`a client that is registered for ${takes} signs in, whatever is offered`, async (t) => {
    const { idp, context } = await open(t);
    for (const offered of [undefined, [...BOTH], [takes], []])
      for (const challenges of [true, false]) {
        const says = `${offered?.join(' ')} ${challenges}`;
        const document = { token_endpoint_auth_methods_supported: offered };
        Object.assign(idp.bent, { takes, challenges, document });
        const fresh = { ...context, clients: new OidcClients(limits) };
        t.is((await proofOf(signIn(idp, fresh))).account.email, 'person@example.com', says);
        const { length } = idp.asked;
        await signIn(idp, fresh);
        t.is(idp.asked.length, length + 1, `${says}: what worked is remembered`);
        const last = idp.asked.at(-1);
        t.is(last?.authorization === undefined, takes === 'client_secret_post', says);
        t.is(last?.['client_secret'] === undefined, takes === 'client_secret_basic', says);
        // The entry names one: nothing is guessed.
        const provider = { ...context.provider, token_endpoint_auth_method: takes };
        await signIn(idp, { ...context, provider, clients: new OidcClients(limits) });
        t.is(idp.asked.length, length + 2, says);
      }
  });

test('of a wrong secret the provider’s words are kept, and one method is tried alone', async (t) => {
  const { idp, context } = await open(t);
  idp.bent.takes = 'client_secret_post';
  let nowMs = 0;
  const clients = new OidcClients(limits, () => nowMs);
  const provider = { ...context.provider, client_secret: 'wrong' };
  const wrong = { ...context, clients, provider };
  const tryIt = async (): Promise<ProviderRefusal> => {
    const query = idp.authorize(await beginOidc(wrong, beginner));
    const error = await t.throwsAsync(finishOidc(wrong, query, beginner.browserSha256), {
      instanceOf: ProviderRefusal,
    });
    return error as ProviderRefusal;
  };
  const first = await tryIt();
  t.is(first.message, 'provider_misconfigured: invalid_client');
  t.is(
    first.said,
    'client_secret_basic: client_secret_basic is not allowed; client_secret_post: secret mismatch',
  );
  t.is(idp.asked.length, 2);
  nowMs = 10 * 60_000 - 1;
  t.is((await tryIt()).said, 'client_secret_basic is not allowed');
  t.is(idp.asked.length, 3, 'one try alone');
  nowMs += 1;
  await tryIt();
  t.is(idp.asked.length, 5);
  const named = {
    ...wrong,
    provider: { ...provider, token_endpoint_auth_method: 'client_secret_post' as const },
  };
  const query = idp.authorize(await beginOidc(named, beginner));
  const { said } = (await t.throwsAsync(
    finishOidc(named, query, beginner.browserSha256),
  )) as ProviderRefusal;
  t.is(said, 'secret mismatch');
});

test('what the token endpoint says of a person is not kept', async (t) => {
  const { idp, context } = await open(t);
  const body = { error: 'invalid_grant', error_description: 'Ann is on leave' };
  idp.bent.answer = (response) => void response.writeHead(400).end(JSON.stringify(body));
  const error = await t.throwsAsync(signIn(idp, context));
  t.is((error as ProviderRefusal).said, null);
});

test('what the token endpoint says of an error holds nothing that we sent', async (t) => {
  const { idp, context } = await open(t);
  idp.bent.answer = (response, request) => {
    const { code_verifier: verifier, authorization } = idp.asked.at(-1) ?? {};
    const error_description = `the-code ${verifier} ${authorization} ${CLIENT.secret} ${request.method}`;
    response.writeHead(400, { 'content-type': 'text/plain' });
    response.end(JSON.stringify({ error: 'invalid_scope', error_description }));
  };
  const error = await t.throwsAsync(signIn(idp, context));
  t.is((error as ProviderRefusal).said, '… … Basic … … POST');
});

test('a 401 without a body is a client that is not taken', async (t) => {
  const { idp, context } = await open(t);
  idp.bent.answer = (response) =>
    void response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
  await t.throwsAsync(signIn(idp, context), { message: 'provider_misconfigured: invalid_client' });
  t.is(idp.asked.length, 2);
});

test('a token endpoint that is written in another form is the same', async (t) => {
  const { idp, context } = await open(t);
  idp.bent.document = { token_endpoint: `${idp.origin.replace('http:', 'HTTP:')}/./token` };
  await signIn(idp, context);
  t.truthy(idp.asked[0]?.authorization);
});
