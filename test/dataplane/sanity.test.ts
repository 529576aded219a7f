// Addresses that no packet may bear, from a device and from the TUN, in a gateway in virtual time.
// What devices do in the name of others is in path/inward.test.ts.

import test from 'ava';
import type { ReasonName } from '../../dataplane/reasons.ts';
import { counting, ip, tcp, udp } from '../support/dataplane/packets.ts';
import { gatewayAndClients } from '../support/dataplane/simulation.ts';
import { SEED } from '../support/dataplane/seed.ts';
import '../support/dataplane/seeded-test.ts';

/** Two devices with sessions. */
function connected(allowsMetadata = false): ReturnType<typeof gatewayAndClients> {
  const scene = gatewayAndClients(2, SEED, { gateway: { allowsMetadata } });
  for (const client of scene.clients) client.sender.initiate(client.peer, false, scene.world.now);
  scene.world.run(100);
  return scene;
}

// ---- from the TUN ----------------------------------------------------------------------------

const forged = [
  '10.0.0.3',
  '10.0.0.2',
  '10.0.0.77',
  '10.0.0.255',
  '127.0.0.1',
  '169.254.1.1',
  '169.254.169.254',
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  'fd00::3',
  'fd00::77',
  'fe80::1',
  '::1',
  '::',
  'ff02::1',
  '::ffff:192.0.2.1',
  '64:ff9b::127.0.0.1',
];

for (const source of forged) {
  test(`from the TUN: in the name of ${source}: refused`, (t) => {
    const { world, gateway, clients } = connected();
    const destination = source.includes(':') ? 'fd00::2' : '10.0.0.2';
    gateway.send(
      udp({ source, destination }),
      tcp({ source, destination, flags: 0x12 }),
      // Its upper layer cannot be read.
      ip({ source, destination, protocol: 17, payload: counting(3) }),
    );
    world.run(100);
    t.deepEqual(gateway.drops(), { packet_source_forged: 3 });
    t.deepEqual(clients[0]!.delivered, []);
  });
}

for (const source of ['10.0.0.1', '10.0.1.3', '192.0.2.1', 'fd00::1', '2001:db8::1', 'fd01::3']) {
  test(`from the TUN: from ${source}: delivered`, (t) => {
    const { world, gateway, clients } = connected();
    const packet = udp({ source, destination: source.includes(':') ? 'fd00::2' : '10.0.0.2' });
    gateway.send(packet);
    world.run(100);
    t.deepEqual(gateway.drops(), {});
    t.deepEqual(clients[0]!.delivered, [packet]);
  });
}

test('a device whose address lies outside of the networks cannot be posed as either', (t) => {
  const { world, gateway, clients, peers } = connected();
  gateway.apply([{ ...peers[0]!, ipv4: Uint8Array.of(192, 0, 2, 7) }, peers[1]!]);
  gateway.send(udp({ source: '192.0.2.7', destination: '10.0.0.3' }));
  world.run(100);
  t.deepEqual(gateway.drops(), { packet_source_forged: 1 });
  t.deepEqual(clients[1]!.delivered, []);
});

test('what is for nobody is for nobody, whoever sends it', (t) => {
  const { world, gateway } = connected();
  gateway.send(udp({ source: 'fe80::1', destination: 'ff02::2' }));
  world.run(100);
  t.deepEqual(gateway.drops(), { no_peer: 1 });
});

// ---- from a device ---------------------------------------------------------------------------

const bound: readonly [destination: string, wanted: ReasonName, allowed: ReasonName][] = [
  ['168.63.129.16', 'inner_destination_metadata', 'none'],
  ['100.100.100.200', 'inner_destination_metadata', 'none'],
  ['192.0.0.192', 'inner_destination_metadata', 'none'],
  ['fd00:ec2::254', 'inner_destination_metadata', 'none'],
  ['fd20:ce::254', 'inner_destination_metadata', 'none'],
  ['64:ff9b::168.63.129.16', 'inner_destination_metadata', 'none'],
  ['2002:a83f:8110::1', 'inner_destination_metadata', 'none'],
  ['::168.63.129.16', 'inner_destination_metadata', 'none'],
  ['::127.0.0.1', 'inner_destination_reserved', 'inner_destination_reserved'],
  ['169.254.169.254', 'inner_destination_reserved', 'inner_destination_reserved'],
  ['64:ff9b::169.254.169.254', 'inner_destination_reserved', 'inner_destination_reserved'],
  ['2002:a9fe:a9fe::1', 'inner_destination_reserved', 'inner_destination_reserved'],
  ['64:ff9b::127.0.0.1', 'inner_destination_reserved', 'inner_destination_reserved'],
  ['64:ff9b::192.0.2.1', 'none', 'none'],
];

for (const [destination, wanted, allowed] of bound) {
  for (const allowsMetadata of [false, true]) {
    const expected = allowsMetadata ? allowed : wanted;
    const title = allowsMetadata ? ', where clouds may be asked' : '';
    test(`from a device: to ${destination}${title}: ${expected}`, (t) => {
      const { world, gateway, clients } = connected(allowsMetadata);
      const source = destination.includes(':') ? 'fd00::2' : '10.0.0.2';
      clients[0]!.send(udp({ source, destination }));
      world.run(100);
      t.deepEqual(gateway.drops(), expected === 'none' ? {} : { [expected]: 1 });
      t.is(gateway.delivered.length, expected === 'none' ? 1 : 0);
    });
  }
}

test('an address of a cloud that is one of a device is the device', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(2, SEED, {
    gateway: { ipv4: '100.100.100.1' },
  });
  gateway.apply([
    { ...peers[0]!, ipv4: Uint8Array.of(100, 100, 100, 2) },
    { ...peers[1]!, ipv4: Uint8Array.of(100, 100, 100, 200) },
  ]);
  for (const client of clients) client.sender.initiate(client.peer, false, world.now);
  world.run(100);
  const packet = udp({ source: '100.100.100.2', destination: '100.100.100.200' });
  clients[0]!.send(packet);
  world.run(100);
  t.deepEqual(gateway.drops(), {});
  t.is(clients[1]!.delivered.length, 1);
});
