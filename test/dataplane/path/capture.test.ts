// Captures of a device, with one worker and with several: each packet of the device is captured
// once, as it came and with the verdict that it got, and no packet of others is.

import test from 'ava';
import {
  type CapturedPacket,
  createCapturedPacket,
  FROM_DEVICE,
  REFUSED,
  TO_DEVICE,
} from '../../../dataplane/rings/capture-ring.ts';
import type { Capture } from '../../../dataplane/gateway/captures.ts';
import { FRAGMENTS_MS_V4, SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import type { CaptureOrder } from '../../../dataplane/path/capture.ts';
import { VIRTIO_HEADER_BYTES } from '../../../dataplane/wire/virtio.ts';
import { connectedClients } from '../../support/dataplane/pipeline-scenes.ts';
import { fragmentsOf } from '../../support/dataplane/fragments.ts';
import { counting, echoRequest, flagsOf, join, tcp, udp } from '../../support/dataplane/packets.ts';
import { gatewayAndClients, type Node, peer, rule } from '../../support/dataplane/simulation.ts';

const PLACES = { [FROM_DEVICE]: 'from', [TO_DEVICE]: 'to', [REFUSED]: 'refused' } as const;

function order(publicKey: string, fields: Partial<CaptureOrder> = {}): CaptureOrder {
  const any = { destination: null, protocol: null, port: null } as const;
  return { publicKey, snaplen: 65_535, onlyRefused: false, ...any, ...fields };
}

/** Everything that waits, in copies. */
function taken(capture: Capture): CapturedPacket[] {
  const found: CapturedPacket[] = [];
  const packet = createCapturedPacket();
  while (capture.take(packet)) found.push({ ...packet, bytes: packet.bytes.slice() });
  capture.free();
  return found;
}

/** Where each packet was captured, why it was refused, and by which rule. */
function lines(capture: Capture): string[] {
  return taken(capture).map(({ place, reason, by, rule: id, isOutbound }) =>
    [PLACES[place as keyof typeof PLACES], isOutbound ? 'out' : 'in', reason, by, id ?? '-'].join(
      ' ',
    ),
  );
}

async function begin(
  gateway: Node,
  key: string,
  fields: Partial<CaptureOrder> = {},
): Promise<Capture> {
  return (await gateway.capture(order(key, fields)))!;
}

for (const workers of [1, 2, 5]) {
  const scene = (
    count: number,
    options: Parameters<typeof connectedClients>[1] = {},
  ): ReturnType<typeof connectedClients> => {
    const gateway = { workers, ...options.gateway };
    return connectedClients(count, { ...options, gateway });
  };

  test(`${workers} workers: fragments are captured when their datagram is judged, in its order`, async (t) => {
    const { world, gateway, clients, peers } = scene(2);
    gateway.apply(peers, {
      owner: [rule('no', 'drop', '9.9.9.9', { type: 'udp', first: 9 })],
    });
    // Only the first fragment has ports; the others belong to it.
    const capture = await begin(gateway, clients[0]!.key, { protocol: 'udp', port: 9 });
    const cut = (source: string, destination: string): Uint8Array[] =>
      fragmentsOf(udp({ source, destination, destinationPort: 9, data: counting(2_000) }), 900);
    for (const [destination, says] of [
      ['8.8.8.8', 'from in none'],
      ['10.0.0.3', 'from in none'],
      ['9.9.9.9', 'refused in rule_drop'],
    ] as const) {
      const fragments = cut('10.0.0.2', destination);
      for (const i of [2, 0]) clients[0]!.send(fragments[i]!);
      world.run(100);
      t.deepEqual(taken(capture), [], 'nothing, until it is complete');
      clients[0]!.send(fragments[1]!);
      world.run(100);
      const found = taken(capture);
      t.deepEqual(
        found.map(({ bytes }) => bytes),
        fragments,
        destination,
      );
      t.deepEqual(
        found.map(({ length }) => length),
        fragments.map(({ length }) => length),
      );
      for (const { place, reason, isOutbound } of found)
        t.is(
          `${PLACES[place as keyof typeof PLACES]} ${isOutbound ? 'out' : 'in'} ${reason}`,
          says,
        );
    }
    const down = cut('8.8.8.8', '10.0.0.2');
    for (const fragment of down.toReversed()) gateway.send(fragment);
    world.run(100);
    const found = taken(capture);
    t.deepEqual(
      found.map(({ bytes }) => bytes),
      down,
    );
    t.true(found.every(({ place }) => place === TO_DEVICE));
    // One that is never complete, with the ports that its first fragment has.
    clients[0]!.send(cut('10.0.0.2', '8.8.8.8')[0]!);
    world.run(FRAGMENTS_MS_V4 + 1_000);
    t.deepEqual(lines(capture), ['refused in inner_fragments_expired nothing -']);
  });

  test(`${workers} workers: packets of a device are captured where they pass`, async (t) => {
    const { world, gateway, clients, peers } = scene(3);
    const rules = { owner: [rule('no', 'drop', '9.9.9.9'), rule('yes', 'accept', '8.8.8.8')] };
    gateway.apply(peers, rules);
    const capture = await begin(gateway, clients[0]!.key);
    const up = udp({ source: '10.0.0.2', destination: '8.8.8.8', data: 'up' });
    const down = udp({
      source: '8.8.8.8',
      destination: '10.0.0.2',
      sourcePort: 5_000,
      destinationPort: 4_000,
      data: 'down',
    });
    clients[0]!.send(up);
    world.run(100);
    gateway.send(down);
    world.run(100);
    clients[0]!.send(udp({ source: '10.0.0.2', destination: '9.9.9.9' }));
    clients[0]!.send(udp({ source: '10.0.0.99', destination: '8.8.8.8' }));
    gateway.send(udp({ source: '10.0.0.3', destination: '10.0.0.2' }));
    // Of others.
    clients[1]!.send(udp({ source: '10.0.0.3', destination: '8.8.8.8' }));
    clients[1]!.send(udp({ source: '10.0.0.3', destination: '10.0.0.4' }));
    gateway.send(udp({ source: '8.8.8.8', destination: '10.0.0.3' }));
    world.run(100);
    const found = taken(capture);
    t.deepEqual(found.slice(0, 2), [
      {
        place: FROM_DEVICE,
        isOutbound: false,
        reason: 'none',
        by: 'rule',
        rule: 'yes',
        flow: 'opens',
        wallMs: found[0]!.wallMs,
        length: up.length,
        segmentBytes: 0,
        bytes: up,
      },
      {
        place: TO_DEVICE,
        isOutbound: true,
        reason: 'none',
        by: 'rule',
        rule: 'yes',
        flow: 'continues',
        wallMs: found[1]!.wallMs,
        length: down.length,
        segmentBytes: 0,
        bytes: down,
      },
    ]);
    t.true(Math.abs(found[0]!.wallMs - world.wallMs) < 1_000);
    const refused = found.slice(2).map(({ place, reason, rule: id, isOutbound }) => {
      t.is(place, REFUSED);
      return [reason, id, isOutbound];
    });
    t.deepEqual(
      refused.toSorted((a, b) => String(a).localeCompare(String(b))),
      [
        ['inner_source_not_allowed', null, false],
        ['packet_source_forged', null, true],
        ['rule_drop', 'no', false],
      ],
    );
  });

  test(`${workers} workers: between devices, each end captures a packet once`, async (t) => {
    const { world, gateway, clients, peers } = scene(4);
    gateway.apply(peers, { owner: [rule('no', 'drop', '10.0.0.5')] });
    for (const [from, to] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const) {
      const [sender, receiver] = await Promise.all([
        begin(gateway, clients[from]!.key),
        begin(gateway, clients[to]!.key),
      ]);
      const packet = udp({
        source: `10.0.0.${2 + from}`,
        destination: `10.0.0.${2 + to}`,
        sourcePort: 1_000 + 10 * from + to,
      });
      clients[from]!.send(packet);
      world.run(100);
      t.deepEqual(lines(sender), ['from in none default -']);
      const [arrived] = taken(receiver);
      t.is(arrived!.place, TO_DEVICE);
      t.is(arrived!.reason, 'none');
      sender.end();
      receiver.end();
    }
    // What the sender's worker refuses on its way to the device.
    const receiver = await begin(gateway, clients[3]!.key);
    for (const client of [0, 1, 2])
      clients[client]!.send(udp({ source: `10.0.0.${2 + client}`, destination: '10.0.0.5' }));
    world.run(100);
    t.deepEqual(
      lines(receiver),
      Array.from({ length: 3 }, () => 'refused out rule_drop rule no'),
    );
  });

  test(`${workers} workers: a device that cannot be reached, and one that is too small`, async (t) => {
    const { world, gateway, clients, peers } = scene(2);
    const gone = peer({ key: gatewayAndClients(1, 99).clients[0]!.key, ipv4: '10.0.0.9' });
    gateway.apply([...peers.map((one) => ({ ...one, mtu: 600 })), gone]);
    const capture = await begin(gateway, gone.publicKey);
    gateway.send(udp({ source: '8.8.8.8', destination: '10.0.0.9' }));
    clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.9' }));
    world.run(100);
    t.deepEqual(
      lines(capture).sort(),
      ['default', 'nothing'].map((by) => `refused out peer_no_endpoint ${by} -`),
    );
    capture.end();
    const own = await begin(gateway, clients[0]!.key);
    const big = { source: '10.0.0.2', destination: '10.0.0.3', data: counting(700) };
    clients[0]!.send(udp(big));
    world.run(100);
    // Where two workers judge it, the sender's lets it pass.
    const found = lines(own);
    t.true(found.includes('refused in packet_too_big default -'), found.join());
    if (found.length > 1 && !found.includes('from in none default -'))
      t.deepEqual(found[1], 'to out none gateway -');
  });

  test(`${workers} workers: only what is asked for is captured`, async (t) => {
    const { world, gateway, clients, peers } = scene(2);
    gateway.apply(peers, { owner: [rule('no', 'drop', '9.9.9.0/24')] });
    const client = clients[0]!;
    const [source, source6] = ['10.0.0.2', 'fd00::2'];
    const send = (): void => {
      client.send(
        tcp({
          source,
          destination: '8.8.8.8',
          sourcePort: 5_000,
          destinationPort: 443,
          flags: flagsOf('S'),
        }),
        udp({ source, destination: '8.8.4.4', sourcePort: 5_001, destinationPort: 53 }),
        udp({ source, destination: '9.9.9.9', sourcePort: 5_002, destinationPort: 53 }),
        echoRequest(source, '9.9.9.9'),
        echoRequest(source, '8.8.8.8'),
        udp({ source: source6, destination: '2001:db8::1', destinationPort: 53 }),
        echoRequest(source6, '2001:db8::1'),
        // No packet at all.
        Uint8Array.from({ length: 40 }, () => 0x11),
      );
      gateway.send(udp({ source: '8.8.8.8', destination: source, sourcePort: 53 }));
      world.run(100);
    };
    const count = async (fields: Partial<CaptureOrder>): Promise<number> => {
      const capture = await begin(gateway, client.key, fields);
      send();
      const { length } = taken(capture);
      capture.end();
      return length;
    };
    const network = (first: number, prefixBits: number): CaptureOrder['destination'] => ({
      address: Uint8Array.of(first, first, first, first),
      prefixBits,
    });
    t.is(await count({}), 9);
    t.is(await count({ protocol: 'tcp' }), 1);
    t.is(await count({ protocol: 'udp' }), 4);
    t.is(await count({ protocol: 'icmp' }), 3);
    t.is(await count({ port: 53 }), 4);
    t.is(await count({ port: 443, protocol: 'udp' }), 0);
    t.is(await count({ destination: network(8, 32) }), 3);
    t.is(await count({ destination: network(8, 8) }), 4);
    t.is(await count({ destination: network(8, 0) }), 6, 'every one of IPv4 that can be read');
    t.is(await count({ destination: network(9, 24), protocol: 'icmp' }), 1);
    t.is(await count({ onlyRefused: true }), 3);
    t.is(await count({ onlyRefused: true, port: 53 }), 1);
  });

  test(`${workers} workers: of long packets the beginning is kept`, async (t) => {
    const { world, gateway, clients } = scene(1);
    const capture = await begin(gateway, clients[0]!.key, { snaplen: 40 });
    const packet = udp({ source: '10.0.0.2', destination: '8.8.8.8', data: counting(1_000) });
    clients[0]!.send(packet);
    world.run(100);
    const [found] = taken(capture);
    t.is(found!.length, packet.length);
    t.deepEqual(found!.bytes, packet.subarray(0, 40));
  });

  test(`${workers} workers: a device that comes back is captured again`, async (t) => {
    const { world, gateway, clients, peers } = scene(2);
    const capture = await begin(gateway, clients[0]!.key);
    gateway.apply(peers.slice(1));
    clients[1]!.send(udp({ source: '10.0.0.3', destination: '10.0.0.2' }));
    world.run(100);
    t.deepEqual(lines(capture), []);
    gateway.apply(peers);
    clients[0]!.sender.initiate(clients[0]!.peer, false, world.now);
    world.run(10_000);
    clients[0]!.send(udp({ source: '10.0.0.2', destination: '8.8.8.8' }));
    world.run(10_000);
    t.deepEqual(lines(capture), ['from in none default -']);
  });

  test(`${workers} workers: a capture that has ended captures nothing more`, async (t) => {
    const { world, gateway, clients } = scene(1);
    const [first, second] = [
      await begin(gateway, clients[0]!.key),
      await begin(gateway, clients[0]!.key),
    ];
    t.is(await gateway.capture(order(clients[0]!.key)), null);
    const packet = udp({ source: '10.0.0.2', destination: '8.8.8.8' });
    clients[0]!.send(packet);
    world.run(100);
    t.is(taken(first).length, 1);
    first.end();
    clients[0]!.send(packet);
    world.run(100);
    t.is(taken(first).length, 0);
    t.is(taken(second).length, 2);
    second.end();
    for (const { pipeline } of gateway.workers) t.false(pipeline.isCapturing);
  });

  test(`${workers} workers: while the database is away, what is refused for it is captured`, async (t) => {
    const { world, gateway, clients } = scene(1);
    const capture = await begin(gateway, clients[0]!.key);
    gateway.change({ added: [], updated: [], removed: [], scopes: [], isClosed: true });
    clients[0]!.send(udp({ source: '10.0.0.2', destination: '8.8.8.8' }));
    gateway.send(udp({ source: '8.8.8.8', destination: '10.0.0.2' }));
    world.run(100);
    t.deepEqual(lines(capture).sort(), [
      'refused in database_away nothing -',
      'refused out database_away nothing -',
    ]);
  });
}

test('a super-packet is captured once, with the size of its segments', async (t) => {
  const { gateway, clients } = connectedClients(1, { gateway: { workers: 1 } });
  const capture = await begin(gateway, clients[0]!.key, { snaplen: 64 });
  const fields = { source: '8.8.8.8', destination: '10.0.0.2', sourcePort: 80 };
  const segments = [0, 1, 2].map((i) => tcp({ ...fields, data: counting(i === 2 ? 100 : 1_000) }));
  const { header, packet } = join(segments);
  const { engine, pipeline } = gateway.workers[0]!;
  engine.acceptPacket(packet);
  engine.packets.bytes.set(header, SLOT_HEADROOM_BYTES - VIRTIO_HEADER_BYTES);
  pipeline.outbound(2_000, 2_000);
  const [found, ...others] = taken(capture);
  t.is(others.length, 0);
  t.is(found!.length, packet.length);
  t.is(found!.segmentBytes, segments[0]!.length);
  t.deepEqual(found!.bytes, packet.subarray(0, 64));
});

for (const flags of [0, 1])
  test(`a packet of the TUN says whether its checksum is complete: flags ${flags}`, async (t) => {
    const { gateway, clients } = connectedClients(1, { gateway: { workers: 1 } });
    const capture = await begin(gateway, clients[0]!.key);
    const { engine, pipeline } = gateway.workers[0]!;
    const addresses = { source: '8.8.8.8', destination: '10.0.0.2' };
    engine.acceptPacket(tcp({ ...addresses, sourcePort: 80, data: counting(12) }));
    engine.packets.bytes[SLOT_HEADROOM_BYTES - VIRTIO_HEADER_BYTES] = flags;
    pipeline.outbound(2_000, 2_000);
    t.is(taken(capture)[0]?.segmentBytes, flags);
  });

test('an answer of the gateway itself is captured on its way to the device', async (t) => {
  const { world, gateway, clients } = connectedClients(1, {
    gateway: { workers: 1, hasTun: false },
  });
  const capture = await begin(gateway, clients[0]!.key, { protocol: 'icmp' });
  clients[0]!.send(echoRequest('10.0.0.2', '10.0.0.1', 5));
  world.run(100);
  const found = taken(capture);
  t.deepEqual(
    found.map(({ place, by }) => [place, by]),
    [
      [FROM_DEVICE, 'default'],
      [TO_DEVICE, 'gateway'],
    ],
  );
  t.deepEqual(found[1]!.bytes, clients[0]!.delivered[0]);
});
