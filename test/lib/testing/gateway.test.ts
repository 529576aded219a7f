// A whole gateway in a test process, as other packages use it.

import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import {
  ApiRefusal,
  createGateway,
  NoAnswerError,
  type TestGateway,
  type TestGatewayOptions,
} from '../../../lib/testing/index.ts';
import { checkAnswer } from '../../support/api/openapi.ts';
import { tries } from '../../support/dataplane/seed.ts';

/** Folders of the databases that this process has open. */
function openFolders(): string[] {
  const files = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  const databases = files.filter((path) => /\/postern-[^/]+\/postern\.sqlite$/.test(path));
  return [...new Set(databases.map((path) => dirname(path)))];
}

test('rules that are created over the API are in force from the answer on', async (t) => {
  await using gateway = await createGateway({ database: 'memory', tun: 'memory' });
  const device = await gateway.addDevice({ user: 'alice@example.com', name: 'laptop' });
  gateway.host('10.0.0.5');
  gateway.host('2001:db8::5');
  await device.ping('10.0.0.5');
  await device.ping('2001:db8::5');
  const { id } = await gateway.api.post('/v0/rules', {
    rule: { action: 'drop', destination: '10.0.0.0/8', port_type: 'tcp', port_range: '80 - 443' },
  });
  const error = await t.throwsAsync(device.connect('10.0.0.5', 80), { instanceOf: NoAnswerError });
  t.deepEqual(error.refusals, { rule_drop: 1 });
  t.is(gateway.drops()['rule_drop'], 1);
  await (await device.connect('10.0.0.5', 22)).close();
  await gateway.api.delete(`/v0/rules/${String(id)}`);
  t.is(String(await (await device.connect('10.0.0.5', 80)).exchange('GET /')), 'GET /');
});

test('a one-time link lets its user in, and is another one each time', async (t) => {
  await using gateway = await createGateway();
  const first = await gateway.enrol('alice@example.com');
  const link = await gateway.enrol('alice@example.com');
  const open = (path: string) => gateway.inject('GET', path, { token: null });
  t.is((await open(first)).status, 404, 'the later one takes its place');
  const { status, text } = await open(link);
  t.is(status, 200);
  t.true(text.includes('alice@example.com'));
  const shown = await fetch(new URL(link, await gateway.listen()));
  t.is(shown.status, 200);
});

test('the default action of the configuration is in force from the answer on', async (t) => {
  await using gateway = await createGateway();
  const device = await gateway.addDevice();
  gateway.host('10.0.0.5');
  gateway.host('192.0.2.80');
  await gateway.api.post('/v0/rules', { rule: { action: 'accept', destination: '10.0.0.5' } });
  const connection = await device.connect('192.0.2.80', 80);
  const setDefault = (default_action: string) =>
    gateway.api.patch('/v0/configuration', { configuration: { default_action } });
  t.like(await setDefault('drop'), { default_action: 'drop' });
  const error = await t.throwsAsync(device.ping('192.0.2.80'), { instanceOf: NoAnswerError });
  t.deepEqual(error.refusals, { default_drop: 1 });
  await t.throwsAsync(connection.exchange('GET /'), { message: /default_drop/ }, 'it was open');
  await device.ping('10.0.0.5');
  await setDefault('accept');
  await device.ping('192.0.2.80');
  t.is(String(await (await device.connect('192.0.2.80', 80)).exchange('GET /')), 'GET /');
});

test('the rules of a user apply only to the devices of this user', async (t) => {
  await using gateway = await createGateway();
  const alice = await gateway.addDevice({ user: 'alice@example.com' });
  const bob = await gateway.addDevice({ user: 'bob@example.com' });
  const second = await gateway.addDevice({ user: 'alice@example.com' });
  t.is(second.userId, alice.userId);
  gateway.host('192.0.2.80');
  await gateway.api.post('/v0/rules', {
    rule: { action: 'drop', destination: '192.0.2.80', user_id: alice.userId },
  });
  await bob.ping('192.0.2.80');
  for (const device of [alice, second])
    await t.throwsAsync(device.ping('192.0.2.80'), { message: /rule_drop: 1/ });
});

test('a device has the fields of the API, and is gone when it is removed', async (t) => {
  await using gateway = await createGateway();
  const device = await gateway.addDevice({ name: 'phone', description: 'of a test' });
  t.like(await gateway.api.get(`/v0/devices/${device.id}`), {
    name: 'phone',
    description: 'of a test',
    user_id: device.userId,
    public_key: device.publicKey,
    ipv4: device.ipv4,
  });
  t.true(device.isConnected);
  await device.ping(gateway.ipv4);
  await device.ping(gateway.ipv6);
  await gateway.api.delete(`/v0/devices/${device.id}`);
  await t.throwsAsync(device.ping(gateway.ipv4), { message: /initiation_unknown_peer: 1/ });
});

test('removing an owner removes the devices too', async (t) => {
  await using gateway = await createGateway();
  const [one, other] = [await gateway.addDevice(), await gateway.addDevice()];
  await one.ping(other.ipv4);
  await gateway.api.delete(`/v0/users/${other.userId}`);
  await t.throwsAsync(other.ping(one.ipv4), { message: /initiation_unknown_peer: 1/ });
  await t.throwsAsync(one.ping(other.ipv4), { message: /no_peer: 1/ });
});

test('requests can be injected or sent to a port, and errors have the words of the API', async (t) => {
  await using gateway = await createGateway();
  const sent = { body: { rule: { action: 'drop', destination: 'nowhere' } } };
  const answer = await gateway.inject('POST', '/v0/rules', sent);
  t.is(answer.status, 422);
  t.is(checkAnswer('POST', '/v0/rules', answer), null);
  t.is((await gateway.inject('GET', '/v0/rules', { token: null })).status, 401);
  const refusal = await t.throwsAsync(gateway.api.post('/v0/rules', sent.body), {
    instanceOf: ApiRefusal,
    message: /^POST \/v0\/rules was answered 422: .*destination/,
  });
  t.is(refusal.status, 422);
  t.deepEqual(refusal.body, answer.body);
  const url = await gateway.listen();
  t.is(await gateway.listen(), url);
  const headers = { authorization: `Bearer ${gateway.token}` };
  t.is((await fetch(`${url}/v0/configuration`, { headers })).status, 200);
  t.is((await fetch(`${url}/readyz`)).status, 200);
});

test('settings are those of the gateway, and mistakes are reported', async (t) => {
  await using gateway = await createGateway({
    settings: {
      DEFAULT_ACTION: 'drop',
      WIREGUARD_IPV6_ENABLED: 'false',
      WIREGUARD_IPV4_NETWORK: '10.44.0.0/24',
      WIREGUARD_IPV4_ADDRESS: '10.44.0.1',
      DEFAULT_CLIENT_MTU: '1300',
      BOOTSTRAP_API_TOKEN: `pst_${'t'.repeat(43)}`,
    },
  });
  t.is(gateway.token, `pst_${'t'.repeat(43)}`);
  t.is(gateway.ipv4, '10.44.0.1');
  t.throws(() => gateway.ipv6, { message: '10.44.0.1 has no IPv6 address beside it' });
  const device = await gateway.addDevice();
  t.is(device.record['mtu'], 1_300);
  t.regex(device.ipv4, /^10\.44\.0\./);
  t.throws(() => device.ipv6, { message: `${device.ipv4} has no IPv6 address beside it` });
  await t.throwsAsync(device.ping('10.44.0.1'), { message: /default_drop: 1/ });
  for (const [options, message] of [
    [{ settings: { DEFAULT_ACTON: 'drop' } }, /^DEFAULT_ACTON: no setting of that name/],
    [{ settings: { DEFAULT_ACTION: 'maybe' } }, /DEFAULT_ACTION .* got "maybe"/],
    [{ settings: { DEFAULT_CLIENT_MTU: '7' } }, /DEFAULT_CLIENT_MTU/],
    [{ settings: { DATABASE_ENCRYPTION_KEY_FILE: '/etc/passwd' } }, /reads no files/],
    [{ database: 'mysql://x' }, /database may be 'memory' alone/],
    [{ tun: 'auto' }, /tun may be 'memory' or 'sockets'/],
    [{ foo: 1 }, /^createGateway has no option foo; it takes database, tun, settings$/],
    [{ setings: {} }, /^createGateway has no option setings; is settings meant\?$/],
  ] as unknown as [TestGatewayOptions, RegExp][])
    await t.throwsAsync(createGateway(options), { message });
});

test('an unknown name in the options of a device, a host or a request is refused', async (t) => {
  await using gateway = await createGateway();
  const slips: [wish: object, message: string][] = [
    [{ nme: 'x' }, 'addDevice has no option nme; is name meant?'],
    [{ answers: { tpc: String } }, 'answers has no option tpc; is tcp meant?'],
  ];
  for (const [wish, message] of slips)
    await t.throwsAsync(gateway.addDevice(wish), { instanceOf: TypeError, message });
  await t.throwsAsync(gateway.addDevice({ public_key: 'x' } as object), {
    message: /^addDevice has no option public_key; it takes user, answers, user_id, name, /,
  });
  t.deepEqual(await gateway.api.get('/v0/devices'), [], 'nothing was made');
  t.throws(() => gateway.host('192.0.2.80', { port: [80] } as object), {
    message: 'answers has no option port; is ports meant?',
  });
  t.notThrows(() => gateway.host('192.0.2.80'), 'nobody is there yet');
  await t.throwsAsync(gateway.inject('GET', '/v0/rules', { header: {} } as object), {
    message: 'inject has no option header; is headers meant?',
  });
});

test('an address of a device, a host or the gateway cannot be used again', async (t) => {
  await using gateway = await createGateway();
  const { ipv4, ipv6, name } = await gateway.addDevice({ name: 'laptop' });
  t.is(name, 'laptop');
  gateway.host('192.0.2.80');
  gateway.host('2001:db8::80');
  for (const taken of ['192.0.2.80', '2001:db8:0::80'])
    t.throws(() => gateway.host(taken), { message: /^there is a host at .+80 already$/ });
  for (const own of [gateway.ipv4, gateway.ipv6])
    t.throws(() => gateway.host(own), { message: /is the gateway’s own address/ });
  for (const taken of [ipv4, ipv6])
    t.throws(() => gateway.host(taken), {
      message: /is for a device, because it is in WIREGUARD_/,
    });
});

test('a device of an owner from the API creates no second owner', async (t) => {
  await using gateway = await createGateway();
  const { id } = await gateway.api.post('/v0/users', { user: { email: 'ann@example.com' } });
  const device = await gateway.addDevice({ user_id: id });
  t.is(device.userId, String(id));
  t.is((await gateway.api.get<unknown[]>('/v0/users')).length, 2, 'with the administrator');
});

test('people can sign in at the console of a gateway in a test', async (t) => {
  await using gateway = await createGateway();
  const { email, password } = gateway.administrator;
  t.is(email, 'admin@example.com');
  t.true(password.length >= 12);
  const page = await gateway.inject('GET', '/', { token: null });
  t.true([200, 302].includes(page.status));
});

/** Enough for what gateways share, and for what one of them leaves. */
const MANY = tries(12, 50);

test.serial(
  'many gateways run in parallel, know nothing of each other, and leave nothing behind',
  async (t) => {
    const handlesBefore = process.getActiveResourcesInfo().length;
    const gateways = await Promise.all(Array.from({ length: MANY }, () => createGateway()));
    const devices = await Promise.all(gateways.map((gateway) => gateway.addDevice()));
    t.is(new Set(gateways.map(({ token }) => token)).size, MANY);
    await Promise.all(
      gateways.map(async (gateway, i) => {
        gateway.host('192.0.2.80');
        if (i % 2 === 1)
          await gateway.api.post('/v0/rules', {
            rule: { action: 'drop', destination: '192.0.2.80' },
          });
      }),
    );
    for (const [i, device] of devices.entries())
      await (i % 2 === 0
        ? t.notThrowsAsync(device.ping('192.0.2.80'))
        : t.throwsAsync(device.ping('192.0.2.80'), { message: /rule_drop/ }));
    const folders = openFolders();
    t.is(folders.length, MANY);
    await Promise.all(gateways.map((gateway) => gateway.close()));
    t.deepEqual(openFolders(), []);
    t.deepEqual(
      folders.filter((folder) => existsSync(folder)),
      [],
    );
    // What is closed ends in the next turns of the event loop.
    for (let i = 0; i < 100 && process.getActiveResourcesInfo().length > handlesBefore; i++)
      await sleep(20);
    t.true(
      process.getActiveResourcesInfo().length <= handlesBefore,
      String(process.getActiveResourcesInfo()),
    );
  },
);

test('a closed gateway refuses every later call', async (t) => {
  const gateway = await createGateway();
  const device = await gateway.addDevice();
  await Promise.all([gateway.close(), gateway.close()]);
  await gateway.close();
  const message = 'the gateway is closed';
  await t.throwsAsync(gateway.inject('GET', '/v0/rules'), { message });
  await t.throwsAsync(gateway.listen(), { message });
  t.throws(() => gateway.host('192.0.2.1'), { message });
  await t.throwsAsync(device.ping('192.0.2.1'), { message });
  await t.throwsAsync(gateway.addDevice(), { message });
});

test('the log can be read, and holds no secret', async (t) => {
  await using gateway: TestGateway = await createGateway();
  await gateway.addDevice();
  t.deepEqual(
    gateway.log.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
  );
  t.true(gateway.log.some(({ message }) => message === 'Postern serves'));
  t.false(JSON.stringify(gateway.log).includes(gateway.token));
});
