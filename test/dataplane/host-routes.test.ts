// The host's routes to networks behind devices: what is added and removed, and what is said where the
// kernel refuses. With real routes it is tried by test/e2e/branches.test.ts.

import test from 'ava';
import { HostRoutes } from '../../dataplane/host-routes.ts';
import type { NetworkRange } from '../../dataplane/wire/network.ts';

const A = range(10, 1);
const B = range(10, 2);
const C = range(10, 3);

function range(...bytes: number[]): NetworkRange {
  const network = new Uint8Array(4);
  network.set(bytes);
  return { network, prefixBits: 16 };
}

/** Routes of a kernel that refuses with a code, by the second byte of a network. */
function open(refused: Readonly<Record<number, string>> = {}, egress = { hasVanished: false }) {
  const done: string[] = [];
  const said: string[] = [];
  const masqueraded: string[][] = [];
  const routes = new HostRoutes({
    interfaceName: 'wg-test',
    addon: {
      changeRoute(name, network, prefixBits, isAdded) {
        const code = refused[network[1]!];
        if (code !== undefined) throw Object.assign(new Error(`adding a route: ${code}`), { code });
        done.push(`${isAdded ? '+' : '-'}${network.join('.')}/${prefixBits} ${name}`);
      },
    },
    egress: {
      masqueradeRoutes: async (ranges) => {
        masqueraded.push(ranges.map(({ network }) => network.join('.')));
        return null;
      },
      get hasVanished() {
        return egress.hasVanished;
      },
      async restore() {
        const { hasVanished } = egress;
        egress.hasVanished = false;
        return hasVanished;
      },
    },
    log: (_level, text) => said.push(text),
  });
  return { routes, done, said, masqueraded };
}

test('what is new is added, what is gone is removed, what stays is left alone', async (t) => {
  const { routes, done, said, masqueraded } = open();
  await routes.set([A, B]);
  await routes.set([B, C]);
  await routes.set([]);
  t.deepEqual(done, [
    '+10.1.0.0/16 wg-test',
    '+10.2.0.0/16 wg-test',
    '-10.1.0.0/16 wg-test',
    '+10.3.0.0/16 wg-test',
    '-10.2.0.0/16 wg-test',
    '-10.3.0.0/16 wg-test',
  ]);
  t.deepEqual(masqueraded, [['10.1.0.0', '10.2.0.0'], ['10.2.0.0', '10.3.0.0'], []]);
  t.deepEqual(said, []);
});

test('a network that the kernel refuses is a warning, is tried again, and holds up no other', async (t) => {
  const refused: Record<number, string> = { 1: 'EEXIST', 2: 'EPERM' };
  const { routes, done, said, masqueraded } = open(refused);
  await routes.set([A, B, C]);
  t.deepEqual(said, [
    'the network 10.1.0.0/16 behind a device is not reached from the host: the host has another route to it',
    'the network 10.2.0.0/16 behind a device is not reached from the host: adding a route: EPERM',
  ]);
  t.deepEqual(masqueraded, [['10.3.0.0']]);
  delete refused[1];
  await routes.set([A, C]);
  t.deepEqual(done, ['+10.3.0.0/16 wg-test', '+10.1.0.0/16 wg-test']);
});

test('a refused route is tried again until the kernel takes it, and each fault is logged once', async (t) => {
  const refused: Record<number, string> = { 1: 'EEXIST' };
  const { routes, done, said, masqueraded } = open(refused);
  await routes.set([A, B]);
  t.true(routes.isIncomplete);
  await routes.retry();
  t.is(said.length, 1);
  t.is(masqueraded.length, 1, 'nothing came to it');
  refused[1] = 'EPERM';
  await routes.retry();
  t.is(said.length, 2);
  delete refused[1];
  await routes.retry();
  t.false(routes.isIncomplete);
  t.deepEqual(done, ['+10.2.0.0/16 wg-test', '+10.1.0.0/16 wg-test']);
  t.deepEqual(masqueraded[1], ['10.2.0.0', '10.1.0.0']);
  t.is(said[2], 'the network 10.1.0.0/16 behind a device is reached from the host now');
  refused[1] = 'EEXIST';
  await routes.renew();
  await routes.set([B]);
  t.false(routes.isIncomplete, 'nobody wants it any more');
});

test('after the nft table has vanished, its networks are masqueraded again', async (t) => {
  const egress = { hasVanished: false };
  const { routes, masqueraded } = open({}, egress);
  await routes.set([A, B]);
  t.false(routes.isIncomplete);
  await routes.retry();
  t.is(masqueraded.length, 1, 'the table is there');
  egress.hasVanished = true;
  t.true(routes.isIncomplete);
  await routes.retry();
  t.false(routes.isIncomplete);
  t.deepEqual(masqueraded, [
    ['10.1.0.0', '10.2.0.0'],
    ['10.1.0.0', '10.2.0.0'],
  ]);
});

test('a route that has vanished is no fault; after a new interface all are made again', async (t) => {
  const refused: Record<number, string> = {};
  const { routes, done, said } = open(refused);
  await routes.set([A, B]);
  await routes.renew();
  t.deepEqual(done.slice(2), ['+10.1.0.0/16 wg-test', '+10.2.0.0/16 wg-test']);
  refused[1] = 'ESRCH';
  await routes.set([B]);
  t.deepEqual(said, []);
});
