// What is removed is gone at once: devices, addresses, owners and rules, with their established
// flows and waiting packets, in both directions; and no other device notices. In the whole packet
// path.

import process from 'node:process';
import test from 'ava';
import {
  REJECT_AFTER_TIME_MS,
  SWEEP_ROUND_MS,
  TRANSPORT_OVERHEAD_BYTES,
} from '../../dataplane/constants.ts';
import { udp, tcp, ip } from '../support/dataplane/packets.ts';
import { SEED } from '../support/dataplane/seed.ts';
import {
  type Client,
  DATA,
  type Flight,
  gatewayAndClients,
  gatewayPeer,
  INITIATION,
  type Node,
  peer,
  rule,
  type World,
} from '../support/dataplane/simulation.ts';
import '../support/dataplane/seeded-test.ts';

const host = '192.0.2.1';
const SYN = 0x02;
const SYN_ACK = 0x12;
const ACK = 0x10;
const dropAll = [rule('4', 'drop', '0.0.0.0/0'), rule('6', 'drop', '::/0')];

/** Clients with a session each. */
function connected(
  count: number,
  options: Parameters<typeof gatewayAndClients>[2] = {},
): ReturnType<typeof gatewayAndClients> {
  const scene = gatewayAndClients(count, SEED, options);
  for (const client of scene.clients) client.sender.initiate(client.peer, false, scene.world.now);
  scene.world.run(100);
  return scene;
}

/** Takes what has arrived at one side. */
function taken({ delivered }: { delivered: Uint8Array[] }): number {
  return delivered.splice(0).length;
}

/** The packets of a UDP flow between a device and a host, by who opened it. */
function between(device: string, far: string): { up: Uint8Array; down: Uint8Array } {
  const ports = { sourcePort: 5_000, destinationPort: 6_000 };
  return {
    up: udp({ source: device, destination: far, ...ports }),
    down: udp({ source: far, destination: device, sourcePort: 6_000, destinationPort: 5_000 }),
  };
}

function exchange(
  world: World,
  gateway: Node,
  client: Client,
  { up, down }: { up: Uint8Array; down: Uint8Array },
): { up: number; down: number } {
  taken(gateway);
  taken(client);
  client.send(up);
  world.run(20);
  const arrived = taken(gateway);
  gateway.send(down);
  world.run(20);
  return { up: arrived, down: taken(client) };
}

test('a removed device is stopped in both directions, in the middle of its traffic', (t) => {
  const { world, gateway, clients, peers } = connected(2);
  const mine = between('10.0.0.2', host);
  const yours = between('10.0.0.3', host);
  t.deepEqual(exchange(world, gateway, clients[0]!, mine), { up: 1, down: 1 });
  t.deepEqual(exchange(world, gateway, clients[1]!, yours), { up: 1, down: 1 });
  // Packets of the device are on their way in both directions when it is removed.
  clients[0]!.send(mine.up);
  gateway.apply([peers[1]!]);
  const sent = world.wire.length;
  t.deepEqual(exchange(world, gateway, clients[0]!, mine), { up: 0, down: 0 });
  t.is(world.wire.slice(sent).filter(({ from }) => from === gateway.endpoint).length, 0);
  t.deepEqual(exchange(world, gateway, clients[1]!, yours), { up: 1, down: 1 });
});

// docs/bugs-of-others.md#bug-20: queued packets.
test('waiting packets from a removed device to another device are dropped', (t) => {
  const { world, gateway, clients, peers } = connected(2);
  const sleeper = world.addClient({ endpoint: { address: '203.0.113.9', port: 9 } });
  sleeper.addPeer(gatewayPeer(gateway));
  const config = peer({ key: sleeper.key, ipv4: '10.0.0.9', endpoint: sleeper.endpoint });
  gateway.apply([...peers, config]);
  world.loses = ({ to }) => to === sleeper.endpoint || to.address === sleeper.endpoint.address;
  clients[0]!.send(
    udp({ source: '10.0.0.2', destination: '10.0.0.9', data: 'from one that goes' }),
  );
  const stays = udp({ source: '10.0.0.3', destination: '10.0.0.9', data: 'from one that stays' });
  clients[1]!.send(stays);
  world.run(20);
  gateway.send(udp({ source: host, destination: '10.0.0.9', data: 'from the LAN' }));
  world.run(100);
  gateway.apply([peers[1]!, config]);
  world.loses = () => false;
  world.run(10_000);
  t.deepEqual(
    sleeper.delivered.map((bytes) => new TextDecoder().decode(bytes.subarray(28))),
    ['from one that stays', 'from the LAN'],
  );
});

/** A device that is heard no more, while packets from two devices and the LAN wait for it. */
function withWaiting() {
  const { world, gateway, clients, peers } = connected(3);
  const sleeper = clients[2]!;
  world.run(10_000);
  sleeper.send(
    udp({ source: '10.0.0.4', destination: '10.0.0.3', sourcePort: 7, destinationPort: 8 }),
  );
  world.run(REJECT_AFTER_TIME_MS - 30_000);
  const isLost = ({ from, to }: Flight): boolean =>
    [from, to].some(({ address }) => address === sleeper.endpoint.address);
  world.loses = isLost;
  for (const client of clients.slice(0, 2)) client.connect();
  world.run(25_000);
  const to = { destination: '10.0.0.4', sourcePort: 8, destinationPort: 7 };
  clients[0]!.send(udp({ ...to, source: '10.0.0.2', data: 'asked' }));
  clients[1]!.send(udp({ ...to, source: '10.0.0.3', data: 'answered' }));
  world.run(20);
  gateway.send(udp({ source: host, destination: '10.0.0.4', data: 'from the LAN' }));
  world.run(100);
  const wake = (): string[] => {
    world.loses = () => false;
    world.run(20_000);
    return sleeper.delivered.map((bytes) => new TextDecoder().decode(bytes.subarray(28)));
  };
  return { world, gateway, peers, wake };
}

test('packets wait for a device that comes back', (t) => {
  const { wake } = withWaiting();
  t.deepEqual(wake(), ['asked', 'answered', 'from the LAN']);
});

test('waiting packets that new rules refuse are dropped, and no others', (t) => {
  const { gateway, peers, wake } = withWaiting();
  const scoped = peers.map((one, i) => ({ ...one, scope: `${i}` }));
  gateway.apply(scoped, { 0: dropAll });
  t.deepEqual(wake(), ['answered', 'from the LAN']);
  t.is(gateway.drops()['rule_drop'], 1);
});

test('a waiting packet of a flow that its receiver opened needs no rule', (t) => {
  const { gateway, peers, wake } = withWaiting();
  gateway.apply(
    peers.map((one, i) => ({ ...one, scope: `${i}` })),
    { 0: dropAll, 1: dropAll },
  );
  t.deepEqual(wake(), ['answered', 'from the LAN'], 'the second device answers');
});

test('waiting packets are dropped when nothing may pass any more', (t) => {
  const { world, gateway, wake } = withWaiting();
  const nothing = { removed: [], updated: [], added: [], scopes: [] };
  gateway.change({ ...nothing, isClosed: true });
  const sent = world.sent(DATA, gateway).length;
  t.deepEqual(wake(), []);
  t.is(gateway.drops()['database_away'], 3);
  const [keepalive] = world.sent(DATA, gateway).slice(sent);
  t.is(keepalive?.bytes.length, TRANSPORT_OVERHEAD_BYTES, 'the session is confirmed');
});

test('two thousand devices are removed at once in little time, even if packets wait', (t) => {
  const scene = gatewayAndClients(1);
  const many = Array.from({ length: 2_000 }, (_, i) =>
    peer({
      key: Buffer.from(
        Uint8Array.from({ length: 32 }, (_, n) => (n < 2 ? i >> (8 * n) : 9)),
      ).toString('base64'),
      ipv4: `10.0.${1 + (i >> 8)}.${i & 255}`,
      endpoint: { address: '203.0.113.1', port: 9 },
    }),
  );
  scene.gateway.apply([...scene.peers, ...many]);
  for (const { ipv4 } of many.slice(0, 500))
    scene.gateway.send(udp({ source: host, destination: ipv4!.join('.') }));
  const began = process.threadCpuUsage();
  scene.gateway.apply(scene.peers);
  const { user } = process.threadCpuUsage(began);
  // The limit is generous, because machines differ; quadratic growth would take seconds.
  t.true(user < 1_000_000, `${user} µs`);
  // Their flows are removed by the next sweep; nothing else waits.
  scene.world.run(2 * SWEEP_ROUND_MS);
  t.is(scene.gateway.nextTimeout(), Number.POSITIVE_INFINITY);
});

test('a device that gets the address of a removed one gets nothing else of it', (t) => {
  const { world, gateway, clients, peers } = connected(2, { gateway: { defaultAction: 'drop' } });
  const asked = between('10.0.0.2', host);
  gateway.send(asked.down);
  world.run(20);
  t.is(taken(clients[0]!), 1);
  clients[0]!.send(asked.up);
  world.run(20);
  t.is(taken(gateway), 1, 'a reply');
  gateway.apply([{ ...peers[1]!, ipv4: peers[0]!.ipv4 }]);
  clients[1]!.send(asked.up);
  world.run(20);
  t.is(taken(gateway), 0);
  t.deepEqual(gateway.drops(), { default_drop: 1 });
});

test('the flows of an address that changes are judged again, those of the other family are not', (t) => {
  const { world, gateway, clients, peers } = connected(1, { gateway: { defaultAction: 'drop' } });
  const four = between('10.0.0.2', host);
  const six = between('fd00::2', '2001:db8::1');
  gateway.send(four.down, six.down);
  gateway.apply([{ ...peers[0]!, ipv4: peers[0]!.ipv4!.map((byte) => (byte === 2 ? 9 : byte)) }]);
  gateway.apply(peers);
  clients[0]!.send(four.up, six.up);
  world.run(20);
  t.deepEqual(gateway.delivered, [six.up]);
  t.deepEqual(gateway.drops(), { default_drop: 1 });
});

test('a flow that only the default action accepted ends with it, in both directions', (t) => {
  const { world, gateway, clients } = connected(1);
  const setDefault = (defaultAction: 'accept' | 'drop'): void =>
    gateway.change({ removed: [], updated: [], added: [], scopes: [], defaultAction });
  const opened = between('10.0.0.2', host);
  const asked = between('10.0.0.2', '198.51.100.7');
  gateway.send(asked.down);
  world.run(20);
  clients[0]!.send(opened.up);
  world.run(20);
  taken(clients[0]!);
  taken(gateway);
  t.deepEqual(exchange(world, gateway, clients[0]!, opened), { up: 1, down: 1 });
  setDefault('drop');
  t.deepEqual(exchange(world, gateway, clients[0]!, opened), { up: 0, down: 0 });
  t.deepEqual(gateway.drops(), { default_drop: 2 });
  t.deepEqual(exchange(world, gateway, clients[0]!, asked), { up: 1, down: 1 }, 'a reply');
  setDefault('accept');
  t.deepEqual(exchange(world, gateway, clients[0]!, opened), { up: 1, down: 1 });
});

test('a hundred changes of other devices do not disturb an established connection', (t) => {
  const { world, gateway, clients, peers } = connected(3, { gateway: { defaultAction: 'drop' } });
  const asked = between('10.0.0.2', host);
  gateway.send(asked.down);
  world.run(20);
  clients[0]!.delivered.length = 0;
  const handshakes = world.sent(INITIATION).length;
  for (let i = 0; i < 100; i++) {
    const others = i % 2 === 0 ? [peers[0]!] : [...peers];
    const rules = i % 3 === 0 ? {} : { other: [rule(`${i}`, 'drop', '198.51.100.0/24')] };
    gateway.apply(others, rules);
    t.deepEqual(exchange(world, gateway, clients[0]!, asked), { up: 1, down: 1 }, `${i}`);
  }
  t.is(
    world.sent(INITIATION, clients[0]!).length + world.sent(INITIATION, gateway).length,
    handshakes - 2,
  );
  t.deepEqual(gateway.drops(), {});
});

test('a new drop rule ends an established connection, and without it the connection goes on', (t) => {
  const { world, gateway, clients, peers } = connected(2);
  const mine = between('10.0.0.2', host);
  const yours = between('10.0.0.3', host);
  const both = (): unknown[] => [
    exchange(world, gateway, clients[0]!, mine),
    exchange(world, gateway, clients[1]!, yours),
  ];
  const flows = { up: 1, down: 1 };
  t.deepEqual(both(), [flows, flows]);
  const config = [peers[0]!, { ...peers[1]!, scope: 'other' }];
  gateway.apply(config, { owner: dropAll });
  t.deepEqual(both(), [{ up: 0, down: 0 }, flows]);
  gateway.apply(config);
  t.deepEqual(both(), [flows, flows]);
  t.deepEqual(gateway.drops(), { rule_drop: 2 });
});

test('connections of a device end when its owner gets a drop rule', (t) => {
  const { world, gateway, clients, peers } = connected(1);
  const mine = between('10.0.0.2', host);
  t.deepEqual(exchange(world, gateway, clients[0]!, mine), { up: 1, down: 1 });
  gateway.apply([{ ...peers[0]!, scope: 'strict' }], { strict: dropAll });
  t.deepEqual(exchange(world, gateway, clients[0]!, mine), { up: 0, down: 0 });
});

// ---- flows in the whole path -----------------------------------------------------------------

test('replies of a device pass even if its rules drop everything, also to another device', (t) => {
  const { world, gateway, clients, peers } = connected(2);
  const config = [peers[0]!, { ...peers[1]!, scope: 'free' }];
  gateway.apply(config, { owner: dropAll });
  const lan = { source: host, destination: '10.0.0.2', sourcePort: 40, destinationPort: 80 };
  const back = { source: '10.0.0.2', destination: host, sourcePort: 80, destinationPort: 40 };
  gateway.send(tcp({ ...lan, flags: SYN }));
  world.run(20);
  clients[0]!.send(tcp({ ...back, flags: SYN_ACK }));
  world.run(20);
  gateway.send(tcp({ ...lan, flags: ACK }));
  world.run(20);
  clients[0]!.send(tcp({ ...back, flags: ACK }));
  world.run(20);
  t.is(taken(gateway), 2);
  clients[1]!.send(udp({ source: '10.0.0.3', destination: '10.0.0.2', sourcePort: 7 }));
  world.run(20);
  clients[0]!.send(
    udp({ source: '10.0.0.2', destination: '10.0.0.3', sourcePort: 5_000, destinationPort: 7 }),
  );
  clients[0]!.send(
    udp({ source: '10.0.0.2', destination: '10.0.0.3', sourcePort: 5_000, destinationPort: 8 }),
  );
  world.run(20);
  t.is(taken(clients[1]!), 1);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('a packet for a device that does not exist is judged, and opens no flow', (t) => {
  const { world, gateway, clients, peers } = connected(1);
  const lost = udp({ source: '10.0.0.2', destination: '10.0.0.99' });
  clients[0]!.send(lost);
  gateway.apply(peers, { owner: [rule('x', 'drop', '10.0.0.99')] });
  world.run(20);
  gateway.apply(peers);
  clients[0]!.send(lost);
  world.run(20);
  t.deepEqual(gateway.drops(), { no_peer: 1, rule_drop: 1 });
});

test('packets from the TUN that cannot be tracked still reach their device', (t) => {
  const { world, gateway, clients } = connected(1);
  // Too short for TCP: it opens no flow, but it is not refused.
  const short = ip({
    source: host,
    destination: '10.0.0.2',
    protocol: 6,
    payload: new Uint8Array(12),
  });
  gateway.send(short);
  world.run(20);
  t.deepEqual(clients[0]!.delivered, [short]);
});

test('rules count what flows send, in the sample of the gateway', (t) => {
  const { world, gateway, clients, peers } = connected(1);
  gateway.apply(peers, { owner: [rule('web', 'accept', host)] });
  const mine = between('10.0.0.2', host);
  for (let i = 0; i < 5; i++) exchange(world, gateway, clients[0]!, mine);
  const [sample] = gateway.sample().rules;
  t.like(sample, { id: 'web', packets: 5, bytes: 5 * 28 });
  t.true(sample!.lastHitMs > world.wallMs - 1_000);
});

test('the link carries data only between existing devices', (t) => {
  const { world, clients } = connected(2);
  clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3' }));
  world.run(20);
  t.is(world.sent(DATA, clients[1]!).length, 1, 'the confirmation of its session alone');
});
