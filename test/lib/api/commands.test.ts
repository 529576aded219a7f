// The addresses for commands of this host: who reaches them, and which requests change nothing.

import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { HTTP_LIMITS } from '../../../lib/kit/http/listener.ts';
import { ownBuild } from '../../../lib/kit/operations/build.ts';
import type { AboutGateway, CommandAnswer } from '../../../lib/kit/operations/for-commands.ts';
import { places } from '../../../lib/kit/operations/places.ts';
import { allOperations } from '../../../lib/rooms.ts';
import { databaseIdentity, readAuditEntries } from '../../../models/index.ts';
import { openLocally } from '../../support/api/local-socket.ts';

/** What an address answers when all is well. */
type Data = Partial<AboutGateway & CommandAnswer>;

async function ask(
  socketPath: string,
  method: string,
  path: string,
  body?: string,
  host = 'localhost',
): Promise<{ status: number | undefined; data: Data }> {
  const headers = { 'content-type': 'application/json', host };
  const asked = request({ socketPath, method, path, headers });
  // A gateway that refuses a long body ends the connection while it is sent.
  asked.on('error', () => undefined);
  asked.end(body);
  const [response] = await once(asked, 'response');
  const { data = {} } = (await json(response)) as { data?: Data };
  return { status: response.statusCode, data };
}

const rule = { rule: { destination: '10.0.0.0/8' } };
const good = {
  operation: 'createRule',
  params: {},
  validatesFirst: false,
  force: false,
  body: rule,
};

test('an operation is performed in the name of the command line, for the gateway that was asked', async (t) => {
  const { path, database } = await openLocally(t);
  const about = await ask(path, 'GET', '/local/gateway');
  const { instance, program = '', database: identity, ...build } = about.data;
  t.deepEqual(build, ownBuild());
  t.true(program.endsWith('/lib/postern'));
  t.is(identity, await databaseIdentity(database));
  const gateway = { instance, ...build };
  const sent = JSON.stringify({ gateway, ...good });
  const made = await ask(path, 'POST', '/local/operations', sent);
  t.is(made.status, 200);
  t.like(made.data, { failing: 0, answer: { destination: '10.0.0.0/8' } });
  const [entry] = await readAuditEntries(database, { limit: 1 });
  t.like(entry, { actor: 'command line', kind: 'rule', action: 'create', user_id: null });
  t.is(await database.models.Rule.count(), 1);
});

test('whoever comes by the network finds nothing there, with a token neither', async (t) => {
  const { send, database } = await openLocally(t);
  const gateway = { instance: 'x', ...ownBuild() };
  for (const token of [null, undefined]) {
    const of = token === null ? { token } : {};
    const said = await send('GET', '/local/gateway', of);
    t.deepEqual([said.status, said.body], [404, { error: 'not_found' }]);
    const asked = await send('POST', '/local/operations', { ...of, body: { gateway, ...good } });
    t.is(asked.status, 404);
  }
  t.is(await database.models.Rule.count(), 0);
});

test('a name other than localhost leads to nothing at the socket', async (t) => {
  const { path } = await openLocally(t);
  for (const host of ['postern.example', 'localhost.example', 'localhost:8080']) {
    t.is((await ask(path, 'GET', '/local/gateway', undefined, host)).status, 404, host);
    t.is((await ask(path, 'POST', '/local/operations', '{}', host)).status, 404, host);
  }
});

test('what no command of this very gateway sends changes nothing', async (t) => {
  const { path, database, services } = await openLocally(t);
  const { instance } = (await ask(path, 'GET', '/local/gateway')).data;
  const gateway = { instance, ...ownBuild() };
  const sent = { gateway, ...good };
  const table: [says: string, body: unknown, status: number][] = [
    ['another start', { ...sent, gateway: { ...gateway, instance: 'x' } }, 403],
    ['another version', { ...sent, gateway: { ...gateway, version: '0.9.0' } }, 403],
    ['another schema', { ...sent, gateway: { ...gateway, schema: '0001' } }, 403],
    ['other operations', { ...sent, gateway: { ...gateway, commands: 'x' } }, 403],
    ['no gateway', good, 422],
    ['an operation that no command performs', { ...sent, operation: 'dryRun' }, 422],
    ['no operation', { ...sent, operation: 'toString' }, 422],
    ['a part of the path that is no text', { ...sent, params: { id: 7 } }, 422],
    ['a body that is no object', { ...sent, body: [rule] }, 422],
    ['a member that nobody knows', { ...sent, caller: { userId: null } }, 422],
    ['a body without its wrapper', { ...sent, body: {} }, 400],
    ['null', null, 422],
  ];
  for (const [says, body, status] of table)
    t.is((await ask(path, 'POST', '/local/operations', JSON.stringify(body))).status, status, says);
  const post = async (text: string) => (await ask(path, 'POST', '/local/operations', text)).status;
  t.is(await post('{'), 400);
  t.is(await post(JSON.stringify({ ...sent, body: { x: 'x'.repeat(5_000_000) } })), 413);
  t.is(await database.models.Rule.count(), 0);
  t.is(services.counters.of('requests_refused', 'local_write'), 4);
});

test('a connection that sends nothing, or a body too slowly, ends', async (t) => {
  const httpLimits = {
    ...HTTP_LIMITS,
    headersMs: 200,
    requestMs: 400,
    checkEveryMs: 50,
    bodyPace: { graceMs: 100, bytesPerSecondMin: 1_000 },
  };
  const { path } = await openLocally(t, { httpLimits });
  const silent = connect(path);
  const slow = connect(path);
  slow.write(
    'POST /local/operations HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n{',
  );
  const ended = Promise.all(
    [silent, slow].map((socket) => once(socket.on('error', () => undefined).resume(), 'close')),
  );
  t.not(await Promise.race([ended, sleep(30_000, null, { ref: false })]), null);
  t.is((await ask(path, 'GET', '/local/gateway')).status, 200, 'others are answered');
});

test('every operation that commands perform writes, and is where its place says', (t) => {
  for (const [name, place] of Object.entries(places))
    t.like(
      allOperations.find(({ id }) => id === name),
      { kind: 'write', ...place },
      name,
    );
});
