// A person who is signed in to the portal wants to see what another one's device does. Every address
// of console and portal is tried with that device and its owner, by page and by form: names, keys,
// addresses, flows and refused packets of the other one never appear. Two people who send to each
// other's devices see what they sent themselves, and no more.

import test from 'ava';
import { createGateway } from '../../lib/testing/index.ts';
import { routesOf } from '../support/api/server.ts';
import { addDevice } from '../support/database/records.ts';
import {
  fakeDiagnosing,
  fakeLive,
  fakeObserved,
  flowOf,
  refusalOf,
  silentTrace,
} from '../support/observe/fake-gateway.ts';
import { atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';
import { openConsole } from '../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const BOSS = 'boss@example.com';
const NAME = 'notebook-of-the-boss';
const TUNNEL = { ipv4: '100.64.77.77', ipv6: 'fd00::7777' };
const SEEN_FROM = '203.0.113.77';
const SERVER = '10.77.77.77';

test('no page shows another one’s device, and no form touches it', async (t) => {
  t.timeout(120_000);
  const keys = new Map<string, string>();
  const scene = await openConsole(
    t,
    'sqlite',
    { API_RATE_LIMIT: '0' },
    {
      observed: fakeObserved(),
      live: fakeLive(GATEWAY, {
        // Whatever is asked: all that is there.
        flows: async () => ({ flows: [flowOf('boss', { destination: SERVER })], next: null }),
        refusals: async () => [
          refusalOf('boss', { source: TUNNEL.ipv4, destination: SERVER }),
          refusalOf('own', { isSent: false, source: TUNNEL.ipv4, port: 7_777 }),
        ],
        deviceIdOf: (key) => keys.get(key) ?? null,
        publicKeyOf: (id) => [...keys].find(([, own]) => own === id)?.[0] ?? null,
      }),
      diagnosing: fakeDiagnosing(GATEWAY, {
        diagnose: async () => ({ ...silentTrace, endpoint: { address: SEEN_FROM, port: 4_000 } }),
      }),
    },
  );
  const { database, server, user, adminUser, plainUser } = scene;
  const boss = await addDevice(database, adminUser.id, { name: NAME, ...TUNNEL });
  const own = await addDevice(database, plainUser.id, { name: 'own' });
  keys.set('boss', boss.id).set('own', own.id);
  const hidden = [
    NAME,
    boss.public_key,
    TUNNEL.ipv4,
    TUNNEL.ipv6,
    SERVER,
    SEEN_FROM,
    BOSS,
    'TCP 7777',
  ];
  const devices = JSON.stringify(await database.models.Device.findAll({ raw: true }));
  const queries = ['', `?user_id=${adminUser.id}&device_id=${boss.id}&device=${NAME}&user=${BOSS}`];
  let shown = 0;
  for (const { method, path } of await routesOf(server)) {
    if (path.startsWith('/v0') || path.startsWith('/static') || path.includes('sign_out')) continue;
    // A stream of one's own devices does not end; test/lib/web/parts/live-routes.test.ts reads it.
    if (path === '/user_devices/live') continue;
    for (const id of [boss.id, adminUser.id]) {
      const at = path.replaceAll(/\{[^}]+\}/g, id);
      for (const query of queries) {
        const answer =
          method === 'get' ? await user.get(at + query) : await user.post(at + query, { id });
        t.true(answer.status < 500, `${method} ${at}: ${answer.status}`);
        for (const text of hidden)
          t.false(answer.text.includes(text), `${method} ${at}${query} shows ${text}`);
        shown += answer.status === 200 ? 1 : 0;
      }
    }
  }
  t.true(shown > 60, `${shown} pages were shown`);
  t.is(JSON.stringify(await database.models.Device.findAll({ raw: true })), devices);
  // What is one's own is shown, so the pages were real.
  await user.get('/');
  t.true((await user.get(`/user_devices/${own.id}`)).text.includes('own'));
});

test('of two people who send to each other, each sees what they sent', async (t) => {
  const gateway = await createGateway({ settings: { DEFAULT_ACTION: 'drop' } });
  t.teardown(() => gateway.close());
  const { api } = gateway;
  const url = await gateway.listen();
  const enrol = async (name: string) => {
    const email = `${name}@example.com`;
    const user = { email, password: PASSWORD, password_confirmation: PASSWORD };
    const { id } = await api.post<{ id: string }>('/v0/users', { user });
    const device = await gateway.addDevice({ user_id: id, name: `phone-of-${name}` });
    const portal = new Visitor(atGateway(url));
    t.is((await portal.signIn(email)).status, 303);
    return { email, id, device, portal };
  };
  const [alice, bob] = [await enrol('alice'), await enrol('bob')];
  await t.throwsAsync(bob.device.ping('10.77.77.77'));
  await t.throwsAsync(bob.device.ping(alice.device.ipv4));
  await t.throwsAsync(alice.device.ping('10.11.11.11'));
  const [seenByAlice, seenByBob] = await Promise.all(
    [alice, bob].map(async ({ portal, device }) => {
      const paths = ['/user_refusals', '/user_devices', `/user_devices/${device.id}`];
      const pages = await Promise.all(paths.map((path) => portal.get(path)));
      for (const { status } of pages) t.is(status, 200);
      return pages.map(({ text }) => text).join('\n');
    }),
  );
  t.true(seenByBob!.includes('10.77.77.77'));
  t.true(seenByAlice!.includes('10.11.11.11'));
  for (const text of [
    '10.77.77.77',
    bob.email,
    bob.device.name,
    bob.device.id,
    bob.device.publicKey,
    bob.device.ipv4,
    bob.device.ipv6,
  ])
    t.false(seenByAlice!.includes(text), text);
  t.false(seenByBob!.includes('10.11.11.11'));
});
