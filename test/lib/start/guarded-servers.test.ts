// The private addresses of the servers that a gateway itself needs.

import test from 'ava';
import { GuardedServers } from '../../../lib/start/guarded-servers.ts';

interface Scene {
  readonly servers: GuardedServers;
  readonly names: Map<string, readonly string[]>;
  readonly warned: string[];
  hosts: () => Promise<string[]>;
  readonly shown: () => string[];
  now: number;
}

function open(): Scene {
  const warned: string[] = [];
  const names = new Map<string, readonly string[]>();
  const scene: Scene = {
    names,
    warned,
    now: 0,
    hosts: () => Promise.resolve([...names.keys()]),
    shown: () => servers.addresses.map((bytes) => bytes.join('.')),
    servers: new GuardedServers({
      hosts: () => scene.hosts(),
      lookUp: (host) => {
        const found = names.get(host)!;
        return found.length === 0 ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(found);
      },
      now: () => scene.now,
      log: { warn: (_facts: object, text: string) => void warned.push(text) },
    }),
  };
  const { servers } = scene;
  return scene;
}

test('private addresses alone are guarded, of both families', async (t) => {
  const { servers, names, shown } = open();
  t.deepEqual(shown(), []);
  names.set('db', ['10.1.2.3', '192.0.2.0', '8.8.8.8', '::ffff:172.16.0.9']);
  names.set('sso', ['fd00::9', '2606:4700::1', '10.1.2.3']);
  await servers.look();
  t.deepEqual(
    shown().toSorted(),
    ['10.1.2.3', '172.16.0.9', '192.0.2.0', `253.${'0.'.repeat(14)}9`].toSorted(),
  );
});

test('the list is the same until something changes, and a name that is not found stays', async (t) => {
  const scene = open();
  const { servers, names, shown, warned } = scene;
  names.set('db', ['10.0.0.1']);
  await servers.look();
  const first = servers.addresses;
  await servers.look();
  t.is(servers.addresses, first);
  names.set('db', []);
  await servers.look();
  t.is(servers.addresses, first);
  names.set('db', ['10.0.0.2']);
  await servers.look();
  t.deepEqual(shown(), ['10.0.0.1', '10.0.0.2'], 'a name gives its addresses in turn');
  scene.now += 600_001;
  await servers.look();
  t.deepEqual(shown(), ['10.0.0.2']);
  scene.hosts = () => Promise.reject(new Error('the database is away'));
  for (let look = 0; look < 3; look++) await servers.look();
  t.deepEqual(shown(), ['10.0.0.2']);
  t.is(warned.length, 1, 'it is said once');
  scene.hosts = () => Promise.resolve([]);
  await servers.look();
  t.deepEqual(shown(), []);
});

test('an answer has a limit, and a name that hangs keeps no other from being guarded', async (t) => {
  const scene = open();
  const { servers, names, shown } = scene;
  names.set('db', ['10.9.0.5']);
  names.set(
    'sso',
    Array.from({ length: 100 }, (_, i) => `10.1.0.${i}`),
  );
  await servers.look();
  t.is(shown().length, 1 + 32);
  const hanging = new GuardedServers({
    hosts: () => Promise.resolve(['db', 'hangs']),
    lookUp: (host) =>
      host === 'db' ? Promise.resolve(['10.9.0.5']) : new Promise(() => undefined),
    log: { warn: () => undefined },
  });
  void hanging.look();
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(
    hanging.addresses.map((bytes) => bytes.join('.')),
    ['10.9.0.5'],
  );
});
