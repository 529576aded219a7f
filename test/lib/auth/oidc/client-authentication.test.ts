// By which method the token endpoint is shown the secret: the one that the entry names, else the one
// that works, and after two failures only one for a while. What the provider says is cut.

import test from 'ava';
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
