// The socket for commands of the same host: who can open it, what it answers, and that it can only
// read.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import test from 'ava';
import { localSocketPath } from '../../../../lib/kit/process/local-socket-path.ts';
import { newDataDir, openLocally } from '../../../support/api/local-socket.ts';

const MODE_BITS = 0o777;

async function ask(
  socketPath: string,
  method: string,
  path: string,
  body?: object,
  more: Readonly<Record<string, string>> = {},
): Promise<[status: number | undefined, body: unknown]> {
  const headers = { 'content-type': 'application/json', ...more };
  const asked = request({ socketPath, method, path, headers });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(asked, 'response');
  return [response.statusCode, await json(response)];
}

test('only the account of the gateway can open it, and it reads without a token', async (t) => {
  const { path, send } = await openLocally(t);
  t.is(statSync(path).mode & MODE_BITS, 0o600);
  const [status, body] = await ask(path, 'GET', '/v0/users');
  t.is(status, 200);
  t.is((body as { data: unknown[] }).data.length, 1);
  t.is((await send('GET', '/v0/users', { token: null })).status, 401, 'others need a token');
});

test('it writes nothing, and the refusal is counted; a question with a body is answered', async (t) => {
  const { path, send, services, database } = await openLocally(t);
  const user = { email: 'ann@example.com' };
  const refusal = { error: 'forbidden', code: 'forbidden' };
  t.deepEqual(await ask(path, 'POST', '/v0/users', { user }), [403, refusal]);
  t.is(services.counters.of('requests_refused', 'local_write'), 1);
  t.is(await database.models.User.count(), 1);
  const explain = { protocol: 'x' };
  const [status, refused] = await ask(path, 'POST', '/v0/explain', { explain });
  t.is(status, 422);
  const { errors, error_codes: codes } = refused as Record<string, Record<string, unknown[]>>;
  t.deepEqual(errors?.['destination'], ["can't be blank"]);
  t.deepEqual(codes?.['destination'], [{ code: 'blank' }], 'a command makes its own sentences');
  t.deepEqual(Object.keys(codes ?? {}), Object.keys(errors ?? {}));
  const others = await send('POST', '/v0/explain', { body: { explain } });
  t.deepEqual(others.body, { errors }, 'others get the sentences alone');
});

test('what a proxy passes on needs a token, as by the network', async (t) => {
  const { path, token } = await openLocally(t);
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
    const passed = { [name]: '192.0.2.1' };
    t.is((await ask(path, 'GET', '/v0/users', undefined, passed))[0], 401, name);
    t.is((await ask(path, 'GET', '/local/gateway', undefined, passed))[0], 404, name);
    t.is((await ask(path, 'POST', '/local/operations', {}, passed))[0], 404, name);
    const shown = { ...passed, authorization: `Bearer ${token}` };
    t.is((await ask(path, 'GET', '/v0/users', undefined, shown))[0], 200, name);
  }
});

test('the file of a killed gateway is replaced, and a gateway that listens keeps its own', async (t) => {
  const dataDir = newDataDir(t);
  writeFileSync(localSocketPath({ dataDir }), '');
  const first = await openLocally(t, { dataDir });
  t.is((await ask(first.path, 'GET', '/v0/users'))[0], 200);
  const second = await openLocally(t, { dataDir });
  t.regex(JSON.stringify(second.log), /another gateway listens at/);
  await second.close();
  t.is((await ask(first.path, 'GET', '/v0/users'))[0], 200);
  await first.close();
  t.is(statSync(first.path, { throwIfNoEntry: false }), undefined, 'a stop removes the file');
});

test('a path that is too long for a socket is said in the log', async (t) => {
  const dataDir = join(newDataDir(t), 'x'.repeat(100));
  mkdirSync(dataDir);
  const { log } = await openLocally(t, { dataDir });
  t.regex(JSON.stringify(log), /bytes; a socket may have 107/);
});
