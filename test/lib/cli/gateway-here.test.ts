// The gateway that a command asks to write: when it is asked, when the command works on the database,
// and what is said where neither may be.

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createPlainServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type Asking, gatewayHere, PATIENCE } from '../../../lib/cli/gateway-here.ts';
import { commandLineCaller, performOperation } from '../../../lib/cli/perform.ts';
import { UsageError } from '../../../lib/kit/process/usage-error.ts';
import { type Build, ownBuild } from '../../../lib/kit/operations/build.ts';
import type { AboutGateway } from '../../../lib/kit/operations/for-commands.ts';
import { localSocketPath } from '../../../lib/kit/process/local-socket-path.ts';
import { type Database, databaseIdentity, readAuditEntries } from '../../../models/index.ts';
import { newDataDir, openLocally } from '../../support/api/local-socket.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';

const RULE = { body: { rule: { destination: '10.0.0.0/8' } } };
const NO_ROOMS = async (): Promise<never> => {
  throw new Error('the command performs it itself');
};
const PATIENT = { aboutMs: 60_000, performMs: 60_000, urgentMs: 60_000 };

/** Something at the socket of a gateway; its folder is the DATA_DIR. */
async function listenLocally(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const dataDir = newDataDir(t);
  const server = createServer(answer).listen(localSocketPath({ dataDir }));
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return dataDir;
}

function about(database: string, own: Partial<Build> = {}): AboutGateway {
  return { ...ownBuild(), instance: 'i', program: '/opt/old/lib/postern', database, ...own };
}

async function saying(
  t: ExecutionContext,
  database: Database,
  own: Partial<Build>,
  perform: RequestListener = (_, response) => void response.writeHead(500).end(),
): Promise<Omit<Asking, 'writes'>> {
  const data = about(await databaseIdentity(database), own);
  const dataDir = await listenLocally(t, (request, response) => {
    if (request.method === 'GET') response.end(JSON.stringify({ data }));
    else perform(request, response);
  });
  return { config: { dataDir }, database, patience: PATIENT };
}

test('the gateway that runs performs an operation, in the name of the command line', async (t) => {
  const { config, database } = await openLocally(t);
  const gateway = await gatewayHere({ writes: 'gateway', config, database });
  const given = { gateway, rooms: NO_ROOMS };
  const { answer, failing } = await performOperation(given, 'createRule', RULE);
  t.is(failing, 0);
  const [entry] = await readAuditEntries(database, { limit: 1 });
  const { actor } = commandLineCaller().origin;
  t.like(entry, { actor, kind: 'rule', record_id: answer['id'] });
  t.truthy(entry?.request_id, 'the log of the gateway has the same');
  await t.throwsAsync(
    performOperation(given, 'createRule', { body: { rule: { destination: 'x' } } }),
    { instanceOf: UsageError, message: 'destination: is invalid' },
  );
  const params = { id: '00000000-0000-7000-8000-000000000001' };
  await t.throwsAsync(performOperation(given, 'deleteRule', { params }), {
    message: /^somebody removed it meanwhile/,
  });
});

test('operations without a route are performed, and errors of a body come before what is absent', async (t) => {
  const { config, database } = await openLocally(t);
  const gateway = await gatewayHere({ writes: 'urgent', config, database });
  const given = { gateway, rooms: NO_ROOMS };
  const { id } = await addUser(database, { email: 'ann@example.com' });
  const { answer } = await performOperation(given, 'removeSecondFactors', { params: { id } });
  t.deepEqual(answer, { removed: 0 });
  const params = async (): Promise<never> => {
    throw new Error('nobody is there');
  };
  const asked = (limit_down: string) =>
    performOperation(given, 'updateUser', { params, body: { user: { limit_down } } });
  await t.throwsAsync(asked('fast'), { instanceOf: UsageError, message: /^limit_down: / });
  await t.throwsAsync(asked('64000'), { message: 'nobody is there' });
});

test('where none runs, or it has another database open, the command works on its own', async (t) => {
  const { config, database } = await openLocally(t);
  const other = await openDatabase(t, 'sqlite');
  t.not(await gatewayHere({ writes: 'gateway', config, database }), null);
  t.is(await gatewayHere({ writes: 'database', config, database }), null);
  t.is(await gatewayHere({ writes: 'gateway', config, database: other }), null);
  const dataDir = newDataDir(t);
  t.is(await gatewayHere({ writes: 'gateway', config: { dataDir }, database }), null);
});

test('a gateway of another version is asked nothing, and both versions are named', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const own = ownBuild();
  const later = await saying(t, database, { version: '9.9.9' });
  await t.throwsAsync(gatewayHere({ ...later, writes: 'gateway' }), {
    message:
      `the gateway that runs here is 9.9.9 (schema ${own.schema}, commands ${own.commands}), and ` +
      `this command is ${own.version} (schema ${own.schema}, commands ${own.commands}), so nothing ` +
      'was changed. Use the program of the gateway, /opt/old/lib/postern, or restart the gateway ' +
      'as this version',
  });
  const others = await saying(t, database, { commands: 'x' });
  await t.throwsAsync(gatewayHere({ ...others, writes: 'gateway' }), { message: /commands x\)/ });
  for (const writes of ['urgent', 'database'] as const)
    t.is(await gatewayHere({ ...later, writes }), null, 'its schema is the same');
  const migrated = await saying(t, database, { schema: '0099-later' });
  for (const writes of ['gateway', 'urgent', 'database'] as const)
    await t.throwsAsync(gatewayHere({ ...migrated, writes }), {
      message: /schema 0099-later.* Use the program of the gateway, \/opt\/old\/lib\/postern/,
    });
});

test('a gateway that does not know the question is of an earlier version', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const dataDir = await listenLocally(t, (_, response) => void response.writeHead(404).end('{}'));
  await t.throwsAsync(gatewayHere({ writes: 'urgent', config: { dataDir }, database }), {
    message: /^the gateway that runs here is an earlier version, .*: restart the gateway$/,
  });
});

test('beside a gateway that hangs, only what is urgent is written', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const dataDir = newDataDir(t);
  const silent = createPlainServer().listen(localSocketPath({ dataDir }));
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const patience = { aboutMs: 50, performMs: 50, urgentMs: 50 };
  const asking = { config: { dataDir }, database, patience };
  await t.throwsAsync(gatewayHere({ ...asking, writes: 'gateway' }), {
    message: /^the gateway that runs here does not answer, so nothing was changed/,
  });
  for (const writes of ['urgent', 'database'] as const)
    t.is(await gatewayHere({ ...asking, writes }), null);
});

test('a gateway whose database is away is of no earlier version: what is urgent is written', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const dataDir = await listenLocally(t, (_, response) => void response.writeHead(503).end('{}'));
  const asking = { config: { dataDir }, database, patience: PATIENT };
  await t.throwsAsync(gatewayHere({ ...asking, writes: 'gateway' }), {
    message:
      /^the gateway that runs here answers with an error, so nothing was changed\. Look at its log/,
  });
  for (const writes of ['urgent', 'database'] as const)
    t.is(await gatewayHere({ ...asking, writes }), null);
});

const unknown: [says: string, perform: RequestListener, what: RegExp][] = [
  [
    'ends the connection',
    (request) => void request.socket.destroy(),
    /^the gateway did not answer/,
  ],
  [
    'fails',
    (_, response) =>
      void response.writeHead(500).end('{"code":"internal_server_error","request_id":"0199"}'),
    /^the gateway answered with 500 internal server error; its log says why at request_id 0199\./,
  ],
  [
    'answers half',
    (_, response) => void response.end('{"data":{"answer":{'),
    /^the gateway answered what nobody can read\./,
  ],
  [
    'answers nothing but null',
    (_, response) => void response.end('{"data":null}'),
    /^the gateway answered what nobody can read\./,
  ],
];
for (const [says, perform, what] of unknown)
  test(`a gateway that ${says} after a write was sent leaves open whether it was made`, async (t) => {
    const database = await openDatabase(t, 'sqlite');
    let count = 0;
    const asking = await saying(t, database, {}, (request, response) => {
      count += 1;
      perform(request, response);
    });
    const gateway = await gatewayHere({ ...asking, writes: 'urgent' });
    const sent = performOperation({ gateway, rooms: NO_ROOMS }, 'createRule', RULE);
    const { message } = (await t.throwsAsync(sent)) ?? { message: '' };
    t.regex(message, what);
    t.regex(message, /Whether the change was made is not known: .* audit list --limit 5$/);
    t.true(count <= 1, 'nothing is sent again');
  });

for (const [writes, patience, seconds] of [
  ['urgent', { ...PATIENT, urgentMs: 1_000 }, 1],
  ['gateway', { ...PATIENT, performMs: 1_500 }, 1.5],
] as const)
  test(`a gateway that hangs in a write ends the wait of a command: ${writes}`, async (t) => {
    const database = await openDatabase(t, 'sqlite');
    let count = 0;
    const asking = await saying(t, database, {}, () => void (count += 1));
    const gateway = await gatewayHere({ ...asking, patience, writes });
    await t.throwsAsync(performOperation({ gateway, rooms: NO_ROOMS }, 'createRule', RULE), {
      message: new RegExp(
        `^the gateway did not answer within ${seconds} seconds\\. Whether the change was made is ` +
          'not known: .* audit list --limit 5\\. If it was not made, restart the gateway first$',
      ),
    });
    t.is(count, 1, 'nothing is sent again');
  });

test('a command waits for what is urgent much shorter than for other writes', (t) => {
  t.true(PATIENCE.urgentMs <= PATIENCE.performMs / 4);
});

const refused: [code: string, status: number, what: RegExp][] = [
  ['service_unavailable', 503, /^nothing was changed: the database is read-only; name another$/],
  ['forbidden', 403, /^the gateway was restarted at this moment, so nothing was changed; run this/],
  ['schema_newer', 503, /^a later version migrated the database, so nothing was changed; /],
];
for (const [code, status, what] of refused)
  test(`a gateway that answers ${code} changed nothing, and the command says so`, async (t) => {
    const database = await openDatabase(t, 'sqlite');
    const asking = await saying(t, database, {}, (_, response) => {
      const detail =
        code === 'service_unavailable' ? 'the database is read-only; name another' : undefined;
      response.writeHead(status).end(JSON.stringify({ code, detail }));
    });
    const gateway = await gatewayHere({ ...asking, writes: 'gateway' });
    const sent = performOperation({ gateway, rooms: NO_ROOMS }, 'createRule', RULE);
    await t.throwsAsync(sent, { message: what });
  });

test('a gateway that ended before it was sent a write leaves the write to the command', async (t) => {
  const { config, database, close } = await openLocally(t);
  const gateway = await gatewayHere({ writes: 'gateway', config, database });
  await close();
  await t.throwsAsync(performOperation({ gateway, rooms: NO_ROOMS }, 'createRule', RULE), {
    message: 'the command performs it itself',
  });
});

test('a gateway that stops answers the write that it was sent', async (t) => {
  const applying = Promise.withResolvers<void>();
  const applied = Promise.withResolvers<boolean>();
  const { config, database, close } = await openLocally(t, {
    whenApplied: () => {
      applying.resolve();
      return applied.promise;
    },
  });
  const gateway = await gatewayHere({ writes: 'gateway', config, database });
  const done = performOperation({ gateway, rooms: NO_ROOMS }, 'createRule', RULE);
  await applying.promise;
  const closed = close(60_000);
  t.is(await gatewayHere({ writes: 'gateway', config, database }), null, 'no other is taken');
  applied.resolve(true);
  t.like((await done).answer, { destination: '10.0.0.0/8' });
  await closed;
});
