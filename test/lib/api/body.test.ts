// Route options of bodies. What is read and refused, the server's test shows from outside.

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Request } from '@hapi/hapi';
import test from 'ava';
import { BODY_BYTES_MAX, ignoresBody, readJson, takesJson } from '../../../lib/api/body.ts';
import { CONFIGURATION_BYTES_MAX } from '../../../lib/domain/configuration/configuration.ts';
import { openServer } from '../../support/api/server.ts';

test('limits are those of docs/api.md#requests', (t) => {
  t.is(BODY_BYTES_MAX, 1024 * 1024);
  t.is(CONFIGURATION_BYTES_MAX, 8_000_000);
  t.like(ignoresBody.payload, { maxBytes: BODY_BYTES_MAX });
});

test('a mistake in an operation is a 500, not an error of the client', async (t) => {
  const { server, send } = await openServer(t, 'sqlite');
  const handler = (request: Request) => {
    readJson(request);
    throw new TypeError('a mistake');
  };
  server.route({ method: 'POST', path: '/v0/mistaken', options: takesJson(), handler });
  t.is((await send('POST', '/v0/mistaken', { body: { x: {} } })).status, 500);
  t.is((await send('POST', '/v0/mistaken', { body: '{' })).status, 400);
});

test('a body that is no UTF-8 is refused, whatever its charset says', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const body = Buffer.from('{"user":{"email":"m\u00FCller@b.example"}}', 'latin1');
  for (const type of ['application/json', 'application/json; charset=iso-8859-1']) {
    const answer = await send('POST', '/v0/users', { body, headers: { 'content-type': type } });
    t.is(answer.status, 400);
    t.deepEqual(answer.body, { errors: { body: ['is not valid UTF-8'] } });
  }
});

test('a body of unknown length is read, and answered where it is too large', async (t) => {
  const { server, token } = await openServer(t, 'sqlite', { HTTP_PORT: '0' });
  await server.start();
  t.teardown(() => server.stop({ timeout: 100 }));
  const { host, port } = server.info;
  const statusOf = async (body: string | Buffer, headers = {}): Promise<number | undefined> => {
    const outgoing = request({
      host,
      port: Number(port),
      method: 'POST',
      path: '/v0/rules',
      headers: { authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked', ...headers },
      agent: false,
    });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.end(body);
    const [response] = await answered;
    response.resume();
    return response.statusCode;
  };
  const zipped = { 'content-encoding': 'gzip' };
  const small = '{"rule":{"destination":"9.9.9.9"}}';
  t.is(await statusOf(small), 201);
  t.is(await statusOf(gzipSync(small), zipped), 422, 'it overlaps itself');
  t.is(await statusOf('{"rule":'), 400);
  t.is(await statusOf(' '.repeat(BODY_BYTES_MAX - 2) + '{}'), 400, 'no wrapper');
  t.is(await statusOf(' '.repeat(BODY_BYTES_MAX - 1) + '{}'), 413);
  t.is(await statusOf(' '.repeat(10 * BODY_BYTES_MAX)), 413);
  t.is(await statusOf(gzipSync(' '.repeat(10 * BODY_BYTES_MAX)), zipped), 413);
});
