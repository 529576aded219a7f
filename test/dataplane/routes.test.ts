// Networks behind a device, in a gateway in virtual time: who may speak for them, where packets to
// them go, and what ends when one goes. The trie itself has a slow twin in
// wireguard/allowed-ips.test.ts.

import test from 'ava';
import type { NetworkRange } from '../../dataplane/wire/network.ts';
import { address, udp } from '../support/dataplane/packets.ts';
import { SEED } from '../support/dataplane/seed.ts';
import { gatewayAndClients, rule } from '../support/dataplane/simulation.ts';
import '../support/dataplane/seeded-test.ts';

const OFFICE = range('192.168.7.0/24');
const OFFICE6 = range('2001:db8:7::/48');
const OTHER = range('192.168.8.0/24');
const OUTSIDE = '203.0.113.9';

function range(cidr: string): NetworkRange {
  const [text = '', bits] = cidr.split('/');
  return { network: address(text), prefixBits: Number(bits) };
}

/** Two devices with sessions, each with networks behind it. */
function branches(
  first: readonly NetworkRange[] = [OFFICE, OFFICE6],
  second: readonly NetworkRange[] = [OTHER],
) {
  const scene = gatewayAndClients(2, SEED);
  const { gateway, world, clients, peers } = scene;
  const put = (...routes: (readonly NetworkRange[])[]): void =>
    gateway.apply(peers.map((peer, i) => ({ ...peer, routes: routes[i] ?? [] })));
  put(first, second);
  for (const client of clients) client.sender.initiate(client.peer, false, world.now);
  world.run(100);
  return { ...scene, put };
}

type Scene = ReturnType<typeof branches>;

/** What arrives where after one packet of a device. */
function sent({ world, gateway, clients }: Scene, i: number, packet: Uint8Array) {
  gateway.delivered.length = 0;
  for (const client of clients) client.delivered.length = 0;
  clients[i]!.send(packet);
  world.run(50);
  return {
    tun: gateway.delivered.length,
    clients: clients.map(({ delivered }) => delivered.length),
  };
}

test('a host behind a device speaks for itself; nobody else does', (t) => {
  const scene = branches();
  const out = (i: number, source: string) => sent(scene, i, udp({ source, destination: OUTSIDE }));
  t.is(out(0, '192.168.7.5').tun, 1);
  t.is(out(0, '10.0.0.2').tun, 1, 'its own address too');
  t.deepEqual(scene.gateway.drops(), {});
  t.is(out(0, '192.168.8.5').tun, 0, 'a network behind another device');
  t.is(out(1, '192.168.7.5').tun, 0);
  t.is(out(0, '192.168.9.5').tun, 0, 'a network behind nobody');
  t.deepEqual(scene.gateway.drops(), { inner_source_not_allowed: 3 });
  const six = udp({ source: '2001:db8:7:1::5', destination: '2001:db8:99::1' });
  t.is(sent(scene, 0, six).tun, 1);
  t.is(sent(scene, 1, six).tun, 0);
});

test('a host behind a device has no address of the host of the gateway towards the LAN', (t) => {
  const scene = branches();
  scene.gateway.pipeline.setHostAddresses({
    here: [address('192.168.7.5'), address('2001:db8:7:1::5')],
    outside: [],
  });
  const out = (source: string, destination: string) => sent(scene, 0, udp({ source, destination }));
  t.is(out('192.168.7.5', OUTSIDE).tun, 0);
  t.is(out('192.168.7.5', '10.0.0.1').tun, 0, 'nor towards the gateway');
  t.is(out('2001:db8:7:1::5', '2001:db8:99::1').tun, 0);
  t.deepEqual(scene.gateway.drops(), { inner_source_not_allowed: 3 });
  t.is(out('192.168.7.6', OUTSIDE).tun, 1);
  t.is(out('192.168.7.5', '10.0.0.3').clients[1], 1, 'another device can tell them apart');
});

test('packets to a network go to the device that it is behind, from the LAN and from devices', (t) => {
  const scene = branches();
  const { gateway, world, clients } = scene;
  gateway.send(udp({ source: '198.51.100.99', destination: '192.168.7.5' }));
  world.run(50);
  t.is(clients[0]!.delivered.length, 1);
  const between = udp({ source: '192.168.8.5', destination: '192.168.7.5' });
  t.deepEqual(sent(scene, 1, between), { tun: 0, clients: [1, 0] }, 'branch to branch');
  const laptop = udp({
    source: '10.0.0.3',
    destination: '192.168.7.6',
  });
  t.deepEqual(sent(scene, 1, laptop), { tun: 0, clients: [1, 0] });
  t.deepEqual(sent(scene, 1, udp({ source: '10.0.0.3', destination: '192.168.9.1' })), {
    tun: 1,
    clients: [0, 0],
  });
  t.deepEqual(gateway.drops(), {});
});

test('the rules of the owner decide for hosts behind the device', (t) => {
  const scene = branches();
  const { gateway, peers } = scene;
  const drop = rule('r', 'drop', `${OUTSIDE}/32`);
  gateway.apply(
    peers.map((peer, i) => ({
      ...peer,
      scope: `owner ${i}`,
      routes: [[OFFICE], [OTHER]][i] ?? [],
    })),
    { 'owner 0': [drop] },
  );
  t.is(sent(scene, 0, udp({ source: '192.168.7.5', destination: OUTSIDE })).tun, 0);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
  t.is(sent(scene, 1, udp({ source: '192.168.8.5', destination: OUTSIDE })).tun, 1);
});

test('a network that goes takes its flows and its packets with it at once; others stay', (t) => {
  const scene = branches([OFFICE, OFFICE6, range('192.168.9.0/24')]);
  const { gateway, world, clients, put } = scene;
  const reply = (destination: string): number => {
    clients[0]!.delivered.length = 0;
    gateway.send(udp({ source: OUTSIDE, destination, sourcePort: 53, destinationPort: 4_000 }));
    world.run(50);
    return clients[0]!.delivered.length;
  };
  const ask = (source: string): number =>
    sent(scene, 0, udp({ source, destination: OUTSIDE, sourcePort: 4_000, destinationPort: 53 }))
      .tun;
  t.is(ask('192.168.7.5') + ask('192.168.9.5'), 2);
  t.is(reply('192.168.7.5') + reply('192.168.9.5'), 2);
  put([OFFICE, OFFICE6], [OTHER, range('192.168.9.0/24')]);
  t.is(ask('192.168.9.5'), 0, 'it is behind the other one now');
  t.is(reply('192.168.9.5'), 0);
  t.is(ask('192.168.7.5'), 1);
  put([], []);
  t.is(ask('192.168.7.5'), 0);
  t.is(reply('192.168.7.5'), 0);
  t.is(gateway.drops()['no_peer'], 1);
});

test('nobody on the LAN can pose as a host behind a device', (t) => {
  const { gateway, world, clients } = branches();
  gateway.send(udp({ source: '192.168.8.5', destination: '10.0.0.2' }));
  world.run(50);
  t.deepEqual(gateway.drops(), { packet_source_forged: 1 });
  t.is(clients[0]!.delivered.length, 0);
});

test('an endpoint inside a network behind the device makes no loop', (t) => {
  const { gateway, world, clients } = branches([range('198.51.100.0/24')], []);
  // The kernel leads a datagram of the gateway's socket to the TUN, as the route says.
  const { address: source, port: sourcePort } = gateway.endpoint;
  gateway.pipeline.setHostAddresses({ here: [address(source)], outside: [] });
  const destination = '198.51.100.7';
  gateway.send(udp({ source, sourcePort, destination, destinationPort: 40_000 }));
  world.run(50);
  t.deepEqual(gateway.drops(), { packet_own_datagram: 1 });
  t.is(clients[0]!.delivered.length, 0);
  gateway.send(udp({ source, sourcePort: 53, destination, destinationPort: 40_000 }));
  world.run(50);
  t.is(clients[0]!.delivered.length, 1, 'another program of the host may speak to it');
});
