// The sockets that face the host, on a network that refuses in every way: what the kernel, routers
// and hosts answer, as facts. Starts no gateway.

import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { NativeHostSockets } from '../../dataplane/io/host-sockets.ts';
import { loadAddon } from '../../dataplane/native/index.ts';
import {
  ORIGIN_ICMP,
  ORIGIN_ICMP6,
  ORIGIN_LOCAL,
  PIECE_ERROR,
  SOCKET_FAILED,
} from '../../dataplane/socket-contract.ts';
import { address, counting } from '../support/dataplane/packets.ts';
import { NFT } from '../support/network/capture.ts';
import { SocketBench } from '../support/network/host-sockets.ts';
import { command, Network } from '../support/network/namespaces.ts';

const {
  EACCES,
  EADDRNOTAVAIL,
  EBADF,
  ECONNREFUSED,
  EHOSTUNREACH,
  EINVAL,
  EMSGSIZE,
  ENETUNREACH,
  EPERM,
} = constants.errno;

/** This machine, a router, and a host behind a link of 1,280 bytes. */
const ROUTER = '10.255.95.1';
const OWN = '10.255.95.2';
const NOBODY = '10.255.95.77';
const FAR = '10.255.96.2';
const ROUTER6 = 'fd95::1';
const OWN6 = 'fd95::2';
const FAR6 = 'fd96::2';
const SMALL_MTU = 1_280;
/** Routes of this machine that refuse. */
const REFUSING = ['unreachable', 'prohibit', 'blackhole'] as const;

let network: Network;

test.before(async () => {
  network = new Network('hs');
  const router = await network.addHost('router');
  const far = await network.addHost('far');
  await network.link(
    { host: null, name: 'r0', addresses: [`${OWN}/24`, `${OWN6}/64`] },
    { host: router, name: 'm0', addresses: [`${ROUTER}/24`, `${ROUTER6}/64`] },
  );
  await network.link(
    { host: router, name: 'f0', addresses: ['10.255.96.1/24', 'fd96::1/64'] },
    { host: far, name: 'r0', addresses: [`${FAR}/24`, `${FAR6}/64`] },
  );
  await router.ip('link', 'set', 'f0', 'mtu', `${SMALL_MTU}`);
  await far.ip('link', 'set', 'r0', 'mtu', `${SMALL_MTU}`);
  await router.run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
  await far.ip('route', 'add', 'default', 'via', '10.255.96.1');
  await far.ip('-6', 'route', 'add', 'default', 'via', 'fd96::1');
  await command('ip', 'route', 'add', '10.255.96.0/24', 'via', ROUTER);
  await command('ip', '-6', 'route', 'add', 'fd96::/64', 'via', ROUTER6);
  for (const [i, type] of REFUSING.entries()) {
    await command('ip', 'route', 'add', type, `198.51.100.${i}/32`);
    await command('ip', '-6', 'route', 'add', type, `2001:db8:5::${i}/128`);
  }
  // The router refuses port 13 as an administrator would.
  for (const [family, answer] of [
    ['ip', 'icmp'],
    ['ip6', 'icmpv6'],
  ] as const) {
    await router.run(NFT, `add table ${family} refusing`);
    await router.run(
      NFT,
      `add chain ${family} refusing forward { type filter hook forward priority 0; }`,
    );
    await router.run(
      NFT,
      `add rule ${family} refusing forward meta l4proto { tcp, udp } th dport 13 ` +
        `reject with ${answer} type admin-prohibited`,
    );
  }
});

test.after.always(async () => {
  for (const [i, type] of REFUSING.entries()) {
    await command('ip', 'route', 'del', type, `198.51.100.${i}/32`);
    await command('ip', '-6', 'route', 'del', type, `2001:db8:5::${i}/128`);
  }
  await network.remove();
});

function open(t: ExecutionContext, interfaceName: string | null = null): SocketBench {
  const { addon } = loadAddon();
  return SocketBench.for(t, (options) => new NativeHostSockets(addon!, options), { interfaceName });
}

// ---- TCP ----

test.serial('a connection fails by the errno of what refused it', async (t) => {
  const bench = open(t);
  t.is(await bench.connect(9, FAR), -ECONNREFUSED);
  t.is(await bench.connect(9, FAR6), -ECONNREFUSED);
  t.is(await bench.connect(13, FAR), -EHOSTUNREACH);
  t.is(await bench.connect(13, FAR6), -EACCES);
  t.is(await bench.connect(9, NOBODY), -EHOSTUNREACH);
  t.is(await bench.connect(9, '203.0.113.9'), -ENETUNREACH);
  t.is(await bench.connect(9, '198.51.100.0'), -EHOSTUNREACH);
  t.is(await bench.connect(9, '198.51.100.1'), -EACCES);
  t.is(await bench.connect(9, '198.51.100.2'), -EINVAL);
});

test.serial('where no port is left, that is a fact of its own', async (t) => {
  const bench = open(t);
  const file = '/proc/sys/net/ipv4/ip_local_port_range';
  t.teardown(() => writeFileSync(file, '32768 60999'));
  writeFileSync(file, '40000 40001');
  // Nobody answers, so ports stay taken.
  const results = [1, 2, 3].map(() => bench.sockets.connectTcp(address(NOBODY), 9));
  t.true(results[0]! > 0 && results[1]! > 0);
  t.is(results[2], -EADDRNOTAVAIL);
});

// ---- UDP ----

for (const [to, origin, type, codes] of [
  [FAR, ORIGIN_ICMP, 3, { refused: 3, prohibited: 13 }],
  [FAR6, ORIGIN_ICMP6, 1, { refused: 4, prohibited: 1 }],
] as const)
  test.serial(`what a router or a host answers has its type and code: ${to}`, async (t) => {
    const bench = open(t);
    const ask = async (port: number): Promise<number[]> => {
      const handle = bench.sockets.connectUdp(address(to), port);
      bench.put(0, counting(10));
      t.is(bench.sockets.send(handle, 1), 1);
      await bench.until(handle, SOCKET_FAILED);
      return bench.error(handle);
    };
    t.deepEqual(await ask(9), [ECONNREFUSED, origin, type, codes.refused, 0]);
    const prohibited = to === FAR ? EHOSTUNREACH : EACCES;
    t.deepEqual(await ask(13), [prohibited, origin, type, codes.prohibited, 0]);
  });

for (const [to, origin, type, headers] of [
  [FAR, ORIGIN_ICMP, 3, 28],
  [FAR6, ORIGIN_ICMP6, 2, 48],
] as const)
  test.serial(`what is too large for the path comes back with its MTU: ${to}`, async (t) => {
    const bench = open(t);
    const { sockets } = bench;
    const handle = sockets.connectUdp(address(to), 9);
    t.is(sockets.pathMtu(handle), 1_500);
    // Larger than the link of this machine: the kernel itself says so.
    bench.put(0, counting(1_501 - headers));
    t.is(sockets.send(handle, 1), 0);
    t.is(bench.word(0, PIECE_ERROR), EMSGSIZE);
    const [error, from, , , mtu] = await bench.error(handle);
    t.deepEqual([error, from, mtu], [EMSGSIZE, ORIGIN_LOCAL, 1_500]);
    t.is(sockets.takeError(handle), 0);
    // Larger than the link behind the router: the router says so.
    bench.put(0, counting(1_400 - headers));
    t.is(sockets.send(handle, 1), 1);
    const code = to === FAR ? 4 : 0;
    t.deepEqual(await bench.error(handle), [EMSGSIZE, origin, type, code, SMALL_MTU]);
    t.is(sockets.pathMtu(handle), SMALL_MTU);
    // A run is refused for nothing that its datagrams are not.
    bench.put(0, counting(10 * (SMALL_MTU - headers)), SMALL_MTU - headers);
    t.is(sockets.send(handle, 1), 1);
    t.is(bench.word(0, PIECE_ERROR), 0);
    // What may be fragmented leaves, and what comes after it still comes back.
    bench.put(0, counting(4_000));
    t.is(sockets.send(handle, 1), 0);
    t.is(sockets.sendFragmented(handle), 1);
    t.is(bench.word(0, PIECE_ERROR), 0);
    t.is(sockets.send(handle, 1), 0);
    t.is(sockets.sendFragmented(handle + 1), -EBADF);
  });

test.serial('a run that the kernel does not take goes one by one', async (t) => {
  const bench = open(t);
  const { sockets } = bench;
  const handle = sockets.connectUdp(address(FAR), 13);
  // The router refuses each of them once.
  bench.put(0, counting(100 * 10), 10);
  t.is(sockets.send(handle, 1), 1);
  t.is(bench.word(0, PIECE_ERROR), 0);
  t.deepEqual((await bench.error(handle)).slice(0, 2), [EHOSTUNREACH, ORIGIN_ICMP]);
});

// ---- echo ----

test.serial('pings go where the kernel allows them, and errors come back', async (t) => {
  const file = '/proc/sys/net/ipv4/ping_group_range';
  t.teardown(() => writeFileSync(file, '1 0'));
  writeFileSync(file, '1 0');
  const bench = open(t);
  t.is(bench.sockets.openEcho(address(FAR)), -EACCES);
  t.is(bench.sockets.openEcho(address(FAR6)), -EACCES);
  writeFileSync(file, '0 0');
  for (const [to, request, reply] of [
    [FAR, 8, 0],
    [FAR6, 128, 129],
  ] as const) {
    const handle = bench.sockets.openEcho(address(to));
    t.true(handle > 0);
    bench.put(0, Uint8Array.of(request, 0, 0, 0, 0, 0, 0, 7, 1, 2, 3));
    t.is(bench.sockets.send(handle, 1), 1);
    const answer = await bench.receive(handle);
    t.is(answer[0], reply);
    t.deepEqual(answer.slice(6), Uint8Array.of(0, 7, 1, 2, 3));
  }
  const dead = bench.sockets.openEcho(address('10.255.96.77'));
  bench.put(0, Uint8Array.of(8, 0, 0, 0, 0, 0, 0, 1));
  t.is(bench.sockets.send(dead, 1), 1);
  t.deepEqual(await bench.error(dead), [EHOSTUNREACH, ORIGIN_ICMP, 3, 1, 0]);
  // Nothing but an echo request leaves by such a socket.
  bench.put(0, Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 1));
  t.is(bench.sockets.send(dead, 1), 0);
  t.is(bench.word(0, PIECE_ERROR), EINVAL);
});

// ---- routes ----

test.serial('the kernel says where a destination is', (t) => {
  const { sockets } = open(t);
  const kindOf = (to: string): string => sockets.routeTo(address(to)).kind;
  const kinds: Record<string, string> = {
    [OWN]: 'local',
    [OWN6]: 'local',
    '10.255.95.255': 'broadcast',
    [FAR]: 'unicast',
    [FAR6]: 'unicast',
    [NOBODY]: 'unicast',
    'ff02::1': 'multicast',
    '203.0.113.9': 'unreachable',
    '2001:db8:6::1': 'unreachable',
    '198.51.100.0': 'unreachable',
    '198.51.100.1': 'prohibit',
    '198.51.100.2': 'blackhole',
    '2001:db8:5::0': 'unreachable',
    '2001:db8:5::1': 'prohibit',
    '2001:db8:5::2': 'blackhole',
  };
  for (const [to, kind] of Object.entries(kinds)) t.is(kindOf(to), kind, to);
  t.deepEqual(sockets.routeTo(address(FAR)).source, address(OWN));
  t.deepEqual(sockets.routeTo(address(FAR6)).source, address(OWN6));
});

test.serial('sockets of one interface use no other, and own addresses stay own', async (t) => {
  await command('ip', 'link', 'add', 'hsother', 'type', 'veth', 'peer', 'name', 'hsnobody');
  t.teardown(() => command('ip', 'link', 'del', 'hsother'));
  await command('ip', 'address', 'add', '10.255.97.1/24', 'dev', 'hsother');
  for (const name of ['hsother', 'hsnobody']) await command('ip', 'link', 'set', name, 'up');
  const bench = open(t, 'hsother');
  t.is(bench.sockets.routeTo(address(OWN)).kind, 'local');
  t.is(bench.sockets.routeTo(address('10.255.97.1')).kind, 'local');
  t.deepEqual(bench.sockets.routeTo(address('10.255.97.5')).source, address('10.255.97.1'));
  t.is(bench.sockets.routeTo(address(FAR6)).kind, 'unreachable');
  const onRouter = open(t, 'hsr0');
  t.is(await onRouter.connect(9, FAR), -ECONNREFUSED);
  t.is(await onRouter.connect(9, '10.255.97.5'), -EHOSTUNREACH);
});

test.serial('what the filter of this host drops is a fact', async (t) => {
  await command(NFT, 'add table ip own');
  t.teardown(() => command(NFT, 'delete table ip own'));
  await command(NFT, 'add chain ip own out { type filter hook output priority 0; }');
  await command(NFT, 'add rule ip own out udp dport 14 drop');
  const bench = open(t);
  const handle = bench.sockets.connectUdp(address(FAR), 14);
  bench.put(0, counting(10));
  t.is(bench.sockets.send(handle, 1), 0);
  t.is(bench.word(0, PIECE_ERROR), EPERM);
});
