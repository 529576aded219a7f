// How errors are answered, and what the log holds of them: docs/api.md#errors.

import Boom from '@hapi/boom';
import test from 'ava';
import { ConnectionRefusedError, DatabaseError } from 'sequelize';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { connectDatabase, migrate } from '../../../../models/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { runOnServer, startMariadb, stopMariadb } from '../../../support/database/mariadb.ts';
import { openServer, serverOn } from '../../../support/api/server.ts';

const SECRET = 'pst_this-must-not-be-seen';

function databaseError(): DatabaseError {
  const parent = Object.assign(new Error(`SQLITE_ERROR: near "${SECRET}": syntax error`), {
    code: 'SQLITE_ERROR',
    sql: `UPDATE \`users\` SET \`email\`='${SECRET}'`,
  });
  return new DatabaseError(Object.assign(parent, { parameters: {} }));
}

test('an unexpected error is a 500 with the id of the request, and nothing else', async (t) => {
  const { server, send, log } = await openServer(t, 'sqlite');
  const errors = [
    () => new TypeError(SECRET),
    () => new Error(SECRET),
    () => Boom.badImplementation(SECRET),
    () => Boom.teapot(SECRET),
    databaseError,
    () => new ApiError('internal_server_error', { detail: SECRET }),
  ];
  for (const [i, error] of errors.entries())
    server.route({
      method: 'GET',
      path: `/v0/broken/${i}`,
      handler: () => {
        throw error();
      },
    });
  for (const [i] of errors.entries()) {
    const { status, body, headers, text } = await send('GET', `/v0/broken/${i}`);
    t.is(status, 500);
    t.deepEqual(body, {
      error: 'internal_server_error',
      request_id: headers['x-request-id'],
    });
    t.false(text.includes(SECRET));
    t.is(headers['cache-control'], 'no-store');
  }
  const written = log.filter(({ level }) => level !== 'debug');
  t.is(written.length, errors.length);
  for (const { level, fields } of written) {
    t.is(level, 'error');
    t.like(fields, { method: 'get' });
    t.true('request_id' in fields && 'err' in fields);
  }
  t.false(JSON.stringify(written[4]).includes(SECRET), 'statements and values of the database');
  t.like(written[4]?.fields, {
    err: { code: 'SQLITE_ERROR', message: 'SQLITE_ERROR: near …', statement: 'UPDATE users' },
  });
});

test('a database that cannot be reached is a 503 that says when to try again', async (t) => {
  const { server, send, log } = await openServer(t, 'sqlite');
  server.route({
    method: 'GET',
    path: '/v0/away',
    handler: () => {
      throw new ConnectionRefusedError(new Error('connect ECONNREFUSED 127.0.0.1:3306'));
    },
  });
  const { status, body, headers } = await send('GET', '/v0/away');
  t.is(status, 503);
  t.deepEqual(body, { error: 'service_unavailable' });
  t.regex(String(headers['retry-after']), /^\d+$/);
  t.is(log[0]?.level, 'warn');
});

for (const code of ['SQLITE_CORRUPT', 'SQLITE_NOTADB'])
  test(`a damaged file (${code}) is a 503, and the log names the file and the fix`, async (t) => {
    const { server, send, log } = await openServer(t, 'sqlite', { DATA_DIR: '/d' });
    server.route({
      method: 'GET',
      path: '/v0/damaged',
      handler: () => {
        const sql = "SELECT `id` FROM `users` WHERE `email_key` = 'ann@b.example'";
        const parent = Object.assign(new Error(`${code}: malformed`), { code, sql });
        throw new DatabaseError(Object.assign(parent, { parameters: {} }));
      },
    });
    const { status, body } = await send('GET', '/v0/damaged');
    t.is(status, 503);
    t.deepEqual(body, { error: 'service_unavailable' });
    t.is(log[0]?.level, 'error');
    t.is(log[0]?.message, 'the database is damaged');
    t.like(log[0]?.fields, {
      err: { code, message: `${code}: malformed`, statement: 'SELECT FROM users' },
    });
    t.regex(
      JSON.stringify(log[0]?.fields),
      /"fix":"stop the gateway, move \/d\/postern\.sqlite away .* postern -- restore FILE/,
    );
    t.false(JSON.stringify(log).includes('ann@b.example'));
  });

test('with a full disk writes are 503s that change nothing, and reads still work', async (t) => {
  const { send, log, database } = await openServer(t, 'sqlite');
  await database.sequelize.query('PRAGMA max_page_count = 1');
  let [made, refused] = [0, 0];
  for (let i = 0; refused < 3 && i < 1_000; i += 1) {
    const user = { email: `user-${i}-${'x'.repeat(200)}@example.com` };
    const answer = await send('POST', '/v0/users', { body: { user } });
    if (answer.status === 201) made += 1;
    else {
      refused += 1;
      t.is(answer.status, 503, answer.text);
      t.deepEqual(answer.body, { error: 'service_unavailable' });
      t.truthy(answer.headers['retry-after']);
    }
  }
  t.is(refused, 3);
  t.true(database.isFull);
  t.is((await send('GET', '/v0/users')).status, 200);
  t.is(await database.models.User.count(), made + 1);
  const written = log.filter(({ level }) => level !== 'debug');
  t.is(written.length, 1, 'a log on the same disk does not grow with each of them');
  for (const { level, fields } of written) {
    t.is(level, 'warn');
    t.like(fields, {
      fix: 'free space on the disk of DATA_DIR (./data)',
      err: { message: 'SQLITE_FULL: database or disk is full', code: 'SQLITE_FULL' },
    });
  }
  await database.sequelize.query('PRAGMA max_page_count = 1000000');
  t.is((await send('POST', '/v0/users', { body: { user: { email: 'a@b.c' } } })).status, 201);
});

if (databaseKinds().includes('mariadb'))
  test('mariadb: a server that is gone makes 503s, for reads and for writes', async (t) => {
    const mariadb = await startMariadb();
    t.teardown(() => stopMariadb(mariadb));
    await runOnServer(mariadb.url, 'CREATE DATABASE away');
    const database = await connectDatabase({
      url: `${mariadb.url}away`,
      encryptionKey: Buffer.alloc(32, 1),
    });
    t.teardown(() => database.close());
    await migrate(database);
    const { send } = await serverOn(database);
    t.is((await send('GET', '/v0/users')).status, 200);
    await stopMariadb(mariadb);
    for (let i = 0; i < 3; i += 1) {
      const answer = await send('GET', '/v0/users');
      t.is(answer.status, 503, answer.text);
      t.deepEqual(answer.body, { error: 'service_unavailable' });
    }
    const written = await send('POST', '/v0/users', { body: { user: { email: 'a@b.c' } } });
    t.is(written.status, 503);
    t.truthy(written.headers['retry-after']);
  });
