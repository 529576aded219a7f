// What becomes of packets that pass: from device to device, and without a TUN.

import test from 'ava';
import { address, checksum, concat, echoRequest, udp } from '../../support/dataplane/packets.ts';
import { SEED } from '../../support/dataplane/seed.ts';
import {
  gatewayAndClient,
  gatewayAndClients,
  gatewayPeer,
  INITIATION,
  peer,
  rule,
} from '../../support/dataplane/simulation.ts';
import {
  connectedClients,
  elsewhere,
  from,
  from6,
  toGateway,
} from '../../support/dataplane/pipeline-scenes.ts';

// ---- device to device ------------------------------------------------------------------------

for (const [family, source, destination] of [
  ['IPv4', '10.0.0.2', '10.0.0.3'],
  ['IPv6', 'fd00::2', 'fd00::3'],
] as const) {
  test(`${family}: a packet for another device reaches it inside the process, one hop older`, (t) => {
    const { world, gateway, clients } = connectedClients(2);
    const packet = udp({ source, destination, hopLimit: 64, data: 'hi' });
    clients[0]!.send(packet);
    world.run(100);
    t.deepEqual(clients[1]!.delivered, [udp({ source, destination, hopLimit: 63, data: 'hi' })]);
    t.deepEqual(gateway.delivered, []);
    t.deepEqual(gateway.drops(), {});
  });

  test(`${family}: a packet without hops left stops here`, (t) => {
    const { world, gateway, clients } = connectedClients(2);
    clients[0]!.send(udp({ source, destination, hopLimit: 1 }));
    world.run(100);
    t.deepEqual(clients[1]!.delivered, []);
    t.deepEqual(gateway.drops(), { hop_limit_exceeded: 1 });
  });
}

test('the IPv4 checksum of a forwarded packet is right', (t) => {
  const { world, clients } = connectedClients(2);
  for (let i = 0; i < 50; i++)
    clients[0]!.send(
      udp({
        source: '10.0.0.2',
        destination: '10.0.0.3',
        hopLimit: 2 + i,
        identification: i * 1_009,
      }),
    );
  world.run(100);
  t.is(clients[1]!.delivered.length, 50);
  for (const packet of clients[1]!.delivered) t.is(checksum(packet.subarray(0, 20)), 0);
});

test('a packet for another device is judged by the rules of its sender', (t) => {
  const { world, gateway, clients, peers } = connectedClients(2);
  const [a, b] = peers as [(typeof peers)[0], (typeof peers)[0]];
  gateway.apply(
    [
      { ...a, scope: 'a' },
      { ...b, scope: 'b' },
    ],
    {
      a: [rule('1', 'drop', '10.0.0.3')],
    },
  );
  clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3' }));
  clients[1]!.send(udp({ source: '10.0.0.3', destination: '10.0.0.2' }));
  world.run(100);
  t.is(clients[1]!.delivered.length, 0);
  t.is(clients[0]!.delivered.length, 1);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('a packet for a device without a session waits until the gateway has made one', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  const second = world.addClient({ endpoint: elsewhere });
  const config = peer({ key: second.key, ipv4: '10.0.0.3', endpoint: elsewhere });
  second.addPeer(gatewayPeer(gateway));
  gateway.apply([...peers, config]);
  clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3', data: 'hi' }));
  world.run(100);
  t.is(world.sent(INITIATION, gateway).length, 1);
  t.is(second.delivered.length, 1);
});

test('a device that was never heard cannot be reached', (t) => {
  const { world, gateway, clients } = gatewayAndClients(2);
  clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3' }));
  world.run(100);
  t.deepEqual(gateway.drops(), { peer_no_endpoint: 1 });
});

// docs/bugs-of-others.md#bug-17: order of each peer.
test('many packets between devices arrive complete and in order', (t) => {
  const { world, clients } = connectedClients(2);
  const numbers = (n: number): string[] => Array.from({ length: n }, (_, i) => `number ${i}`);
  for (const data of numbers(300)) {
    clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3', data }));
    world.run(1);
  }
  world.run(100);
  t.deepEqual(
    clients[1]!.delivered.map((bytes) => new TextDecoder().decode(bytes.subarray(28))),
    numbers(300),
  );
});

// ---- without a TUN ---------------------------------------------------------------------------

test('without a TUN a ping to the gateway is answered', (t) => {
  const { world, gateway, clients } = connectedClients(1, { gateway: { hasTun: false } });
  clients[0]!.send(echoRequest('10.0.0.2', '10.0.0.1', 7), echoRequest('fd00::2', 'fd00::1', 8));
  world.run(100);
  const [v4, v6] = clients[0]!.delivered as [Uint8Array, Uint8Array];
  t.is(v4[20], 0);
  t.deepEqual(v4.slice(12, 20), concat(address('10.0.0.1'), address('10.0.0.2')));
  t.is(checksum(v4.subarray(0, 20)), 0);
  t.is(checksum(v4.subarray(20)), 0);
  t.is(v6[40], 129);
  t.deepEqual(gateway.delivered, []);
  t.deepEqual(gateway.drops(), {});
});

test('without a TUN nothing else can be reached but devices', (t) => {
  const { world, gateway, clients } = connectedClients(2, { gateway: { hasTun: false } });
  clients[0]!.send(
    toGateway,
    udp(from),
    udp(from6),
    udp({ source: '10.0.0.2', destination: '10.0.0.3' }),
  );
  world.run(100);
  t.deepEqual(gateway.drops(), { no_tun: 3 });
  t.is(clients[1]!.delivered.length, 1);
});

test('with a TUN a ping to the gateway is the business of the host', (t) => {
  const { world, gateway, clients } = connectedClients(1);
  clients[0]!.send(echoRequest('10.0.0.2', '10.0.0.1'));
  world.run(100);
  t.is(gateway.delivered.length, 1);
  t.deepEqual(clients[0]!.delivered, []);
});

test('a ping under a rule that drops is not answered', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1, { gateway: { hasTun: false } });
  gateway.apply(peers, { owner: [rule('1', 'drop', '10.0.0.1')] });
  clients[0]!.send(echoRequest('10.0.0.2', '10.0.0.1'));
  world.run(100);
  t.deepEqual(clients[0]!.delivered, []);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('a gateway without IPv6 leaves IPv6 to its TUN', (t) => {
  const { world, gateway, client } = gatewayAndClient(SEED, { gateway: { ipv6: null } });
  client.send(udp({ source: 'fd00::2', destination: 'fd00::99' }));
  world.run(100);
  t.is(gateway.delivered.length, 1);
});
