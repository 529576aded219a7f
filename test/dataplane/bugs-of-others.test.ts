// Bugs of the packet path that other gateways shipped, one test each, with the place where they
// were reported: clocks, order, statistics, the filter, fragments and revocation. They run in the
// whole packet path. Finer cases are in the tests of its parts; test/bugs-of-others.test.ts lists
// all.

import test from 'ava';
import type { RuleConfig } from '../../dataplane/contract.ts';
import {
  address,
  concat,
  echoRequest,
  flagsOf,
  fragmentHeader,
  ip,
  tcp,
  udp,
} from '../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClients,
  INITIATION,
  type Node,
  peer,
  randomBytes,
  rule,
  seededRandom,
  type World,
} from '../support/dataplane/simulation.ts';
import '../support/dataplane/seeded-test.ts';

const host = '192.0.2.1';
const host6 = '2001:db8::1';
const dropAll = [rule('4', 'drop', '0.0.0.0/0'), rule('6', 'drop', '::/0')];

/** Clients with a session each, under rules of their common owner. */
function connected(
  count: number,
  rules: Record<string, readonly RuleConfig[]> = {},
): ReturnType<typeof gatewayAndClients> {
  const scene = gatewayAndClients(count);
  for (const client of scene.clients) client.sender.initiate(client.peer, false, scene.world.now);
  scene.world.run(100);
  scene.gateway.apply(scene.peers, rules);
  return scene;
}

/** A public key, as good as any. */
function keyOf(seed: number): string {
  return Buffer.from(randomBytes(seededRandom(seed + 1), 32)).toString('base64');
}

/** Sends, waits, and returns what came out on the other side. */
function pass(world: World, from: Client | Node, to: Client | Node, bytes: Uint8Array): number {
  to.delivered.length = 0;
  from.send(bytes);
  world.run(20);
  return to.delivered.length;
}

/** A numbered packet from a client, and one to it. */
function numbered(client: number, number: number): { up: Uint8Array; down: Uint8Array } {
  const [own, data] = [`10.0.0.${2 + client}`, `${number}`];
  return {
    up: udp({ source: own, destination: host, data }),
    down: udp({ source: host, destination: own, data }),
  };
}

/** The numbers in the packets from, or to, one client. */
function numbersOf(packets: readonly Uint8Array[], client: number): number[] {
  return packets
    .filter((bytes) => bytes[15] === 2 + client || bytes[19] === 2 + client)
    .map((bytes) => Number(new TextDecoder().decode(bytes.subarray(28))));
}

// docs/bugs-of-others.md#bug-17: order of each peer.
test('Firezone #10231: in a batch of many devices the packets of each keep their order, both ways', (t) => {
  const [devices, each] = [8, 8];
  const { world, gateway, clients } = connected(devices);
  gateway.delivered.length = 0;
  const sent = world.wire.length;
  world.loses = () => true;
  // One device after the other, so that the batch mixes what each sent in a row.
  for (const [i, client] of clients.entries())
    for (let n = 0; n < each; n++) client.send(numbered(i, n).up);
  world.loses = () => false;
  const flights = world.wire.slice(sent);
  const mixed = flights.map((_, i) => flights[(i % devices) * each + Math.floor(i / devices)]!);
  gateway.receiveAll(mixed);
  const order = Array.from({ length: each }, (_, n) => n);
  for (const [i] of clients.entries()) t.deepEqual(numbersOf(gateway.delivered, i), order);

  for (const client of clients) client.delivered.length = 0;
  gateway.send(
    ...Array.from(
      { length: devices * each },
      (_, i) => numbered(i % devices, Math.floor(i / devices)).down,
    ),
  );
  world.run(100);
  for (const [i, client] of clients.entries()) t.deepEqual(numbersOf(client.delivered, i), order);
});

// docs/bugs-of-others.md#bug-17: order of each peer.
test('Firezone #10231: packets that waited for a session leave before later packets', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(2);
  gateway.apply([]);
  // They were heard so long ago that the gateway initiates no handshake, but it knows where they
  // are.
  gateway.apply(
    peers.map((one, i) => ({ ...one, resume: { endpoint: clients[i]!.endpoint, heardAtMs: 0 } })),
  );
  // The session of the first is there after a round trip, that of the second is not.
  world.loses = ({ to }) => to.port === clients[1]!.endpoint.port;
  for (let n = 0; n < 5; n++) gateway.send(...clients.map((_, i) => numbered(i, n).down));
  world.run(12);
  for (let n = 5; n < 10; n++) gateway.send(...clients.map((_, i) => numbered(i, n).down));
  world.loses = () => false;
  world.run(10_000);
  const order = Array.from({ length: 10 }, (_, n) => n);
  for (const [i, client] of clients.entries()) t.deepEqual(numbersOf(client.delivered, i), order);
});

// docs/bugs-of-others.md#bug-11: jumps of the monotonic clock.
test('GotaTun: a monotonic clock that goes back for a moment stops no device', (t) => {
  const { world, gateway, clients } = connected(1);
  const client = clients[0]!;
  gateway.delivered.length = 0;
  client.delivered.length = 0;
  for (let n = 0; n < 300; n++) {
    // The first jump goes to a time before the session was made.
    if (n % 10 === 0) world.now -= 900;
    client.send(numbered(0, n).up);
    gateway.send(numbered(0, n).down);
    world.run(1_000);
  }
  const order = Array.from({ length: 300 }, (_, n) => n);
  t.deepEqual(numbersOf(gateway.delivered, 0), order);
  t.deepEqual(numbersOf(client.delivered, 0), order);
});

// docs/bugs-of-others.md#bug-24: statistics by what moved.
test('wg-portal #151: a sample costs what moved, not what exists, and asks no device', (t) => {
  const { world, gateway, clients, peers } = connected(1);
  const others = Array.from({ length: 2_000 }, (_, i) =>
    peer({ key: keyOf(i), ipv4: `10.${1 + (i >> 8)}.${i & 255}.1` }),
  );
  gateway.apply([...peers, ...others]);
  gateway.sample();
  pass(world, clients[0]!, gateway, numbered(0, 1).up);
  const sent = world.wire.length;
  t.deepEqual(
    gateway.sample().peers.map(({ publicKey }) => publicKey),
    [clients[0]!.key],
  );
  t.deepEqual(gateway.sample().peers, []);
  t.is(world.wire.length, sent);
});

// docs/bugs-of-others.md#bug-18: families apart.
test('defguard #1868: rules for IPv4 do not affect IPv6, and the reverse', (t) => {
  const four = udp({ source: '10.0.0.2', destination: host });
  const six = udp({ source: 'fd00::2', destination: host6 });
  for (const [range, wanted] of [
    ['0.0.0.0/0', [0, 1]],
    ['::/0', [1, 0]],
  ] as const) {
    const { world, gateway, clients } = connected(1, { '': [rule('x', 'drop', range)] });
    t.deepEqual(
      [four, six].map((packet) => pass(world, clients[0]!, gateway, packet)),
      [...wanted],
      range,
    );
  }
});

// docs/bugs-of-others.md#bug-18: devices made later.
test('defguard #1162: rules apply to devices that are added later', (t) => {
  const { world, gateway, clients, peers } = connected(2, { owner: dropAll });
  gateway.apply([peers[0]!], { owner: dropAll });
  gateway.apply(peers, { owner: dropAll });
  clients[1]!.sender.initiate(clients[1]!.peer, false, world.now + 10_000);
  world.run(100);
  const packet = udp({ source: '10.0.0.3', destination: host });
  t.is(pass(world, clients[1]!, gateway, packet), 0);
});

// docs/bugs-of-others.md#bug-18: return traffic.
test('wg-easy #2769: a device can answer flows that others opened to it', (t) => {
  const { world, gateway, clients } = connected(1, { owner: dropAll });
  const lan = { source: host, destination: '10.0.0.2', sourcePort: 40, destinationPort: 22 };
  const own = { source: '10.0.0.2', destination: host, sourcePort: 22, destinationPort: 40 };
  t.is(pass(world, gateway, clients[0]!, tcp({ ...lan, flags: flagsOf('S') })), 1);
  t.is(pass(world, clients[0]!, gateway, tcp({ ...own, flags: flagsOf('SA') })), 1);
  t.is(pass(world, gateway, clients[0]!, tcp({ ...lan, flags: flagsOf('A') })), 1);
  t.is(pass(world, clients[0]!, gateway, tcp({ ...own, flags: flagsOf('PA'), data: 'x' })), 1);
  t.is(pass(world, clients[0]!, gateway, tcp({ ...own, flags: flagsOf('S') })), 0);
});

// docs/bugs-of-others.md#bug-18: no moment without rules.
test('wg-easy: while rules change there is no moment without rules', (t) => {
  const { world, gateway, clients, peers } = connected(1, { owner: dropAll });
  for (let i = 0; i < 50; i++) {
    const others = Array.from({ length: i }, (_, n) => rule(`${n}`, 'drop', `198.51.100.${n}`));
    gateway.apply(peers, { owner: [...dropAll, ...others] });
    t.is(pass(world, clients[0]!, gateway, udp({ source: '10.0.0.2', destination: host })), 0);
  }
  t.deepEqual(gateway.drops(), { rule_drop: 50 });
});

// docs/bugs-of-others.md#bug-18: fragments.
test('fragments: ports are in the first one, and the others pass or are dropped with it', (t) => {
  const { world, gateway, clients } = connected(1, {
    owner: [rule('dns', 'accept', host, { type: 'udp', first: 53 }), ...dropAll],
  });
  const fragment = (destinationPort: number, identification: number): Uint8Array[] => {
    const whole = { source: '10.0.0.2', destination: host, identification };
    return [
      udp({ ...whole, destinationPort, data: new Uint8Array(8), fragment: 0x2000 }),
      ip({ ...whole, protocol: 17, payload: new Uint8Array(16), fragment: 2 }),
    ];
  };
  const results = [...fragment(53, 1), ...fragment(54, 2), fragment(53, 3)[1]!].map((bytes) =>
    pass(world, clients[0]!, gateway, bytes),
  );
  t.deepEqual(results, [0, 2, 0, 0, 0]);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

// docs/bugs-of-others.md#bug-18: fragments.
test('RFC 1858, RFC 3128: fragments that hide or overwrite ports and flags are dropped', (t) => {
  const { world, gateway, clients } = connected(1);
  const four = { source: '10.0.0.2', destination: host };
  const six = { source: 'fd00::2', destination: host6 };
  const extensions = [fragmentHeader(1, false)];
  const packets = [
    ip({ ...four, protocol: 17, payload: new Uint8Array(4), fragment: 0x2000 }),
    ip({ ...four, protocol: 6, payload: new Uint8Array(16), fragment: 0x2000 }),
    ip({ ...four, protocol: 6, payload: new Uint8Array(24), fragment: 1 }),
    ip({ ...six, protocol: 6, payload: new Uint8Array(24), extensions }),
  ];
  for (const packet of packets) t.is(pass(world, clients[0]!, gateway, packet), 0);
  t.deepEqual(gateway.drops(), { inner_fragment_unsafe: packets.length });
});

// docs/bugs-of-others.md#bug-18: ICMP errors.
test('an ICMP error belongs to the flow that it quotes, and to no other', (t) => {
  const { world, gateway, clients } = connected(1, { owner: dropAll });
  const asked = udp({ source: host, destination: '10.0.0.2', sourcePort: 40 });
  const errorAbout = (quoted: Uint8Array): Uint8Array => {
    const payload = concat(Uint8Array.from([3, 3, 0, 0, 0, 0, 0, 0]), quoted.subarray(0, 28));
    return ip({ source: '10.0.0.2', destination: host, protocol: 1, payload });
  };
  t.is(pass(world, clients[0]!, gateway, errorAbout(asked)), 0, 'before anything was asked');
  t.is(pass(world, gateway, clients[0]!, asked), 1);
  t.is(pass(world, clients[0]!, gateway, errorAbout(asked)), 1);
  const other = udp({ source: host, destination: '10.0.0.2', sourcePort: 41 });
  t.is(pass(world, clients[0]!, gateway, errorAbout(other)), 0);
});

// docs/bugs-of-others.md#bug-18: device to device.
test('what a device sends to another device is judged too', (t) => {
  const { world, clients } = connected(2, { '': [rule('x', 'drop', '10.0.0.0/24')] });
  const ping = echoRequest('10.0.0.2', '10.0.0.3');
  t.is(pass(world, clients[0]!, clients[1]!, ping), 0);
  t.is(pass(world, clients[0]!, clients[1]!, echoRequest('fd00::2', 'fd00::3')), 1);
});

// docs/bugs-of-others.md#bug-19: one change, one device.
test('defguard gateway #225: changing one device leaves the sessions and counters of the others alone', (t) => {
  const { world, gateway, clients, peers } = connected(2);
  const packet = udp({ source: '10.0.0.2', destination: host });
  pass(world, clients[0]!, gateway, packet);
  const before = world.sent(INITIATION).length;
  gateway.apply([peers[0]!, { ...peers[1]!, ipv4: address('10.0.0.9'), mtu: 1_280 }]);
  gateway.apply([peers[0]!]);
  t.is(pass(world, clients[0]!, gateway, packet), 1);
  t.is(world.sent(INITIATION).length, before);
  const sample = gateway.sample().peers.find(({ publicKey }) => publicKey === clients[0]!.key);
  // The handshake, the packet that confirmed it, and two of 28 bytes, padded to 32.
  t.is(sample?.rxBytes, 148 + 32 + 2 * (32 + 32));
});

// docs/bugs-of-others.md#bug-20: established flows.
test('Firezone 0.7 #1578: a device that is disabled loses its open connections', (t) => {
  const { world, gateway, clients, peers } = connected(2);
  const up = { source: '10.0.0.2', destination: host, sourcePort: 9, destinationPort: 80 };
  const down = { source: host, destination: '10.0.0.2', sourcePort: 80, destinationPort: 9 };
  t.is(pass(world, clients[0]!, gateway, tcp({ ...up, flags: flagsOf('S') })), 1);
  t.is(pass(world, gateway, clients[0]!, tcp({ ...down, flags: flagsOf('SA') })), 1);
  gateway.apply([peers[1]!]);
  t.is(pass(world, clients[0]!, gateway, tcp({ ...up, flags: flagsOf('A') })), 0);
  t.is(pass(world, gateway, clients[0]!, tcp({ ...down, flags: flagsOf('A') })), 0);
  const other = udp({ source: '10.0.0.3', destination: host });
  t.is(pass(world, clients[1]!, gateway, other), 1);
});

// docs/bugs-of-others.md#bug-20: established flows.
test('a new drop rule ends existing flows too, not only new ones', (t) => {
  const { world, gateway, clients, peers } = connected(1);
  const up = udp({ source: '10.0.0.2', destination: host, sourcePort: 9, destinationPort: 80 });
  const down = udp({ source: host, destination: '10.0.0.2', sourcePort: 80, destinationPort: 9 });
  t.is(pass(world, clients[0]!, gateway, up), 1);
  t.is(pass(world, gateway, clients[0]!, down), 1);
  gateway.apply(peers, { owner: dropAll });
  t.is(pass(world, gateway, clients[0]!, down), 0, 'else the host would open it again');
  t.is(pass(world, clients[0]!, gateway, up), 0);
});
