// The world in which recordings are made and compared: one database for all of them, emptied before
// each, with the same few records, keys and documents of identity providers every time. What cannot
// be the same in every run, ids of new records and times say, has placeholders.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Server } from '@hapi/hapi';
import type { ExecutionContext } from 'ava';
import { ConnectionRefusedError } from 'sequelize';
import { createToken } from '../../lib/auth/tokens.ts';
import type { Services } from '../../lib/services.ts';
import {
  type Database,
  identityKey,
  recordConnections,
  recordHistory,
  writeTransaction,
} from '../../models/index.ts';
import { openDatabase, type TestDatabaseKind } from '../support/database/databases.ts';
import { checkAnswer } from '../support/api/openapi.ts';
import { type Answer, answerOf } from '../support/api/requests.ts';
import { serverOn } from '../support/api/server.ts';
import type { DiagnosingGateway } from '../../lib/observe/diagnosis/diagnose.ts';
import {
  fakeDiagnosing,
  fakeExplaining,
  fakeLive,
  endedFlowOf,
  flowOf,
  refusalOf,
  silentTrace,
} from '../support/observe/fake-gateway.ts';
import { Bindings } from './placeholders.ts';
import type { Exchange, Recording } from './recording.ts';
import { revokeToken } from '../support/database/revoke.ts';

const DOCUMENTS = join(import.meta.dirname, 'documents');
/** When the records of the world were made. */
const EPOCH = new Date('2020-01-02T03:04:05.678Z');

/** Ids of the records of the world. */
export const ids = {
  admin: '00000000-0000-7000-8000-000000000001',
  person: '00000000-0000-7000-8000-000000000002',
  disabled: '00000000-0000-7000-8000-000000000003',
  device: '00000000-0000-7000-8000-000000000011',
  gateway: '00000000-0000-7000-8000-000000000021',
  identity: '00000000-0000-7000-8000-000000000031',
  'admin-identity': '00000000-0000-7000-8000-000000000032',
  connection: '00000000-0000-7000-8000-000000000041',
} as const;

/** A database and identity providers for all recordings of one run. */
export interface World {
  readonly database: Database;
  readonly providers: { readonly origin: string; readonly asked: Map<string, number> };
}

/** One exchange of a recording, as it went now. */
export interface Played {
  readonly exchange: Exchange;
  readonly answer: Answer;
  readonly bindings: Bindings;
}

/** Opens a world; it ends with the test. */
export async function openWorld(t: ExecutionContext, kind: TestDatabaseKind): Promise<World> {
  return { database: await openDatabase(t, kind), providers: await openProviders(t) };
}

/** Sends the requests of a recording, each when the one before was looked at. */
export async function* play(
  world: World,
  { world: special, exchanges }: Pick<Recording, 'world' | 'exchanges'>,
): AsyncGenerator<Played> {
  await empty(world.database);
  await fillIn(world.database);
  world.providers.asked.clear();
  const { server } = await serverOn(world.database, settingsOf(special), servicesOf(special));
  const { fails, clock } = special;
  if (fails !== undefined)
    server.ext('onPreHandler', () => {
      throw fails === '503' ? new ConnectionRefusedError(new Error('away')) : new Error('fails');
    });
  const bindings = await bindTokens(world);
  // Buckets fill with time; in a test of limits it must not matter how fast the machine is.
  const stoppedMs = performance.now();
  if (clock === 'stopped') performance.now = () => stoppedMs;
  try {
    yield* sendAll(server, exchanges, bindings);
  } finally {
    Reflect.deleteProperty(performance, 'now');
  }
}

async function* sendAll(
  server: Server,
  exchanges: readonly Exchange[],
  bindings: Bindings,
): AsyncGenerator<Played> {
  for (const exchange of exchanges) {
    const { method, path, headers, body } = exchange;
    const url = bindings.fill(path);
    const { statusCode, ...response } = await server.inject({
      method,
      url,
      headers: Object.fromEntries(headers.map(([name, value]) => [name, bindings.fill(value)])),
      ...(body === '' ? {} : { payload: bindings.fill(body) }),
    });
    const answer = answerOf(statusCode, response.headers, response.payload);
    const undescribed = checkAnswer(method, url, answer);
    if (undescribed !== null) throw new Error(`${method} ${url} ${statusCode}: ${undescribed}`);
    yield { exchange, answer, bindings };
  }
}

/** Environment variables. */
export function settingsOf({ settings = '' }: Recording['world']): Record<string, string> {
  const pairs = settings.split(' ').filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const sign = pair.indexOf('=');
      return [pair.slice(0, sign), pair.slice(sign + 1)];
    }),
  );
}

/** What the server needs. */
export function servicesOf({ applied }: Recording['world']): Partial<Services> {
  return {
    serverPublicKey: Buffer.alloc(32, 7).toString('base64'),
    whenApplied: async () => applied !== 'no',
    explaining: fakeExplaining(undefined, { id: ids.gateway }),
    diagnosing: diagnosingOf(ids.gateway),
    live: fakeLive(ids.gateway, {
      flows: async (_query, limit) => ({
        flows: [flowOf('a key')],
        next: limit === 1 ? { worker: 0, flow: 2 } : null,
      }),
      endedFlows: async (_query, limit) => ({
        flows: [endedFlowOf('a key')],
        next: limit === 1 ? [7] : null,
      }),
      refusals: async () => [refusalOf('a key')],
      effectOf: async () => ({
        ended: { count: 2, found: [flowOf('a key')], devices: ['a key'] },
        passed: { count: 1, found: [refusalOf('a key')] },
      }),
      userIdOf: () => ids.person,
      deviceIdOf: () => ids.device,
    }),
  };
}

/** A gateway that heard a device and two strangers. */
function diagnosingOf(id: string): DiagnosingGateway {
  const endpoint = { address: '192.0.2.7', port: 51_820 };
  const times = { firstAtMs: EPOCH.getTime(), lastAtMs: EPOCH.getTime() };
  const attempt = {
    kind: 'answered',
    reason: null,
    endpoint,
    count: 7,
    ...times,
    confirmedAtMs: null,
    datedMs: null,
    latestDatedMs: null,
  } as const;
  const stranger = { endpoint, count: 3, ...times };
  const publicKey = Buffer.alloc(32, 9).toString('base64');
  const inside = { ...silentTrace.inside, sinceMs: EPOCH.getTime() };
  return fakeDiagnosing(id, {
    diagnose: async () => ({ ...silentTrace, attempts: [attempt], inside }),
    unknownSenders: async () => ({
      keys: [{ ...stranger, publicKey }],
      otherGateway: [stranger],
    }),
  });
}

/** Deletes every record; rows that others refer to go last. */
async function empty({ models, sequelize }: Database): Promise<void> {
  const { User, Device, Identity, Group, ...others } = models;
  for (const table of [...Object.values(others), Group, Identity, Device, User])
    await sequelize.query(`DELETE FROM ${table.tableName}`);
  const history = ['device_traffic', 'gateway_traffic', 'refused_traffic', 'rule_traffic'];
  for (const table of [...history, 'connections']) await sequelize.query(`DELETE FROM ${table}`);
}

/** Makes the records of the world. */
export async function fillIn(database: Database): Promise<void> {
  const { User, Device, DeviceStatus, Identity } = database.models;
  await writeTransaction(database, async (transaction) => {
    const signedIn = { last_signed_in_at: EPOCH, last_signed_in_method: 'email' };
    const users = [
      { id: ids.admin, email: 'admin@example.com', role: 'admin' as const },
      { id: ids.person, email: 'person@example.com', ...signedIn },
      { id: ids.disabled, email: 'disabled@example.com', role: 'admin' as const },
    ];
    for (const user of users) await User.create(user, { transaction });
    const device = {
      id: ids.device,
      user_id: ids.person,
      name: 'laptop',
      public_key: Buffer.alloc(32, 1).toString('base64'),
      preshared_key: Buffer.alloc(32, 2).toString('base64'),
      ipv4: '100.64.0.2',
      ipv6: 'fd00::2',
    };
    await Device.create(device, { transaction });
    for (const [id, user_id] of [
      [ids.identity, ids.person],
      [ids['admin-identity'], ids.admin],
    ] as const) {
      const account = { issuer: 'https://idp.example/metadata', subject: user_id };
      const entry = { kind: 'saml', provider_id: 'okta', ...account } as const;
      const row = { id, user_id, ...entry, account_key: identityKey(entry) };
      await Identity.create(row, { transaction });
    }
  });
  const status = { latest_handshake: EPOCH, remote_ip: '192.0.2.7', remote_port: 51_820 };
  const seen = { ...status, rx_bytes: 1_234_567_890_123, tx_bytes: 42, updated: EPOCH };
  await DeviceStatus.create({ device_id: ids.device, gateway_id: ids.gateway, ...seen });
  await fillHistory(database);
  for (const table of ['users', 'devices'])
    await update(database, `${table} SET inserted_at = EPOCH, updated_at = EPOCH`);
}

/** What the device carried on the day of the epoch, and when it was connected then. */
async function fillHistory(database: Database): Promise<void> {
  const start = Math.floor(EPOCH.getTime() / 600_000) * 600;
  const report = { start, counts: [1_234_567_890_123, 42] };
  await recordHistory(database, ids.gateway, 'device', [{ ...report, subject: ids.device }]);
  await recordHistory(database, ids.gateway, 'gateway', [{ ...report, subject: '' }]);
  const refused = { subject: 'rule_drop', start, counts: [7] };
  await recordHistory(database, ids.gateway, 'refusal', [refused]);
  const connectedAt = EPOCH.getTime();
  const connection = { id: ids.connection, deviceId: ids.device, gatewayId: ids.gateway };
  const over = { disconnectedAt: connectedAt + 180_000, reason: 'silent' } as const;
  const from = { connectedAt, remoteIp: '192.0.2.7', remotePort: 51_820 };
  await recordConnections(database, [{ ...connection, ...from, ...over }]);
}

/** Changes rows past the tables, which would say that they were changed now. */
async function update({ sequelize }: Database, statement: string): Promise<void> {
  const epoch = '(SELECT updated FROM device_statuses LIMIT 1)';
  await sequelize.query(`UPDATE ${statement.replaceAll('EPOCH', epoch)}`);
}

/** Tokens of every kind, and the origin of the identity providers. */
async function bindTokens({ database, providers }: World): Promise<Bindings> {
  const bindings = new Bindings();
  const tokenOf = async (name: string, email: string): Promise<string> => {
    const { id, token } = await createToken(database, { email, name });
    bindings.bind(name, token);
    return id;
  };
  await tokenOf('admin', 'admin@example.com');
  await tokenOf('person', 'person@example.com');
  await tokenOf('disabled', 'disabled@example.com');
  const expired = await tokenOf('expired', 'admin@example.com');
  await update(database, `api_tokens SET expires_at = EPOCH WHERE id = '${expired}'`);
  const disabling = "disabled_at = EPOCH, disabled_by = 'administrator'";
  await update(database, `users SET ${disabling} WHERE id = '${ids.disabled}'`);
  await revokeToken(database, await tokenOf('revoked', 'admin@example.com'));
  bindings.bind('providers', providers.origin);
  return bindings;
}

/** Serves documents of identity providers; some addresses change what they serve. */
export async function openProviders(
  t: Pick<ExecutionContext, 'teardown'>,
): Promise<World['providers']> {
  const asked = new Map<string, number>();
  const read = (name: string): string => readFileSync(join(DOCUMENTS, name), 'utf8');
  const server = createServer(({ url: path = '', headers }, response) => {
    const count = (asked.get(path) ?? 0) + 1;
    asked.set(path, count);
    const origin = `http://${headers.host}`;
    if (path === '/openid') response.end(read('openid.json').replaceAll('ORIGIN', origin));
    else if (path === '/page') response.end('<html></html>');
    else if (path === '/saml') response.end(read('saml.xml'));
    else if (path === '/rotating') response.end(read(count > 1 ? 'saml-rotated.xml' : 'saml.xml'));
    else if (path === '/failing' && count === 1) response.end(read('saml.xml'));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, asked };
}
