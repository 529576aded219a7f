// Who sends to nobody hears so: a host behind the TUN gets ICMP host unreachable for a device whose
// endpoint is not known and for an address that no device has; and what is never answered.
// docs/packets.md#icmp-errors.

import test from 'ava';
import { UNREACHABLE_BURST, UNREACHABLE_INTERVAL_MS } from '../../../dataplane/constants.ts';
import { createPacketBatch, LENGTH, OFFSET } from '../../../dataplane/contract.ts';
import { Unreachable } from '../../../dataplane/path/unreachable.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { PLACE_PEERS } from '../../../dataplane/sanity.ts';
import { parseInner, InnerPacket } from '../../../dataplane/wire/ip.ts';
import { fragmentsOf } from '../../support/dataplane/fragments.ts';
import {
  address,
  checksum,
  concat,
  counting,
  echoRequest,
  ip,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { connectedClients, SECOND } from '../../support/dataplane/pipeline-scenes.ts';
import { gatewayAndClients } from '../../support/dataplane/simulation.ts';

const HOST = '192.0.2.9';
const HOST6 = '2001:db8::9';
const OFFICE = { network: address('192.168.7.0'), prefixBits: 24 };

/** A gateway with two devices that were never heard; an office is behind the second. */
function silent(workers = 1): ReturnType<typeof gatewayAndClients> {
  const scene = gatewayAndClients(2, undefined, { gateway: { workers, peers: 64 } });
  const [first, second] = scene.peers;
  scene.gateway.apply([first!, { ...second!, routes: [OFFICE] }]);
  return scene;
}

type Scene = ReturnType<typeof silent>;

/** Sends a packet from the TUN, and returns what is written to the TUN. */
function answersTo({ world, gateway }: Scene, packet: Uint8Array): Uint8Array[] {
  gateway.delivered.length = 0;
  gateway.send(packet);
  world.run(1);
  return gateway.delivered.slice();
}

/** The error that says so, byte for byte. */
function errorFor(packet: Uint8Array, from: string): Uint8Array {
  const isIpv4 = packet[0]! >> 4 === 4;
  const quote = packet.subarray(0, isIpv4 ? 576 - 28 : 1_280 - 48);
  const header = new Uint8Array(8);
  header.set(isIpv4 ? [3, 1] : [1, 3]);
  const body = concat(header, quote);
  const error = new Uint8Array((isIpv4 ? 20 : 40) + body.length);
  const view = viewOf(error);
  const source = packet.subarray(isIpv4 ? 12 : 8, isIpv4 ? 16 : 24);
  if (isIpv4) {
    error.set([0x45, 0xc0]);
    view.setUint16(2, error.length);
    error.set([64, 1], 8);
    error.set(address(from), 12);
    error.set(source, 16);
    view.setUint16(10, checksum(error.subarray(0, 20)));
    viewOf(body).setUint16(2, checksum(body));
    error.set(body, 20);
    return error;
  }
  error[0] = 0x60;
  view.setUint16(4, body.length);
  error.set([58, 64], 6);
  error.set(address(from), 8);
  error.set(source, 24);
  const pseudo = new Uint8Array(8);
  viewOf(pseudo).setUint32(0, body.length);
  pseudo[7] = 58;
  viewOf(body).setUint16(2, checksum(concat(error.subarray(8, 40), pseudo, body)));
  error.set(body, 40);
  return error;
}

const answered: readonly [title: string, packet: Uint8Array, from: string, reason: string][] = [
  ['a device', echoRequest(HOST, '10.0.0.2'), '10.0.0.1', 'peer_no_endpoint'],
  ['a device', echoRequest(HOST6, 'fd00::2'), 'fd00::1', 'peer_no_endpoint'],
  ['a network behind a device', echoRequest(HOST, '192.168.7.7'), '10.0.0.1', 'peer_no_endpoint'],
  ['an address of nobody', echoRequest(HOST, '10.0.0.99'), '10.0.0.1', 'no_peer'],
  ['an address of nobody', echoRequest(HOST6, 'fd00::99'), 'fd00::1', 'no_peer'],
  [
    'the first address of a family that could be a broadcast over IPv4',
    udp({ source: HOST6, destination: 'fd00::' }),
    'fd00::1',
    'no_peer',
  ],
  [
    'the host itself',
    udp({ source: '10.0.0.1', destination: '10.0.0.2', data: '' }),
    '10.0.0.1',
    'peer_no_endpoint',
  ],
  [
    'the host itself',
    udp({ source: 'fd00::1', destination: 'fd00::2', data: '' }),
    'fd00::1',
    'peer_no_endpoint',
  ],
  [
    'a large packet',
    udp({ source: HOST, destination: '10.0.0.2', data: counting(1_372) }),
    '10.0.0.1',
    'peer_no_endpoint',
  ],
  [
    'a large packet',
    udp({ source: HOST6, destination: 'fd00::2', data: counting(1_350) }),
    'fd00::1',
    'peer_no_endpoint',
  ],
];

for (const [title, packet, from, reason] of answered)
  for (const workers of [1, 3])
    test(`${title}, ${workers} workers, ${packet.length} bytes over IPv${packet[0]! >> 4}: ${reason}, and an answer`, (t) => {
      const scene = silent(workers);
      t.deepEqual(answersTo(scene, packet), [errorFor(packet, from)]);
      t.deepEqual(scene.gateway.drops(), { [reason]: 1 });
      t.deepEqual(scene.gateway.sample().answers, { sent: 1, withheld: 0 });
      t.is(parseInner(viewOf(scene.gateway.delivered[0]!), 0, 2_000, new InnerPacket()), 0);
    });

function icmp(source: string, destination: string, type: number, quote: Uint8Array): Uint8Array {
  const protocol = address(source).length === 4 ? 1 : 58;
  return ip({
    source,
    destination,
    protocol,
    payload: concat(Uint8Array.of(type, 0, 0, 0, 0, 0, 0, 0), quote),
  });
}

const quote = udp({ source: '10.0.0.2', destination: HOST });
const quote6 = udp({ source: 'fd00::2', destination: HOST6 });
const later4 = fragmentsOf(
  udp({ source: HOST, destination: '10.0.0.99', data: counting(900) }),
  500,
)[1]!;
const later6 = fragmentsOf(
  udp({ source: HOST6, destination: 'fd00::99', data: counting(900) }),
  500,
)[1]!;
const never: readonly [title: string, packet: Uint8Array][] = [
  ['an ICMP error', icmp(HOST, '10.0.0.99', 3, quote)],
  ['an ICMPv6 error', icmp(HOST6, 'fd00::99', 1, quote6)],
  ['an ICMP error of a kind that is not known', icmp(HOST6, 'fd00::99', 127, quote6)],
  ['an ICMP error to a device', icmp(HOST, '10.0.0.2', 11, quote)],
  ['a redirect', icmp(HOST, '10.0.0.99', 5, quote)],
  ['a redirect over IPv6', icmp(HOST6, 'fd00::99', 137, quote6)],
  [
    'ICMP without a whole header',
    ip({ source: HOST, destination: '10.0.0.99', protocol: 1, payload: Uint8Array.of(3, 1, 0, 0) }),
  ],
  ['a later fragment', later4],
  ['a later fragment over IPv6', later6],
  ['the broadcast of the tunnel network', udp({ source: HOST, destination: '10.0.0.255' })],
  ['the address of the tunnel network', udp({ source: HOST, destination: '10.0.0.0' })],
  [
    'the broadcast of a network behind a device',
    udp({ source: HOST, destination: '192.168.7.255' }),
  ],
  ['multicast', udp({ source: HOST, destination: '224.0.0.251' })],
  ['multicast over IPv6', udp({ source: HOST6, destination: 'ff02::fb' })],
  ['all hosts', udp({ source: HOST, destination: '255.255.255.255' })],
  ['a network that is none of ours', udp({ source: HOST, destination: '198.18.0.1' })],
  ['a network that is none of ours, over IPv6', udp({ source: HOST6, destination: 'fd01::1' })],
  ['who poses as a device', udp({ source: '10.0.0.2', destination: '10.0.0.99' })],
  ['who poses as a device over IPv6', udp({ source: 'fd00::2', destination: 'fd00::99' })],
  ['who poses as a host behind a device', udp({ source: '192.168.7.7', destination: '10.0.0.99' })],
  ['a sender of multicast', udp({ source: '224.0.0.1', destination: '10.0.0.99' })],
  ['a sender without an address', udp({ source: '::', destination: 'fd00::99' })],
  ['what is no packet', counting(60, 0x45)],
];

for (const [title, packet] of never)
  test(`never answered: ${title}`, (t) => {
    const scene = silent();
    t.deepEqual(answersTo(scene, packet), []);
    t.is(scene.gateway.sample().answers, undefined);
  });

test('the first fragment of a datagram for nobody is answered, and for a device once', (t) => {
  for (const destination of ['10.0.0.2', '10.0.0.99']) {
    const scene = silent();
    const fragments = fragmentsOf(udp({ source: HOST, destination, data: counting(2_000) }), 700);
    const got = fragments.flatMap((fragment) => answersTo(scene, fragment));
    t.deepEqual(got, [errorFor(fragments[0]!, '10.0.0.1')], destination);
  }
});

test('devices are never answered: neither for another device nor for nobody', (t) => {
  const scene = connectedClients(1, { gateway: { peers: 64 } });
  const { world, gateway, clients } = scene;
  const [client] = clients;
  client!.delivered.length = 0;
  gateway.delivered.length = 0;
  for (const destination of ['10.0.0.99', '10.0.0.3']) {
    client!.send(echoRequest('10.0.0.2', destination));
    world.run(SECOND);
  }
  t.deepEqual([client!.delivered, gateway.delivered], [[], []]);
  t.deepEqual(gateway.drops(), { no_peer: 2 });
});

test('a device that has an endpoint, and only waits for its handshake, is not unreachable', (t) => {
  const { world, gateway, clients } = connectedClients(1, { gateway: { peers: 64 } });
  gateway.delivered.length = 0;
  // The session has ended, and the device does not answer any more.
  world.run(200 * SECOND);
  clients[0]!.delivered.length = 0;
  world.wire.length = 0;
  gateway.send(echoRequest(HOST, '10.0.0.2'));
  world.run(SECOND);
  t.deepEqual(gateway.delivered, []);
  t.is(gateway.sample().answers, undefined);
});

test('a device that is at another gateway is not unreachable', (t) => {
  const { world, gateway, clients } = connectedClients(1, { gateway: { peers: 64 } });
  gateway.delivered.length = 0;
  gateway.pipeline.release(
    new Map([[clients[0]!.key, world.wallMs + 1_000]]),
    world.now,
    world.wallMs,
  );
  gateway.send(echoRequest(HOST, '10.0.0.2'));
  world.run(1);
  t.deepEqual(gateway.delivered, []);
  t.deepEqual(gateway.drops(), { peer_elsewhere: 1 });
});

test('a worker sends ten at once, then ten a second, and counts what it holds back', (t) => {
  const scene = silent();
  const { world, gateway } = scene;
  const packet = echoRequest(HOST, '10.0.0.99');
  let sent = 0;
  for (let i = 0; i < 50; i++) sent += answersTo(scene, packet).length;
  t.true(sent >= UNREACHABLE_BURST && sent <= UNREACHABLE_BURST + 1, `${sent} in 50 ms`);
  t.deepEqual(gateway.sample().answers, { sent, withheld: 50 - sent });
  world.run(10 * UNREACHABLE_BURST * UNREACHABLE_INTERVAL_MS);
  const later: number[] = [];
  for (let i = 0; i < 3_000; i += 10) {
    later.push(answersTo(scene, packet).length);
    world.run(9);
  }
  const all = later.reduce((sum, one) => sum + one, 0);
  t.true(all >= 39 && all <= 41, `${all} in three seconds and a burst of ten`);
});

test('many in one batch are answered in their order, and what passes meanwhile passes', (t) => {
  const { world, gateway, clients } = connectedClients(1, { gateway: { peers: 64, workers: 1 } });
  gateway.delivered.length = 0;
  clients[0]!.delivered.length = 0;
  const packets = Array.from({ length: 20 }, (_, i) =>
    udp({ source: HOST, destination: `10.0.0.${100 + i}`, data: `number ${i}` }),
  );
  const good = udp({ source: HOST, destination: '10.0.0.2', data: 'good' });
  for (const packet of packets) {
    gateway.engine.acceptPacket(packet);
    gateway.engine.acceptPacket(good);
  }
  gateway.pipeline.outbound(world.now, world.wallMs);
  t.deepEqual(
    gateway.delivered,
    packets.slice(0, UNREACHABLE_BURST).map((packet) => errorFor(packet, '10.0.0.1')),
  );
  world.run(SECOND);
  t.deepEqual(
    clients[0]!.delivered,
    packets.map(() => good),
  );
});

test('where the host refuses its own address from the TUN, the one that is not reached answers', (t) => {
  const written: Uint8Array[] = [];
  const packets = createPacketBatch();
  const unreachable = new Unreachable({
    engine: {
      packets,
      writeTun: ({ bytes, descriptors }) => {
        const offset = descriptors[OFFSET]!;
        written.push(bytes.slice(offset, offset + descriptors[LENGTH]!));
      },
    },
    sanity: { outward: () => reasons.none, placeOf: () => PLACE_PEERS },
    ipv4: { network: address('10.0.0.0'), prefixBits: 24, address: address('10.0.0.1') },
    ipv6: { network: address('fd00::'), prefixBits: 64, address: address('fd00::1') },
    takesOwnSource: false,
  });
  for (const [packet, from] of [
    [echoRequest(HOST, '10.0.0.99'), '10.0.0.99'],
    [echoRequest(HOST6, 'fd00::99'), 'fd00::1'],
  ] as const) {
    packets.bytes.set(packet);
    packets.descriptors[OFFSET] = 0;
    packets.descriptors[LENGTH] = packet.length;
    packets.count = 1;
    unreachable.noPeer(packets, 0, 5_000);
    unreachable.send();
    t.deepEqual(written.pop(), errorFor(packet, from));
    t.is(packets.count, 1, 'the batch is as it was');
  }
});
