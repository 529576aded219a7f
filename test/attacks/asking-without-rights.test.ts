// Who may not see other people's packets asks about them: a user with an API token of their own, an
// expired one, nobody, and the sessions of browsers in place of a token. No gateway is asked, and no
// answer shows whether the device exists. The socket for commands asks and writes nothing.

import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import type { Services } from '../../lib/services.ts';
import { createToken } from '../../lib/auth/tokens.ts';
import { readAuditEntries, writeTransaction } from '../../models/index.ts';
import { openServer, type TestServer } from '../support/api/server.ts';
import { addDevice } from '../support/database/records.ts';
import { serveHere } from '../support/gateway/served-gateway.ts';
import {
  fakeDiagnosing,
  fakeExplaining,
  fakeLive,
  silentTrace,
} from '../support/observe/fake-gateway.ts';
import { addPerson, atGateway, Visitor } from '../support/web/visitor.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const ABSENT = '01900000-0000-7000-8000-00000000dead';
const NAME = 'laptop of somebody else';
const USER = 'person@example.com';

/** Everything that asks a gateway or its history about packets, of a device and of all. */
function questionsAbout(id: string): [method: string, path: string, body?: object][] {
  const explain = { device_id: id, destination: '10.0.0.5', protocol: 'icmp' };
  const dry_run = { method: 'DELETE', path: `/v0/devices/${id}` };
  return [
    ['POST', '/v0/explain', { explain }],
    ['POST', '/v0/dry_run', { dry_run }],
    ['GET', `/v0/devices/${id}/capture`],
    ['HEAD', `/v0/devices/${id}/capture`],
    ['GET', `/v0/devices/${id}/diagnosis`],
    ['GET', `/v0/devices/${id}/traffic`],
    ['GET', `/v0/devices/${id}/connections`],
    ['GET', `/v0/flows?device_id=${id}`],
    ['GET', `/v0/refusals?device_id=${id}`],
    ['GET', '/v0/flows'],
    ['GET', '/v0/refusals'],
    ['GET', '/v0/traffic'],
    ['GET', '/v0/unknown_senders'],
    ['GET', '/v0/policy_tests'],
    ['GET', '/v0/groups'],
    ['GET', `/v0/groups/${crypto.randomUUID()}/members`],
    ['GET', '/v0/api_tokens'],
    ['GET', '/v0/users/admin@example.com/enrolment'],
    ['POST', '/v0/users/admin@example.com/enrolment', { enrolment: {} }],
    ['GET', '/v0/audit'],
    ['GET', '/v0/gateways'],
  ];
}

interface Scene {
  readonly opened: TestServer;
  /** What the gateway was asked. */
  readonly asked: string[];
  readonly deviceId: string;
  /** The device of the person who asks. */
  readonly ownId: string;
}

async function open(t: ExecutionContext): Promise<Scene> {
  const asked: string[] = [];
  const note = (what: string): void => void asked.push(what);
  const services: Partial<Services> = {
    explaining: fakeExplaining(async () => (note('explain'), null)),
    capturing: { id: GATEWAY, capture: async () => (note('capture'), null) },
    diagnosing: fakeDiagnosing(GATEWAY, {
      diagnose: async () => (note('diagnose'), silentTrace),
    }),
    live: fakeLive(GATEWAY, {
      tried: () => (note('dry run'), { peers: new Map(), rules: new Map() }),
      flows: async () => (note('flows'), { flows: [], next: null }),
      refusals: async () => (note('refusals'), []),
    }),
  };
  const settings = { API_RATE_LIMIT: '0' };
  const opened = await openServer(t, 'sqlite over a socket', settings, services);
  const { database, adminId } = opened;
  const { id: deviceId } = await addDevice(database, adminId, { name: NAME });
  const person = await addPerson(database, USER);
  const { id: ownId } = await addDevice(database, person.id, { name: 'own' });
  return { opened, asked, deviceId, ownId };
}

/** Asks everything about three devices: another one's, one's own, and none. */
async function check(
  t: ExecutionContext,
  { opened, asked, deviceId, ownId }: Scene,
  status: number,
  headers: Record<string, string>,
  token: string | null = null,
): Promise<void> {
  for (const id of [deviceId, ownId, ABSENT])
    for (const [method, path, body] of questionsAbout(id)) {
      const answer = await opened.send(method, path, { token, headers, body });
      t.is(answer.status, status, `${method} ${path}`);
      t.false(answer.text.includes(NAME));
    }
  t.deepEqual(asked, [], 'no gateway was asked');
  const entries = await readAuditEntries(opened.database, { limit: 1_000 });
  t.false(entries.some(({ action }) => action === 'begin capture'));
}

test('a user learns nothing with a token of their own, not even of their own device', async (t) => {
  const scene = await open(t);
  const { token } = await createToken(scene.opened.database, { email: USER, name: 'laptop' });
  await check(t, scene, 403, {}, token);
});

test('an expired, an invented and no token learn nothing', async (t) => {
  const scene = await open(t);
  const { database, token } = scene.opened;
  for (const bad of [null, 'x', `pst_${'A'.repeat(43)}`]) await check(t, scene, 401, {}, bad);
  await writeTransaction(database, (transaction) =>
    database.models.ApiToken.update({ expires_at: new Date(0) }, { where: {}, transaction }),
  );
  await check(t, scene, 401, {}, token);
});

test('the session of a browser asks nothing in place of a token', async (t) => {
  const scene = await open(t);
  const { server, database } = scene.opened;
  await addPerson(database, 'boss@example.com', { role: 'admin' });
  for (const email of [USER, 'boss@example.com']) {
    const visitor = new Visitor(atGateway(server.info.uri));
    t.is((await visitor.signIn(email)).status, 303);
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    await check(t, scene, 401, { cookie, origin: 'https://evil.example' });
  }
});

test('the socket of this host answers questions, and refuses every write that there is', async (t) => {
  const { call, environment, output } = await serveHere(t);
  const { data: user } = (await call('POST', '/v0/users', { user: { email: USER } })).body;
  const public_key = Buffer.alloc(32, 7).toString('base64');
  const { data: device } = (
    await call('POST', '/v0/devices', { device: { user_id: user.id, public_key } })
  ).body;
  const socketPath = join(environment['DATA_DIR'] ?? '', 'gateway.sock');
  const ask = async (
    method: string,
    path: string,
    body?: object,
    more: object = {},
  ): Promise<[number, string]> => {
    const headers = { 'content-type': 'application/json', ...more };
    const sent = request({ socketPath, method, path, headers, agent: false });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = await once(sent, 'response');
    return [response.statusCode, await text(response)];
  };
  const [, described] = await ask('GET', '/v0/openapi.json');
  const { paths } = JSON.parse(described) as { paths: Record<string, Record<string, object>> };
  const writes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => ['post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => [method.toUpperCase(), path.replace(/\{id\}/, device.id)] as const)
      .filter(([, written]) => written !== '/v0/explain' && written !== '/v0/dry_run'),
  );
  t.true(writes.length > 20, `${writes.length} writes`);
  const records = async (): Promise<unknown[]> => {
    const lists = ['users', 'devices', 'rules', 'policy_tests', 'configuration'];
    return Promise.all(lists.map(async (list) => (await call('GET', `/v0/${list}`)).body.data));
  };
  const before = await records();
  for (const [method, path] of writes)
    t.deepEqual(
      await ask(method, path, method === 'DELETE' ? undefined : {}),
      [403, '{"error":"forbidden","code":"forbidden"}'],
      `${method} ${path}`,
    );
  // What commands write takes the start that was asked, and nothing that came by the network.
  const [, about] = await ask('GET', '/local/gateway');
  const { data: gateway } = JSON.parse(about) as { data: Record<string, string> };
  const { version, schema, commands, instance } = gateway;
  const order = (start: unknown) => ({
    gateway: { version, schema, commands, instance: start },
    operation: 'deleteDevice',
    params: { id: device.id },
    validatesFirst: false,
    force: false,
  });
  t.is((await ask('POST', '/local/operations', order('x')))[0], 403);
  t.is((await call('GET', '/local/gateway')).status, 404);
  t.is((await call('POST', '/local/operations', order(instance))).status, 404);
  const passedOn = { 'x-forwarded-for': '192.0.2.1' };
  t.is((await ask('POST', '/local/operations', order(instance), passedOn))[0], 404);
  t.is((await ask('POST', '/local/operations', order(instance), { host: 'x.example' }))[0], 404);
  t.deepEqual(await records(), before);
  const explain = { device_id: device.id, destination: '10.0.0.5', protocol: 'icmp' };
  const [status, answer] = await ask('POST', '/v0/explain', { explain });
  t.is(status, 200, answer);
  const [captured] = await ask('GET', `/v0/devices/${device.id}/capture?duration=1`);
  t.is(captured, 200, output());
});
