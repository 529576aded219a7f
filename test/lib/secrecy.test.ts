// What nobody may read: the log of a whole run, at every level, holds no token, password, key or
// secret, and e-mails at debug at most; answers hold no hash, no stack and no SQL, whatever breaks.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { hashToken } from '../../lib/auth/tokens.ts';
import { databaseKinds, openDatabase } from '../support/database/databases.ts';
import { openProvider, samlMetadata } from '../support/auth/identity-provider.ts';
import { type LogLine, logInto, newKey, serverOn } from '../support/api/server.ts';
import { COMPILE_CACHE, WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { freeUdpPort } from '../support/network/free-port.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PASSWORD = 'correct horse battery';
const OTHER_PASSWORD = 'staple staple staple';
const CLIENT_SECRET = 'a-client-secret';
const EMAIL = 'ann.person@example.com';
const ADMIN = 'admin.person@example.com';
const METRICS_TOKEN = 'for-prometheus-and-nothing-else';

interface Sent {
  method: string;
  path: string;
  body?: unknown;
  token?: string;
}
type Send = (sent: Sent) => Promise<{ status: number; text: string }>;

/** What a run used and nobody may find. */
interface Secrets {
  psk: string;
  /** A token that was never good, in its right form. */
  strange: string;
}

/** A run of requests, good ones and all kinds of bad ones. */
async function run(send: Send, providerOrigin: string, { psk, strange }: Secrets): Promise<void> {
  const post = (path: string, body: unknown) => send({ method: 'POST', path, body });
  const idOf = ({ text }: { text: string }): string =>
    (JSON.parse(text) as { data: { id: string } }).data.id;
  const account = { email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD };
  const userId = idOf(await post('/v0/users', { user: account }));
  await post('/v0/users', { user: account });
  await post('/v0/users', { user: { ...account, password_confirmation: OTHER_PASSWORD } });
  const change = { password: OTHER_PASSWORD, password_confirmation: OTHER_PASSWORD };
  await send({ method: 'PATCH', path: `/v0/users/${EMAIL}`, body: { user: change } });
  const device = { user_id: userId, public_key: newKey(), preshared_key: psk, name: 'laptop' };
  const deviceId = idOf(await post('/v0/devices', { device }));
  await post('/v0/devices', { device });
  await post('/v0/devices', { device: { ...device, preshared_key: `${psk}x` } });
  // Both are checked before either is written, so one is overtaken by the other.
  const twin = { ...device, name: 'twin', public_key: newKey() };
  await Promise.all([post('/v0/devices', { device: twin }), post('/v0/devices', { device: twin })]);
  const provider = {
    id: 'p',
    label: 'l',
    client_id: 'c',
    client_secret: CLIENT_SECRET,
    discovery_document_uri: `${providerOrigin}/x`,
    auto_create_users: false,
  };
  const saml = { id: 's', label: 'l', metadata: samlMetadata(), auto_create_users: false };
  const put = (configuration: object) =>
    send({ method: 'PUT', path: '/v0/configuration', body: { configuration } });
  await put({ openid_connect_providers: [provider], saml_identity_providers: [saml] });
  await put({ openid_connect_providers: [{ ...provider, discovery_document_uri: 'http://[' }] });
  await put({ saml_identity_providers: [{ ...saml, metadata: `<x>${CLIENT_SECRET}</x>` }] });
  for (const path of ['users', 'devices', 'rules', 'configuration', `users/${EMAIL}`, 'nothing'])
    for (const token of [undefined, strange, 'pst_short', ''])
      await send({ method: 'GET', path: `/v0/${path}`, ...(token === undefined ? {} : { token }) });
  await post('/v0/users', `{"user":{"password":"${PASSWORD}"`);
  await post('/v0/users', [account]);
  await send({ method: 'DELETE', path: `/v0/devices/${deviceId}` });
  await send({ method: 'DELETE', path: `/v0/users/${EMAIL}` });
}

async function startProcess(
  t: ExecutionContext,
  environment: Record<string, string>,
): Promise<{ child: ChildProcess; address: string; output: () => string }> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-secrecy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const env = {
    ...COMPILE_CACHE,
    ...WITHOUT_WARM_UP,
    ...environment,
    DATA_DIR: folder,
    WIREGUARD_PORT: String(await freeUdpPort()),
  };
  const child = spawn(process.execPath, ['lib/start/main.ts', 'serve'], { cwd: ROOT, env });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  while (!output.includes('Postern serves')) await once(child.stdout, 'data');
  const address = /"api":"([^"]+)"/.exec(output)?.[1] ?? '';
  return { child, address, output: () => output };
}

test('the log of a process, at its lowest level, holds nothing that is secret', async (t) => {
  t.timeout(120_000);
  const token = `pst_${randomBytes(32).toString('base64url')}`;
  const secrets: Secrets = { psk: newKey(), strange: `pst_${'z'.repeat(43)}` };
  const [encryptionKey, privateKey] = [newKey(), newKey()];
  const { child, address, output } = await startProcess(t, {
    WIREGUARD_TUN: 'off',
    HTTP_PORT: '0',
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'json',
    DEFAULT_ADMIN_EMAIL: ADMIN,
    DEFAULT_ADMIN_PASSWORD: PASSWORD,
    BOOTSTRAP_API_TOKEN: token,
    DATABASE_ENCRYPTION_KEY: encryptionKey,
    WIREGUARD_PRIVATE_KEY: privateKey,
    METRICS_TOKEN,
  });
  const provider = await openProvider(t);
  const statuses = new Set<number>();
  const send: Send = async (sent) => {
    const { method, path, body } = sent;
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${sent.token ?? token}`,
        'content-type': 'application/json',
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    statuses.add(response.status);
    return { status: response.status, text: await response.text() };
  };
  await run(send, provider.origin, secrets);
  const scrapes = [METRICS_TOKEN, token, secrets.strange].map((shown) =>
    send({ method: 'GET', path: '/metrics', token: shown }),
  );
  const [metrics = ''] = (await Promise.all(scrapes)).map(({ text }) => text);
  t.true(metrics.includes('wg_gateway_ready 1'));
  child.kill('SIGTERM');
  await once(child, 'exit');
  t.deepEqual(
    [...statuses].toSorted((a, b) => a - b),
    [200, 201, 204, 400, 401, 404, 422],
  );
  const hidden = [
    PASSWORD,
    OTHER_PASSWORD,
    CLIENT_SECRET,
    token,
    token.slice(4),
    hashToken(token),
    secrets.psk,
    secrets.strange,
    encryptionKey,
    privateKey,
    METRICS_TOKEN,
    '$2b$',
    'Bearer',
    'X509',
  ];
  for (const secret of hidden) {
    t.false(output().includes(secret), secret);
    t.false(metrics.includes(secret), secret);
  }
  t.notRegex(metrics, /person@/i, 'nobody is named');
  t.true(output().includes('a request was answered'));
  t.true(output().includes('Postern stops'), 'the whole log was read');
  for (const line of output()
    .split('\n')
    .filter((text) => /person@/i.test(text)))
    t.true(['trace', 'debug'].includes((JSON.parse(line) as { level: string }).level), line);
});

/** Errors as a log prints them: with message and stack, and all that they carry. */
function withErrors(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return Object.assign({}, value, { message: value.message, stack: value.stack });
}

/** What no answer may hold. */
const INTERNALS =
  /\$2b\$|password_hash|sha256|\bat \S+ \(|node_modules|\.ts:\d|SELECT |INSERT |UPDATE |SQLITE|no such table|ER_[A-Z]+|Sequelize/;

for (const kind of databaseKinds()) {
  test(`${kind}: whatever breaks, answers and log tell neither secrets nor SQL`, async (t) => {
    t.timeout(120_000);
    const log: LogLine[] = [];
    const database = await openDatabase(t, kind, { log: logInto(log) });
    const provider = await openProvider(t);
    const secrets: Secrets = { psk: newKey(), strange: `pst_${'z'.repeat(43)}` };
    const { send: ask, token } = await serverOn(database, {}, { log: logInto(log) });
    const texts: string[] = [];
    const statuses: number[] = [];
    const send: Send = async ({ method, path, ...sent }) => {
      const answer = await ask(method, path, {
        ...sent,
        ...(typeof sent.body === 'string'
          ? { headers: { 'content-type': 'application/json' } }
          : {}),
      });
      texts.push(answer.text);
      statuses.push(answer.status);
      return answer;
    };
    await run(send, provider.origin, secrets);
    t.false(
      statuses.some((status) => status >= 500),
      String(statuses),
    );
    const { User } = database.models;
    const hashes = (await User.findAll()).map((user) => String(user.password_hash));
    const body = {
      user: { email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD },
    };
    // One table after the other is lost, under requests that need it.
    const queries = database.sequelize.getQueryInterface();
    for (const [table, children] of [
      ['audit_entries', []],
      ['device_statuses', []],
      // No table can be dropped to whose rows others refer.
      ['devices', ['device_traffic', 'connections', 'policy_tests']],
      ['rules', ['rule_traffic']],
      ['configurations', []],
    ] as const) {
      for (const one of [...children, table]) await queries.dropTable(one);
      statuses.length = 0;
      for (const path of ['devices', 'rules', 'configuration', 'users'])
        await send({ method: 'GET', path: `/v0/${path}` });
      await send({ method: 'POST', path: '/v0/users', body });
      await send({
        method: 'PATCH',
        path: '/v0/configuration',
        body: { configuration: { vpn_session_duration: 1 } },
      });
      await send({ method: 'DELETE', path: `/v0/users/${EMAIL}` });
      t.true(statuses.includes(500), `${table}: ${String(statuses)}`);
    }
    for (const text of texts) t.notRegex(text, INTERNALS);
    const heard = JSON.stringify(log, withErrors);
    const hidden = [PASSWORD, OTHER_PASSWORD, CLIENT_SECRET, token, hashToken(token), '$2b$'];
    for (const secret of [...hidden, ...hashes, secrets.psk, secrets.strange, EMAIL])
      t.false(heard.includes(secret), secret);
    t.true(
      log.some(({ level }) => level === 'error'),
      'errors were logged',
    );
  });
}
