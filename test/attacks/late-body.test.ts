// Somebody begins a request, loses their rights while its body is on the way, and then sends the
// rest: a revoked token, a disabled administrator, one who is an administrator no more.

import test, { type ExecutionContext } from 'ava';
import { createToken } from '../../lib/auth/tokens.ts';
import { FIRST_ADMIN, type WholeGateway } from '../support/gateway/gateway-process.ts';
import { serveHere } from '../support/gateway/served-gateway.ts';
import { beginLate, type LateRequest } from '../support/api/late-request.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';

const INTRUDER = { email: 'intruder@example.com', password: 'correct horse battery' };

/** A gateway with two administrators, a token of the second, and a browser of the first. */
async function open(t: ExecutionContext) {
  const gateway = await serveHere(t);
  const user = { ...INTRUDER, password_confirmation: INTRUDER.password, role: 'admin' };
  const { status, body } = await gateway.call('POST', '/v0/users', { user });
  t.is(status, 201);
  const { id } = (body as { data: { id: string } }).data;
  const token = await createToken(gateway.database, { email: INTRUDER.email, name: 'a' });
  const admin = new Visitor(atGateway(gateway.url));
  t.is((await admin.signIn(FIRST_ADMIN.email, FIRST_ADMIN.password)).status, 303);
  await admin.get('/users');
  const act = async (path: string, fields: Record<string, string> = {}): Promise<void> => {
    t.is((await admin.post(path, fields)).status, 303);
  };
  return { gateway, id, token, act };
}

const postUser = ({ url }: WholeGateway, token: string): Promise<LateRequest> =>
  beginLate(
    `${url}/v0/users`,
    { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    JSON.stringify({ user: { email: 'late@example.com', role: 'admin' } }),
  );

async function isThere({ call }: WholeGateway, email: string): Promise<boolean> {
  const { body } = await call('GET', '/v0/users');
  return (body as { data: { email: string }[] }).data.some((user) => user.email === email);
}

test('a token that is revoked while a body is on the way writes nothing', async (t) => {
  const { gateway, token, act } = await open(t);
  const late = await postUser(gateway, token.token);
  await act('/api_tokens/many', { do: 'revoke', sure: 'true', id: token.id });
  const { status, text } = await late.finish();
  t.is(status, 401, text);
  t.false(await isThere(gateway, 'late@example.com'));
});

test('an administrator who is disabled while a body is on the way writes nothing', async (t) => {
  const { gateway, id, token, act } = await open(t);
  const late = await postUser(gateway, token.token);
  await act(`/users/${id}/disable`);
  const { status, text } = await late.finish();
  t.is(status, 401, text);
  t.false(await isThere(gateway, 'late@example.com'));
});

test('a former administrator writes nothing with a body that was on the way', async (t) => {
  const { gateway, id, token } = await open(t);
  const late = await postUser(gateway, token.token);
  await gateway.call('PATCH', `/v0/users/${id}`, { user: { role: 'unprivileged' } });
  const { status, text } = await late.finish();
  t.is(status, 403, text);
  t.false(await isThere(gateway, 'late@example.com'));
});

test('a form of an administrator who is disabled meanwhile writes nothing', async (t) => {
  const { gateway, id, act } = await open(t);
  const visitor = new Visitor(atGateway(gateway.url));
  t.is((await visitor.signIn(INTRUDER.email, INTRUDER.password)).status, 303);
  await visitor.get('/users/new');
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const fields = { csrf_token: visitor.token, email: 'late@example.com', role: 'admin' };
  const late = await beginLate(
    `${gateway.url}/users/new`,
    { cookie, accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    new URLSearchParams(fields).toString(),
  );
  await act(`/users/${id}/disable`);
  const { status, text } = await late.finish();
  t.is(status, 403);
  t.regex(text, /You are signed out/);
  t.false(await isThere(gateway, 'late@example.com'));
});

test('a body that drips holds its connection for seconds, not for a minute', async (t) => {
  const gateway = await serveHere(t);
  const begun = performance.now();
  const late = beginLate(
    `${gateway.url}/v0/users`,
    { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    JSON.stringify({ user: { email: 'late@example.com' }, filler: 'x'.repeat(10_000) }),
  );
  // What `finish` would send never comes.
  const answer = await (await late).answer;
  t.is(answer.status, 408);
  t.true(performance.now() - begun < 20_000, 'the limit is 5 s');
});
