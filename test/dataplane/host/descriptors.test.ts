// What the operating system gives, and what it does not: a family that is missing, a port that is
// half taken. That whole gateways open and close theirs is shown by gateway.test.ts.

import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import {
  closeDescriptors,
  closeFormerTuns,
  type Descriptors,
  type GatewayOptions,
  openDescriptors,
  openUdpSockets,
  reopenTun,
  socketsOf,
} from '../../../dataplane/host/descriptors.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { addon } from '../../support/dataplane/native.ts';
import { counting } from '../../support/dataplane/packets.ts';

/** SIGPIPE is signal 13. */
const SIGPIPE_BIT = 1 << 12;

/** The signals that this process ignores, in hexadecimal. */
function ignoredSignals(): string {
  return /^SigIgn:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!;
}

function open(
  t: ExecutionContext,
  listenPort: number,
  { log = [], ...rest }: Partial<Omit<GatewayOptions, 'log'>> & { log?: string[] } = {},
): Descriptors {
  const options: GatewayOptions = {
    privateKey: counting(32, 11),
    timestampFloorMs: 0,
    listenPort,
    interfaceName: 'postern-test',
    mtu: 1_420,
    tun: 'off',
    ipv4: null,
    ipv6: null,
    masqueradeIpv4: false,
    masqueradeIpv6: false,
    egressInterface: null,
    forwarding: 'off',
    uapi: 'off',
    engine: 'native',
    workers: 1,
    defaultAction: 'accept',
    allowsMetadata: false,
    log: (level, message) => log.push(`${level} ${message}`),
    ...rest,
  };
  const descriptors = openDescriptors(options);
  t.teardown(() => closeDescriptors(descriptors));
  return descriptors;
}

test('a gateway with sockets has no TUN, and each worker its share of the sockets', (t) => {
  for (const [tun, way] of [
    ['sockets', 'sockets'],
    ['off', 'none'],
  ] as const) {
    const descriptors = open(t, 0, { tun, engine: 'typescript' });
    t.is(descriptors.way, way);
    t.is(descriptors.queues[0]!.tun, -1);
  }
  const one = socketsOf(
    { egressInterface: 'eth1' },
    open(t, 0, { tun: 'sockets', engine: 'auto' }),
  );
  t.is(one?.interfaceName, 'eth1');
  t.true(one !== null && one.capacity > 0 && one.ports! > 0);
  t.is(socketsOf({ egressInterface: null }, open(t, 0, { engine: 'typescript' })), null);
  const system = open(t, 0, { engine: 'auto' });
  const doors = socketsOf({ egressInterface: 'eth1' }, { ...system, engine: 'native' });
  t.like(doors, { isForDoors: true, interfaceName: null }, 'for the own address alone');
  t.true(doors!.capacity <= 1_024);
  const beside = socketsOf(
    { egressInterface: 'eth1' },
    { ...system, engine: 'native', way: 'tun' },
  );
  t.deepEqual(beside, doors, 'beside a TUN, too');
  const twin = { ...system, engine: 'typescript', way: 'tun' } as const;
  t.is(socketsOf({ egressInterface: null }, twin), null);
});

/** A host whose IPv6 sockets fail so often; tells which ports IPv4 was given, and what is closed. */
function withoutIpv6(
  t: ExecutionContext,
  native: Addon,
  code: string,
  times: number,
): { ports: number[]; closed: number[] } {
  const real = { ...native };
  t.teardown(() => Object.assign(native, real));
  const ports: number[] = [];
  const closed: number[] = [];
  let left = times;
  native.openUdp = (isIpv6, port, isShared) => {
    if (isIpv6 && left-- > 0) throw Object.assign(new Error(code), { code });
    const fd = real.openUdp(isIpv6, port, isShared);
    if (!isIpv6) ports.push(native.boundPort(fd));
    return fd;
  };
  native.closeFd = (fd) => {
    closed.push(fd);
    real.closeFd(fd);
  };
  return { ports, closed };
}

/** The addon is one for all tests of this file, so they run one after the other. */
function descriptorsTest(
  title: string,
  body: (t: ExecutionContext, native: Addon) => void | Promise<void>,
): void {
  test.serial(title, async (t) => {
    if (addon !== null) return body(t, addon);
    t.log('the addon was not built');
    t.not(process.env['CI'], 'true');
  });
}

// docs/bugs-of-others.md#bug-13: hosts without IPv6.
descriptorsTest('a host without IPv6 gets one socket', (t, native) => {
  const { ports } = withoutIpv6(t, native, 'EAFNOSUPPORT', Infinity);
  const descriptors = open(t, 0);
  t.true(descriptors.queues[0]!.udp4 >= 0);
  t.is(descriptors.queues[0]!.udp6, -1);
  t.deepEqual(ports, [descriptors.listenPort]);
});

// docs/bugs-of-others.md#bug-13: a random port that IPv6 has taken.
descriptorsTest('a free port that IPv6 has taken is given back, and another tried', (t, native) => {
  const { ports, closed } = withoutIpv6(t, native, 'EADDRINUSE', 2);
  const descriptors = open(t, 0);
  t.is(ports.length, 3);
  t.is(descriptors.listenPort, ports[2]!);
  t.is(native.boundPort(descriptors.queues[0]!.udp6), descriptors.listenPort);
  t.is(closed.length, 2);
});

descriptorsTest('several workers get a socket of each family and an eventfd each', (t, native) => {
  const { queues, lock, listenPort } = open(t, 0, { workers: 3 });
  t.is(queues.length, 3);
  const all = queues.flatMap(({ udp4, udp6, wake }) => [udp4, udp6, wake]);
  t.is(new Set([...all, lock]).size, 10);
  t.true([...all, lock].every((fd) => fd >= 0));
  for (const { udp4, udp6, tun } of queues) {
    t.is(native.boundPort(udp4), listenPort);
    t.is(native.boundPort(udp6), listenPort);
    t.is(tun, -1);
  }
});

descriptorsTest(
  'sockets that are open already are taken, for as many workers as there are',
  (t) => {
    const free = open(t, 0);
    closeDescriptors(free);
    const { listenPort } = free;
    for (const workers of [1, 3]) {
      const udpSockets = openUdpSockets({ engine: 'native', listenPort, workers });
      t.is(udpSockets.length, 2 * workers);
      const taken = open(t, 0, { workers, udpSockets });
      t.is(taken.listenPort, listenPort);
      t.deepEqual(
        taken.queues.flatMap(({ udp4, udp6 }) => [udp4, udp6]),
        udpSockets,
      );
      closeDescriptors(taken);
    }
    t.deepEqual(openUdpSockets({ engine: 'typescript', listenPort, workers: 1 }), []);
  },
);

descriptorsTest('this process still survives a write to a closed connection', (t) => {
  const before = ignoredSignals();
  const udpSockets = openUdpSockets({ engine: 'native', listenPort: 0, workers: 1 });
  closeDescriptors(open(t, 0, { udpSockets }));
  t.is(ignoredSignals(), before);
  t.true((Number.parseInt(before, 16) & SIGPIPE_BIT) !== 0);
});

descriptorsTest('sockets of workers that there are not are closed', (t, native) => {
  const { closed } = withoutIpv6(t, native, '', 0);
  const udpSockets = openUdpSockets({ engine: 'native', listenPort: 0, workers: 1 });
  const more = openUdpSockets({ engine: 'native', listenPort: 0, workers: 1 });
  const { queues } = open(t, 0, { udpSockets: [...udpSockets, ...more] });
  t.deepEqual([queues[0]!.udp4, queues[0]!.udp6], udpSockets);
  t.deepEqual(closed, more);
  t.throws(() => open(t, 0, { workers: 3, udpSockets }), {
    message: '2 UDP sockets are open for 3 workers',
  });
});

descriptorsTest('two gateways do not share a port, however many workers they have', (t) => {
  for (const [one, other] of [
    [3, 3],
    [3, 1],
    [1, 3],
  ] as const) {
    const { listenPort } = open(t, 0, { workers: one });
    t.throws(
      () => open(t, listenPort, { workers: other }),
      { message: /is taken/ },
      `${one} and ${other}`,
    );
  }
});

for (const [what, refuse] of [
  ['sockets that share a port', (native: Addon) => (native.openUdp = refusal(native))],
  ['a choice among sockets', (native: Addon) => (native.steerUdp = fails)],
] as const)
  descriptorsTest(`a kernel without ${what} gets one worker, and the log says why`, (t, native) => {
    const real = { ...native };
    t.teardown(() => Object.assign(native, real));
    refuse(native);
    const log: string[] = [];
    const { queues, lock } = open(t, 0, { workers: 3, log });
    t.is(queues.length, 1);
    t.is(lock, -1);
    t.deepEqual(log, ['warn there is one worker instead of 3: not on this kernel']);
  });

function fails(): never {
  throw Object.assign(new Error('not on this kernel'), { code: 'ESYSTEM' });
}

/** A function that fails where a socket is to be shared. */
function refusal({ openUdp }: Pick<Addon, 'openUdp'>): Addon['openUdp'] {
  return (isIpv6, port, isShared) => (isShared === true ? fails() : openUdp(isIpv6, port));
}

descriptorsTest('a port that was asked for is not exchanged for another', (t, native) => {
  const free = native.openUdp(false, 0);
  const port = native.boundPort(free);
  native.closeFd(free);
  const { ports, closed } = withoutIpv6(t, native, 'EADDRINUSE', 1);
  t.throws(() => open(t, port), { message: /is taken/ });
  t.deepEqual(ports, [port]);
  t.is(closed.length, 1);
});

descriptorsTest('where no port is free for both families, that is said in the end', (t, native) => {
  const { ports, closed } = withoutIpv6(t, native, 'EADDRINUSE', Infinity);
  t.throws(() => open(t, 0), { message: /is taken/ });
  t.true(ports.length > 2 && ports.length < 100);
  t.is(closed.length, ports.length);
});

test('queues of a vanished interface stay open until the worker that has them ended', (t) => {
  const closed: number[] = [];
  const tuns = [30, 40, 31, 41];
  const fake = {
    openTun: () => ({ fd: tuns.shift() ?? -1, takesUdp: false }),
    setLink: () => undefined,
    closeFd: (fd: number) => void closed.push(fd),
  } as unknown as Addon;
  const options = { interfaceName: 'wg', mtu: 1_420, ipv4: null, ipv6: null } as GatewayOptions;
  const queues = [20, 21].map((tun) => ({ udp4: -1, udp6: -1, wake: -1, tun }));
  const first: Descriptors = {
    addon: fake,
    engine: 'native',
    queues,
    lock: -1,
    way: 'tun',
    tunTakesUdp: false,
    listenPort: 1,
    files: { max: null, connections: 1, sockets: 1, relayed: 0 },
  };
  const second = closeFormerTuns(reopenTun(options, first), 1);
  t.deepEqual(closed, [21]);
  // It vanishes again before the first worker has ended.
  const third = reopenTun(options, second);
  t.deepEqual(closed, [21]);
  const fourth = closeFormerTuns(third, 0);
  t.deepEqual(closed.splice(0), [21, 20, 30]);
  t.deepEqual(closeFormerTuns(fourth, 0), fourth);
  closeDescriptors(fourth);
  t.deepEqual(closed, [31, 41, 40]);
});

/** A host that answers so when a TUN is to be made. */
function withoutTun(t: ExecutionContext, native: Addon, code: string): void {
  const real = { ...native };
  t.teardown(() => Object.assign(native, real));
  native.openTun = () => {
    throw Object.assign(new Error(code), { code });
  };
}

descriptorsTest('where a host gives no TUN, auto takes sockets, and says why', (t, native) => {
  for (const [code, reason] of [
    ['ENOENT', /^no TUN interface postern-test: \/dev\/net\/tun is missing; run/],
    ['EACCES', /may not be opened by this user/],
    ['EPERM', /no right to make one/],
  ] as const) {
    withoutTun(t, native, code);
    const log: string[] = [];
    const { way, wayReason = '', queues } = open(t, 0, { tun: 'auto', log });
    t.is(way, 'sockets', code);
    t.regex(wayReason, reason);
    t.is(queues[0]!.tun, -1);
    t.deepEqual(log, [`info ${wayReason}. Packets of devices leave by sockets of the gateway`]);
    t.throws(() => open(t, 0, { tun: 'required' }), { message: /^WIREGUARD_TUN=required, but no/ });
    t.is(open(t, 0, { tun: 'off' }).way, 'none');
  }
});

descriptorsTest(
  'a TUN that is in use, or fails otherwise, is no reason for sockets',
  (t, native) => {
    for (const code of ['EBUSY', 'ENODEV', 'EMFILE']) {
      withoutTun(t, native, code);
      const log: string[] = [];
      const { way, wayReason } = open(t, 0, { tun: 'auto', log });
      t.is(way, 'none', code);
      t.deepEqual(log, [
        `warn ${wayReason}. Devices reach each other and the gateway's address, but no network beyond`,
      ]);
    }
  },
);

descriptorsTest('what bars auto from sockets is said where they would be taken', (t, native) => {
  const barred = { tun: 'auto', socketsBarred: 'and that is so' } as const;
  withoutTun(t, native, 'EPERM');
  const { way, wayReason } = open(t, 0, barred);
  t.is(way, 'none');
  t.regex(wayReason ?? '', /CAP_NET_ADMIN; and that is so$/);
  withoutTun(t, native, 'EBUSY');
  t.notRegex(open(t, 0, barred).wayReason ?? '', /that is so/);
  t.is(open(t, 0, { ...barred, tun: 'sockets' }).way, 'sockets', 'somebody said it');
});
