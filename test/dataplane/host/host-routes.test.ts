// The host's routes to networks behind devices: what is added and removed, and what is said where the
// kernel refuses. With real routes it is tried by test/e2e/branches.test.ts.

import test from 'ava';
import { HostRoutes } from '../../../dataplane/host/host-routes.ts';
import type { NetworkRange } from '../../../dataplane/wire/network.ts';

const A = range(10, 1);
const B = range(10, 2);
const C = range(10, 3);
const SIX: NetworkRange = { network: new Uint8Array(16), prefixBits: 64 };

function range(...bytes: number[]): NetworkRange {
  const network = new Uint8Array(4);
  network.set(bytes);
  return { network, prefixBits: 16 };
}

/**
 * Routes of a kernel that has what was added, and refuses with a code, by the second byte of a
 * network.
 */
function open(
  refused: Readonly<Record<number, string>> = {},
  egress: { hasVanished: boolean; error?: string | null; isSettled?: boolean } = {
    hasVanished: false,
  },
) {
  const done: string[] = [];
  const said: string[] = [];
  const masqueraded: string[][] = [];
  const kernel = new Set<string>();
  const lost = { addresses: false, isSettled: true, absent: false };
  const asked = { count: 0 };
  const changeRoute = (name: string, network: Uint8Array, bits: number, isAdded: boolean): void => {
    const text = `${network.join('.')}/${bits} ${name}`;
    asked.count++;
    const code = refused[network[1]!] ?? (isAdded && kernel.has(text) ? 'EEXIST' : undefined);
    if (code !== undefined) throw Object.assign(new Error(`adding a route: ${code}`), { code });
    if (isAdded) kernel.add(text);
    else kernel.delete(text);
    done.push(`${isAdded ? '+' : '-'}${text}`);
  };
  const options = {
    interfaceName: 'wg-test',
    ipv4: null,
    ipv6: null,
    addon: { changeRoute, addAddress: () => undefined, isLinkUp: () => true },
    egress: {
      isMasqueraded: true,
      get isSettled() {
        return egress.isSettled ?? true;
      },
      masqueradeRoutes: (ranges: readonly NetworkRange[]) => {
        masqueraded.push(ranges.map(({ network }) => network.join('.')));
        return egress.error ?? null;
      },
      restore() {
        const { hasVanished } = egress;
        egress.hasVanished = false;
        return hasVanished;
      },
    },
    log: (_level: string, text: string) => said.push(text),
  };
  const restore = (): boolean => {
    const { addresses } = lost;
    lost.addresses = false;
    return addresses;
  };
  const error = 'wg-test has lost 10.0.0.1: EACCES';
  const routes = new HostRoutes(options, {
    restore,
    error,
    get isSettled() {
      return lost.isSettled;
    },
    addAbsent: () => lost.absent,
  });
  return { routes, done, said, masqueraded, kernel, lost, asked };
}

test('what is new is added, what is gone is removed, what stays is left alone', async (t) => {
  const { routes, done, said, masqueraded } = open();
  routes.set([A, B]);
  routes.set([B, C]);
  routes.set([]);
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

test('only routes that are there lead to an address', (t) => {
  const { routes } = open({ 2: 'EEXIST' });
  routes.set([A, B]);
  t.true(routes.has(Uint8Array.of(10, 1, 200, 9)));
  t.false(routes.has(Uint8Array.of(10, 2, 200, 9)), 'another interface leads there');
  t.false(routes.has(Uint8Array.of(10, 9, 0, 1)));
  routes.set([]);
  t.false(routes.has(Uint8Array.of(10, 1, 200, 9)));
});

test('a network that the kernel refuses is a warning, is tried again, and holds up no other', async (t) => {
  const refused: Record<number, string> = { 1: 'EEXIST', 2: 'EPERM' };
  const { routes, done, said, masqueraded } = open(refused);
  routes.set([A, B, C]);
  t.deepEqual(said, [
    'the network 10.1.0.0/16 behind a device is not reached from the host: the host has another route to it',
    'the network 10.2.0.0/16 behind a device is not reached from the host: adding a route: EPERM',
  ]);
  t.deepEqual(masqueraded, [['10.3.0.0']]);
  delete refused[1];
  routes.set([A, C]);
  t.deepEqual(done, ['+10.3.0.0/16 wg-test', '+10.1.0.0/16 wg-test']);
});

test('a refused route is tried again until the kernel takes it, and each error is logged once', async (t) => {
  const refused: Record<number, string> = { 1: 'EEXIST' };
  const { routes, done, said, masqueraded } = open(refused);
  routes.set([A, B]);
  routes.look([]);
  t.is(said.length, 1);
  t.is(masqueraded.length, 1, 'nothing came to it');
  refused[1] = 'EPERM';
  routes.look([]);
  t.is(said.length, 2);
  delete refused[1];
  routes.look([]);
  t.deepEqual(done, ['+10.2.0.0/16 wg-test', '+10.1.0.0/16 wg-test']);
  t.deepEqual(masqueraded[1], ['10.2.0.0', '10.1.0.0']);
  t.is(said[2], 'the network 10.1.0.0/16 behind a device is reached from the host now');
});

test('a refused route that nobody wants any more is not tried again', async (t) => {
  const refused: Record<number, string> = { 1: 'EEXIST' };
  const { routes, done } = open(refused);
  routes.set([A, B]);
  routes.set([B]);
  delete refused[1];
  routes.look([]);
  t.deepEqual(done, ['+10.2.0.0/16 wg-test']);
});

test('after the nft table has vanished, its networks are masqueraded again', async (t) => {
  const egress = { hasVanished: false };
  const { routes, masqueraded } = open({}, egress);
  routes.set([A, B]);
  routes.look([]);
  t.is(masqueraded.length, 1, 'the table is there');
  egress.hasVanished = true;
  routes.look([]);
  routes.look([]);
  t.deepEqual(masqueraded, [
    ['10.1.0.0', '10.2.0.0'],
    ['10.1.0.0', '10.2.0.0'],
  ]);
});

test('networks that nft did not take are masqueraded at the next look', async (t) => {
  const egress = { hasVanished: false, error: null as string | null };
  const { routes, masqueraded, said } = open({}, egress);
  egress.error = 'spawn EAGAIN';
  routes.set([A]);
  routes.look([]);
  t.deepEqual(said, ['networks behind devices are not masqueraded: spawn EAGAIN']);
  egress.error = null;
  routes.look([]);
  routes.look([]);
  t.deepEqual(masqueraded, [['10.1.0.0'], ['10.1.0.0'], ['10.1.0.0']]);
  t.is(said[1], 'networks behind devices are masqueraded now');
});

test('routes that an interface lost are made again when it is up, of both families, and it is said once', async (t) => {
  const refused: Record<number, string> = {};
  const { routes, done, said, kernel, lost } = open(refused);
  routes.set([A, B, SIX]);
  const all = [...kernel];
  kernel.clear();
  Object.assign(refused, { 0: 'ENETDOWN', 1: 'ENETDOWN', 2: 'ENETDOWN' });
  routes.look([]);
  t.is(done.length, 3, 'it is down');
  for (const byte of [0, 1, 2]) delete refused[byte];
  lost.addresses = true;
  routes.look([]);
  routes.look([]);
  t.deepEqual([...kernel], all);
  t.deepEqual(said, [
    'wg-test had lost its addresses and routes, and has them again; ip link set down and ip addr flush remove them',
  ]);
});

test('what is lost alone is named alone', async (t) => {
  const { routes, said, kernel, lost } = open();
  routes.set([A, SIX]);
  lost.addresses = true;
  routes.look([]);
  kernel.delete([...kernel][1]!);
  routes.look([]);
  t.regex(said[0]!, /lost its addresses, and/);
  t.regex(said[1]!, /lost its routes, and/);
  t.is(said.length, 2);
});

test('of lost routes, one that is there is left alone and one that is refused is tried again', async (t) => {
  const refused: Record<number, string> = {};
  const { routes, said, kernel } = open(refused);
  routes.set([A, B, C]);
  const all = [...kernel];
  kernel.delete(all[0]!);
  kernel.delete(all[2]!);
  refused[3] = 'EPERM';
  routes.look([]);
  t.is(said.length, 2);
  t.is(
    said[1],
    'the network 10.3.0.0/16 behind a device is not reached from the host: adding a route: EPERM',
  );
  delete refused[3];
  routes.look([]);
  t.deepEqual([...kernel].sort(), all);
});

test('a single route that somebody has deleted is made again, and is named', async (t) => {
  const { routes, said, kernel, masqueraded } = open();
  routes.set([A, B, C, SIX]);
  const all = [...kernel];
  kernel.delete(all[1]!);
  routes.look([]);
  t.deepEqual([...kernel].sort(), all.toSorted());
  t.deepEqual(said, [
    'wg-test had lost the route to 10.2.0.0/16, and has it again; somebody has deleted it',
  ]);
  routes.look([]);
  t.is(said.length, 1);
  t.is(masqueraded.length, 1, 'it was masqueraded all the time');
});

test('of many routes a look asks for some, in turn; a deleted one comes back in time', async (t) => {
  const { routes, asked, said, kernel } = open();
  const many = Array.from({ length: 100 }, (_, i) => range(10, i + 1));
  routes.set(many);
  const [, ...others] = kernel;
  for (const one of others) {
    kernel.delete(one);
    const before = asked.count;
    for (let looks = 0; looks < 7; looks++) routes.look([]);
    t.true(asked.count - before <= 7 * 17 + 1);
    t.true(kernel.has(one), one);
  }
  t.is(said.length, others.length);
  routes.set(many.slice(0, 3));
  kernel.delete([...kernel][2]!);
  routes.look([]);
  t.is(kernel.size, 3, 'fewer routes are asked from the first one on');
});

test('after news it is settled when all routes were asked for', (t) => {
  const refused: Record<number, string> = {};
  const { routes } = open(refused);
  routes.set(Array.from({ length: 40 }, (_, i) => range(10, i + 1)));
  routes.look([]);
  t.false(routes.isSettled);
  routes.look([], false);
  t.false(routes.isSettled);
  routes.look([], false);
  t.true(routes.isSettled);
  routes.look([], true);
  t.false(routes.isSettled, 'any of them may have been deleted');
  refused[20] = 'EMFILE';
  for (let looks = 0; looks < 4; looks++) routes.look([], false);
  t.false(routes.isSettled, 'of one it is not known');
  delete refused[20];
  for (let looks = 0; looks < 6; looks++) routes.look([], false);
  t.true(routes.isSettled);
});

test('what is refused, lost or not masqueraded is looked for again', (t) => {
  const refused: Record<number, string> = { 1: 'EEXIST' };
  const egress = { hasVanished: false, error: null as string | null, isSettled: true };
  const { routes, lost } = open(refused, egress);
  t.true(routes.isSettled);
  routes.set([A]);
  t.false(routes.isSettled, 'the host has another route to it');
  delete refused[1];
  routes.look([]);
  t.true(routes.isSettled);
  lost.isSettled = false;
  t.false(routes.isSettled);
  lost.isSettled = true;
  egress.isSettled = false;
  t.false(routes.isSettled);
  egress.isSettled = true;
  egress.error = 'EPERM';
  routes.set([A, B]);
  t.false(routes.isSettled);
});

test('an address that comes without news is said to be there', (t) => {
  const { routes, lost, said, asked } = open();
  routes.set([A]);
  asked.count = 0;
  routes.lookBriefly();
  t.deepEqual(said, []);
  lost.absent = true;
  routes.lookBriefly();
  t.regex(said.join(), /^wg-test had lost its addresses, and has them again/);
  t.is(asked.count, 0, 'no route was asked for');
});

test('a deleted route that the kernel refuses is asked for until it takes it', async (t) => {
  const refused: Record<number, string> = {};
  const { routes, said, kernel } = open(refused);
  routes.set([A, B, C]);
  kernel.delete([...kernel][1]!);
  refused[2] = 'ENOBUFS';
  routes.look([]);
  t.is(kernel.size, 2);
  delete refused[2];
  routes.look([]);
  t.is(kernel.size, 3);
  t.is(said.length, 1);
});

test('a route that has vanished is no error; after a new interface all are made again', async (t) => {
  const refused: Record<number, string> = {};
  const { routes, done, said, kernel } = open(refused);
  routes.set([A, B]);
  kernel.clear();
  routes.renew();
  t.deepEqual(done.slice(2), ['+10.1.0.0/16 wg-test', '+10.2.0.0/16 wg-test']);
  refused[1] = 'ESRCH';
  routes.set([B]);
  t.deepEqual(said, []);
});

test('it says which address the kernel refuses', (t) => {
  t.is(open().routes.addressError, 'wg-test has lost 10.0.0.1: EACCES');
});
