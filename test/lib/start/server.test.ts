// The conventions of docs/api.md#conventions: in which order a request is checked, which bodies are
// read, what every answer has.

import { gzipSync } from 'node:zlib';
import test from 'ava';
import {
  type Answer,
  answers,
  newKey,
  openServer,
  refused,
  type Row,
  surfaces,
} from '../../support/api/server.ts';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const notFound = { error: 'not_found' };
const unauthenticated = refused({ auth: 'unauthenticated' });
const invalidToken = refused({ auth: 'invalid_token' });
const noUser = refused({ user: ["can't be blank"] });
const badJson = refused({ body: ['is not valid JSON'] });
const big = 'x'.repeat(1_048_577);

for (const kind of surfaces()) {
  test(`${kind}: a request is checked in one order, and the first failure answers`, async (t) => {
    const server = await openServer(t, kind);
    const { token: weak } = await unprivileged(server);
    const type = { 'content-type': 'text/plain' };
    const rows: Row[] = [
      // Each row has every error that is checked later, too.
      row('unknown path first', ['POST', '/v0/x', { token: null, body: big }], 404, notFound),
      row('unknown method likewise', ['PATCH', '/v0/users', { token: null }], 404, notFound),
      row(
        'no token',
        ['PATCH', `/v0/users/${UNKNOWN}`, { token: null, body: big, headers: type }],
        401,
        unauthenticated,
      ),
      row(
        'bad token',
        ['PATCH', `/v0/users/${UNKNOWN}`, { token: 'x', body: big, headers: type }],
        401,
        invalidToken,
      ),
      row(
        'no administrator',
        ['PATCH', `/v0/users/${UNKNOWN}`, { token: weak, body: big, headers: type }],
        403,
        { error: 'forbidden' },
      ),
      row('too large', ['PATCH', `/v0/users/${UNKNOWN}`, { body: big, headers: type }], 413),
      row('wrong type', ['PATCH', `/v0/users/${UNKNOWN}`, { body: '{', headers: type }], 415),
      row('malformed', ['PATCH', `/v0/users/${UNKNOWN}`, { body: '{' }], 400, badJson),
      row('no wrapper', ['PATCH', `/v0/users/${UNKNOWN}`, { body: {} }], 400, noUser),
      row(
        'unknown id',
        ['PATCH', `/v0/users/${UNKNOWN}`, { body: { user: { role: 'x' } } }],
        404,
        notFound,
      ),
      row(
        'errors last',
        ['PATCH', `/v0/users/${server.adminId}`, { body: { user: { role: 'x' } } }],
        422,
        refused({ role: ['is invalid'] }),
      ),
    ];
    await answers(t, server, rows);
  });

  test(`${kind}: JSON is read when it is declared as such, or when nothing is`, async (t) => {
    const server = await openServer(t, kind);
    const body = JSON.stringify({ user: {} });
    const good = [
      undefined,
      'application/json',
      'APPLICATION/JSON; charset=utf-8',
      'application/vnd.api+json',
      'application/merge-patch+json;x=y',
    ];
    for (const type of good) {
      const headers = type === undefined ? {} : { 'content-type': type };
      const answer = await server.send('PATCH', `/v0/users/${server.adminId}`, { body, headers });
      t.is(answer.status, 200, type);
    }
    const bad = [
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'text/json',
      'text/plain',
      'application/jsonx',
      'application/octet-stream',
      'nonsense',
    ];
    for (const type of bad) {
      const headers = { 'content-type': type };
      const answer = await server.send('PATCH', `/v0/users/${server.adminId}`, { body, headers });
      t.is(answer.status, 415, type);
      t.deepEqual(answer.body, { error: 'unsupported_media_type' });
    }
  });

  test(`${kind}: a body is JSON with an object in its wrapper`, async (t) => {
    const server = await openServer(t, kind);
    const path = `/v0/users/${server.adminId}`;
    const deep = '['.repeat(500_000);
    const rows: Row[] = [
      ...['{', '{"user":}', "{'user':{}}", '\uFEFF{"user":{}}', 'user', ' ', deep].map((body) =>
        row(`malformed ${body.slice(0, 20)}`, ['PATCH', path, { body }], 400, badJson),
      ),
      ...[
        '',
        '{}',
        '[]',
        '5',
        'null',
        '"user"',
        '{"users":{}}',
        '{"user":[]}',
        '{"user":null}',
        '{"user":"x"}',
        '{"user":5}',
        '{"__proto__":{"user":{}}}',
      ].map((body) => row(`no wrapper in ${body}`, ['PATCH', path, { body }], 400, noUser)),
      row('it may be empty', ['PATCH', path, { body: { user: {} } }], 200),
      row('unknown fields are ignored', ['PATCH', path, { body: { user: { x: 1 }, y: 2 } }], 200),
      row(
        'deep nesting is refused like any other value',
        ['PATCH', path, { body: `{"user":{"email":${deep}${']'.repeat(500_000)}}}` }],
        422,
        refused({ email: ['is invalid'] }),
      ),
      row(
        'other wrappers say their name',
        ['POST', '/v0/devices', { body: {} }],
        400,
        refused({ device: ["can't be blank"] }),
      ),
      row(
        'other wrappers say their name',
        ['POST', '/v0/rules', { body: { rule: 1 } }],
        400,
        refused({ rule: ["can't be blank"] }),
      ),
      row(
        'other wrappers say their name',
        ['PUT', '/v0/configuration', { body: {} }],
        400,
        refused({ configuration: ["can't be blank"] }),
      ),
    ];
    await answers(t, server, rows);
  });

  test(`${kind}: bodies have a greatest size, also when they come compressed`, async (t) => {
    const server = await openServer(t, kind);
    const pad = (bytes: number): string => `{"configuration":{}${' '.repeat(bytes - 20)}}`;
    const zipped = { 'content-encoding': 'gzip' };
    const users = '/v0/users';
    t.is(pad(100).length, 100);
    const rows: Row[] = [
      row('1 MiB', ['POST', users, { body: ' '.repeat(1_048_574) + '{}' }], 400, noUser),
      row('more', ['POST', users, { body: ' '.repeat(1_048_575) + '{}' }], 413, {
        error: 'payload_too_large',
      }),
      row(
        'unzipped',
        ['POST', users, { body: gzipSync(' '.repeat(1_048_575) + '{}'), headers: zipped }],
        413,
      ),
      row(
        'zipped JSON',
        ['POST', users, { body: gzipSync('{"user":{}}'), headers: zipped }],
        422,
        refused({ email: ["can't be blank"] }),
      ),
      row('no gzip at all', ['POST', users, { body: 'x', headers: zipped }], 400, badJson),
      row('8,000,000', ['PUT', '/v0/configuration', { body: pad(8_000_000) }], 200),
      row('more', ['PUT', '/v0/configuration', { body: pad(8_000_001) }], 413),
      row(
        'a body that means nothing is not looked at',
        [
          'DELETE',
          `/v0/rules/${UNKNOWN}`,
          { body: '{', headers: { 'content-type': 'text/plain' } },
        ],
        404,
        notFound,
      ),
    ];
    await answers(t, server, rows);
  });

  test(`${kind}: every answer is JSON, named, and kept by nobody`, async (t) => {
    const server = await openServer(t, kind);
    const ids = new Set<unknown>();
    const check = (answer: Answer, underV0 = true): void => {
      if (answer.text !== '')
        t.is(answer.headers['content-type'], 'application/json; charset=utf-8', answer.text);
      if (underV0) t.is(answer.headers['cache-control'], 'no-store');
      const id = answer.headers['x-request-id'];
      t.regex(String(id), /^[0-9a-f-]{36}$/);
      ids.add(id);
      t.is(answer.headers['access-control-allow-origin'], undefined);
    };
    check(await server.send('GET', '/v0/users'));
    check(await server.send('GET', '/v0/configuration'));
    check(await server.send('GET', '/v0/configuration', { token: null }));
    check(await server.send('GET', `/v0/users/${UNKNOWN}`));
    check(await server.send('GET', '/v0'));
    check(await server.send('GET', '/v0/nothing'));
    check(await server.send('GET', '/nothing'), false);
    check(await server.send('GET', '/healthz'), false);
    check(await server.send('POST', '/v0/users', { body: '{' }));
    check(await server.send('POST', '/v0/users', { body: { user: {} } }));
    const created = await server.send('POST', '/v0/users', { body: { user: { email: 'a@b.c' } } });
    check(created);
    check(await server.send('DELETE', '/v0/users/a@b.c'));
    t.is(ids.size, 12);
  });

  test(`${kind}: HEAD, trailing slashes and odd paths`, async (t) => {
    const server = await openServer(t, kind);
    const whole = await server.send('GET', '/v0/configuration');
    const head = await server.send('HEAD', '/v0/configuration');
    t.is(head.status, 200);
    t.is(head.text, '');
    t.is(Number(head.headers['content-length']), whole.text.length);
    t.is((await server.send('HEAD', `/v0/users/${UNKNOWN}`)).status, 404);
    const rows: Row[] = [
      row('a trailing slash', ['GET', '/v0/configuration/'], 200),
      row('a trailing slash', ['GET', '/v0/users/'], 200),
      row('a trailing slash', ['GET', `/v0/users/${server.adminId}/`], 200),
      row('a query is ignored', ['GET', '/v0/users?x=1&x=2&__proto__=3'], 200),
      row('Accept is ignored', ['GET', '/v0/users', { headers: { accept: 'text/html' } }], 200),
      row(
        '_method is ignored',
        ['POST', '/v0/users?_method=GET', { body: { user: {}, _method: 'GET' } }],
        422,
      ),
      row('cookies are ignored', ['GET', '/v0/users', { headers: { cookie: 'a="b;;; =' } }], 200),
      ...[
        '/v0',
        '/v1/users',
        '/v0/devices/x/y',
        '/v0/configuration/x',
        '/v0/users/%',
        '/v0/users/%ff',
        '/v0/users/%00',
        '/v0/users/a%00@b',
        '/v0/devices/%ff',
        '/v0/devices/x',
        '/v0/rules/1',
        '/V0/USERS',
      ].map((path) => row(path, ['GET', path], 404, notFound)),
      ...['OPTIONS', 'TRACE', 'POST', 'DELETE'].map((method) =>
        row(method, [method, '/v0/configuration', { token: null }], 404, notFound),
      ),
      ...['PUT', 'PATCH', 'DELETE'].map((method) =>
        row(method, [method, '/v0/users', { token: null }], 404, notFound),
      ),
    ];
    await answers(t, server, rows);
  });

  test(`${kind}: where EXTERNAL_URL has a path, Location begins with it`, async (t) => {
    const settings = { EXTERNAL_URL: 'https://vpn.example.com/gate/' };
    const server = await openServer(t, kind, settings);
    const device = { user_id: server.adminId, public_key: newKey() };
    const made = await server.send('POST', '/v0/devices', { body: { device } });
    t.is(made.headers['location'], `/gate/v0/devices/${made.body.data.id}`);
    t.is(made.body.data.endpoint, 'vpn.example.com:51820');
  });

  test(`${kind}: PUT and PATCH are one operation`, async (t) => {
    const server = await openServer(t, kind);
    for (const method of ['PUT', 'PATCH']) {
      const body = { user: { email: `${method}@example.com` } };
      const answer = await server.send(method, `/v0/users/${server.adminId}`, { body });
      t.is(answer.body.data.email, `${method}@example.com`);
      t.is(answer.body.data.role, 'admin');
    }
  });
}

function row(says: string, send: Row['send'], status: number, body?: unknown): Row {
  return { says, send, status, body };
}

async function unprivileged(
  server: Awaited<ReturnType<typeof openServer>>,
): Promise<{ token: string }> {
  const { createToken } = await import('../../../lib/auth/tokens.ts');
  await server.send('POST', '/v0/users', { body: { user: { email: 'weak@example.com' } } });
  return createToken(server.database, { email: 'weak@example.com', name: 'weak' });
}
