// Datagrams in fragments, through a whole gateway in virtual time: every way, both families, any
// order; judged once, as a whole; floods of one device and of twenty; and the losses of real paths.
// docs/packets.md#fragments.

import test, { type ExecutionContext } from 'ava';
import { MAX_STAGED_PER_PEER } from '../../../dataplane/constants.ts';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { dice, fragmentsOf, shuffled } from '../../support/dataplane/fragments.ts';
import {
  concat,
  counting,
  echoRequest,
  extension,
  fragmentHeader,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { connectedClients, from, from6, SECOND } from '../../support/dataplane/pipeline-scenes.ts';
import { type Client, rule } from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';
import { tries } from '../../support/dataplane/seed.ts';

type Scene = ReturnType<typeof connectedClients>;

const all = ['0.0.0.0/0', '::/0'] as const;

function sceneOf(count: number, workers = 1): Scene {
  const scene = connectedClients(count, { gateway: { workers, peers: 64 } });
  forget(scene);
  return scene;
}

function forget({ gateway, clients }: Scene): void {
  gateway.delivered.length = 0;
  for (const client of clients) client.delivered.length = 0;
}

/** What is the same with a hop less. */
function hop(packet: Uint8Array): Uint8Array {
  const copy = packet.slice();
  if (copy[0]! >> 4 === 6) copy[7]! -= 1;
  else {
    copy[8]! -= 1;
    const sum = viewOf(copy).getUint16(10) + 0x0100;
    viewOf(copy).setUint16(10, (sum & 0xffff) + (sum >>> 16));
  }
  return copy;
}

// ---- every way -------------------------------------------------------------------------------

const ways = {
  'to the LAN': {
    ends: [from, from6],
    send: ({ clients }: Scene, packet: Uint8Array) => clients[0]!.send(packet),
    arrived: ({ gateway }: Scene) => gateway.delivered,
    changed: (packet: Uint8Array) => packet,
  },
  'from the LAN': {
    ends: [
      { source: from.destination, destination: '10.0.0.2' },
      { source: from6.destination, destination: 'fd00::2' },
    ],
    send: ({ gateway }: Scene, packet: Uint8Array) => gateway.send(packet),
    arrived: ({ clients }: Scene) => clients[0]!.delivered,
    changed: (packet: Uint8Array) => packet,
  },
  'to another device': {
    ends: [
      { source: '10.0.0.2', destination: '10.0.0.3' },
      { source: 'fd00::2', destination: 'fd00::3' },
    ],
    send: ({ clients }: Scene, packet: Uint8Array) => clients[0]!.send(packet),
    arrived: ({ clients }: Scene) => clients[1]!.delivered,
    changed: hop,
  },
} as const;

const orders: readonly [title: string, order: (fragments: Uint8Array[]) => Uint8Array[]][] = [
  ['in order', (fragments) => fragments],
  ['backwards', (fragments) => fragments.toReversed()],
  ['in no order', (fragments) => shuffled(fragments, dice(3))],
  [
    'each of them twice',
    (fragments) => [...fragments.slice(1), ...fragments.slice(1), fragments[0]!],
  ],
];

for (const workers of [1, 2])
  for (const [way, { ends, send, arrived, changed }] of Object.entries(ways))
    for (const [title, order] of orders)
      test(`${way}, ${workers} workers, ${title}: a datagram leaves complete and in order`, (t) => {
        const scene = sceneOf(2, workers);
        for (const [i, end] of ends.entries()) {
          const whole = udp({ ...end, data: counting(5_000), fragment: 0 });
          const fragments = fragmentsOf(whole, 1_300 - i * 40);
          const [last, ...rest] = order(fragments).toReversed() as [Uint8Array, ...Uint8Array[]];
          for (const fragment of rest.toReversed()) send(scene, fragment);
          scene.world.run(100);
          t.deepEqual(arrived(scene), [], 'nothing leaves before it is complete');
          send(scene, last);
          scene.world.run(100);
          t.deepEqual(arrived(scene), fragments.map(changed));
          forget(scene);
        }
        t.deepEqual(scene.gateway.drops(), {});
      });

for (const workers of [1, 2])
  test(`where pasta is behind the TUN, ${workers} workers: to the LAN in one piece`, (t) => {
    const gateway = { workers, peers: 64, joinsForTun: true };
    const scene = connectedClients(2, { gateway });
    forget(scene);
    for (const [way, { ends, send, arrived, changed }] of Object.entries(ways))
      for (const [i, end] of ends.entries())
        for (const bytes of way === 'to the LAN' ? [3_000, 65_507] : [3_000]) {
          const whole = udp({ ...end, data: counting(bytes), fragment: 0, identification: bytes });
          const fragments = fragmentsOf(whole, 1_300 - i * 40, bytes);
          for (const fragment of shuffled(fragments, dice(4))) send(scene, fragment);
          scene.world.run(100);
          const wanted = way === 'to the LAN' ? [whole] : fragments.map(changed);
          const lengths = wanted.map(({ length }) => length);
          t.deepEqual(
            arrived(scene).map(({ length }) => length),
            lengths,
            `${way}: ${bytes} bytes`,
          );
          t.true(arrived(scene).every((one, n) => Buffer.compare(one, wanted[n]!) === 0));
          forget(scene);
        }
    t.deepEqual(scene.gateway.drops(), {});
  });

test('options, extension headers and every upper layer go in fragments too', (t) => {
  const scene = sceneOf(1);
  const { world, gateway, clients } = scene;
  const data = counting(3_000);
  const options = { extensions: [extension(0), extension(60)] };
  const kinds: readonly [string, Uint8Array[]][] = [
    [
      'IPv4 options',
      fragmentsOf(udp({ ...from, data, ipOptions: new Uint8Array(8).fill(1), fragment: 0 }), 600),
    ],
    ['headers before it', fragmentsOf(udp({ ...from6, data, ...options }), 1_000, 7, 56)],
    [
      'one before it, one behind it',
      fragmentsOf(udp({ ...from6, data, ...options }), 1_000, 8, 48),
    ],
    ['headers behind it', fragmentsOf(udp({ ...from6, data, ...options }), 1_000, 9)],
    ['TCP', fragmentsOf(tcp({ ...from, data, flags: 2, fragment: 0 }), 1_000, 10)],
    ['a ping', fragmentsOf(echoRequest(from6.source, from6.destination, 1, 7, 3_000), 1_000, 11)],
    ['GRE', fragmentsOf(ip({ ...from, protocol: 47, payload: data, fragment: 0 }), 1_000, 12)],
    [
      'a datagram of 65,535 bytes',
      fragmentsOf(udp({ ...from, data: counting(65_507), fragment: 0 }), 1_400, 13),
    ],
    [
      'one in 300 fragments',
      fragmentsOf(udp({ ...from, data: counting(40_000), fragment: 0 }), 156, 14),
    ],
  ];
  for (const [title, fragments] of kinds) {
    for (const fragment of shuffled(fragments, dice(5))) clients[0]!.send(fragment);
    world.run(100);
    t.deepEqual(gateway.delivered.splice(0), fragments, title);
  }
  const atomic = udp({ ...from6, extensions: [fragmentHeader(0, false)], data: counting(20) });
  clients[0]!.send(atomic);
  world.run(100);
  t.deepEqual(gateway.delivered, [atomic], 'RFC 6946: a fragment that is all is judged alone');
  t.deepEqual(gateway.drops(), {});
});

test('packets keep their order around a datagram in fragments', (t) => {
  for (const [, { ends, send, arrived, changed }] of Object.entries(ways)) {
    const scene = sceneOf(2);
    const end = ends[0];
    const small = [0, 1, 2].map((i) => udp({ ...end, data: counting(20, i) }));
    const [first, second] = fragmentsOf(udp({ ...end, data: counting(2_000), fragment: 0 }), 1_300);
    for (const packet of [small[0]!, first!, small[1]!, second!, small[2]!]) send(scene, packet);
    scene.world.run(100);
    const wanted = [small[0]!, small[1]!, first!, second!, small[2]!];
    t.deepEqual(arrived(scene), wanted.map(changed));
  }
});

test('a batch from the TUN keeps its packets where a datagram is complete in its middle', (t) => {
  const { world, gateway, clients } = sceneOf(1);
  const ends = { source: from.destination, destination: '10.0.0.2' };
  const fragments = fragmentsOf(udp({ ...ends, data: counting(60_000), fragment: 0 }), 1_400);
  const small = Array.from({ length: 8 }, (_, i) => udp({ ...ends, data: counting(100, i) }));
  const batch = [...small.slice(0, 4), ...fragments, ...small.slice(4)];
  t.true(batch.length < 64);
  gateway.send(...batch);
  world.run(100);
  t.deepEqual(clients[0]!.delivered, batch);
});

// ---- judged as a whole -----------------------------------------------------------------------

const dns: RuleConfig = rule('dns', 'accept', from.destination, { type: 'udp', first: 53 });

function ruled(t: ExecutionContext, rules: readonly RuleConfig[]): Scene {
  const scene = sceneOf(1);
  scene.gateway.apply(scene.peers, { owner: rules });
  t.deepEqual(scene.gateway.drops(), {});
  return scene;
}

test('ports decide about the whole datagram, and a rule counts it once', (t) => {
  const { world, gateway, clients } = ruled(t, [
    dns,
    ...all.map((net, i) => rule(`${i}`, 'drop', net)),
  ]);
  const send = (destinationPort: number, id: number): Uint8Array[] => {
    const fragments = fragmentsOf(
      udp({ ...from, destinationPort, data: counting(3_000), fragment: 0 }),
      1_000,
      id,
    );
    for (const fragment of fragments.toReversed()) clients[0]!.send(fragment);
    world.run(100);
    return fragments;
  };
  const passed = send(53, 1);
  t.deepEqual(gateway.delivered, passed);
  send(54, 2);
  t.is(gateway.delivered.length, passed.length);
  const { drops, rules } = gateway.sample();
  t.deepEqual(drops, { rule_drop: 1 });
  const hits = new Map(rules.map(({ id, packets, bytes }) => [id, [packets, bytes]]));
  t.deepEqual(Object.fromEntries(hits), { 0: [1, 3_028], dns: [1, 3_028] });
});

test('the rules of now judge a datagram that began under others', (t) => {
  const { world, gateway, clients, peers } = ruled(t, []);
  const [first, second] = fragmentsOf(udp({ ...from, data: counting(2_000), fragment: 0 }), 1_300);
  clients[0]!.send(first!);
  world.run(100);
  gateway.apply(peers, { owner: [rule('1', 'drop', '0.0.0.0/0')] });
  clients[0]!.send(second!);
  world.run(100);
  t.deepEqual(gateway.delivered, []);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('a fragmented error of ICMP belongs to the flow that it quotes', (t) => {
  const scene = ruled(t, [rule('1', 'drop', '0.0.0.0/0')]);
  const { world, gateway, clients } = scene;
  const asked = udp({ source: from.destination, destination: '10.0.0.2', data: counting(900) });
  gateway.send(asked);
  world.run(100);
  const about = (quoted: Uint8Array): Uint8Array =>
    ip({
      ...from,
      protocol: 1,
      payload: concat(Uint8Array.of(3, 3, 0, 0, 0, 0, 0, 0), quoted),
      fragment: 0,
    });
  // The first fragment ends in the middle of what is quoted.
  const known = fragmentsOf(about(asked), 44, 1);
  for (const fragment of shuffled(known, dice(1))) clients[0]!.send(fragment);
  const unknown = udp({ source: from.destination, destination: '10.0.0.2', sourcePort: 9 });
  for (const fragment of fragmentsOf(about(unknown), 44, 2)) clients[0]!.send(fragment);
  world.run(100);
  t.deepEqual(gateway.delivered, known);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('a limit takes or refuses whole datagrams', (t) => {
  const { world, gateway, clients, peers } = sceneOf(1);
  gateway.apply([{ ...peers[0]!, limitUp: 1_000_000 }]);
  let sent = 0;
  for (let id = 0; id < 400; id++, sent++) {
    for (const fragment of fragmentsOf(
      udp({ ...from, data: counting(4_000), fragment: 0 }),
      1_300,
      id,
    ))
      clients[0]!.send(fragment);
    world.run(10);
  }
  const dropped = gateway.drops()['rate_limit']!;
  t.is(gateway.delivered.length, (sent - dropped) * 4);
  // 4 s and the burst of 0.5 s; the headers of all fragments count.
  t.true(Math.abs((sent - dropped) * 4_108 * 8 - 4_500_000) < 100_000, `${dropped}`);
});

test('a quota refuses whole datagrams, but those to the gateway', (t) => {
  const { world, gateway, clients, peers } = sceneOf(1);
  gateway.apply([{ ...peers[0]!, isOverQuota: true }]);
  const own = fragmentsOf(
    udp({ ...from, destination: '10.0.0.1', data: counting(2_000), fragment: 0 }),
    1_300,
  );
  for (const fragment of [
    ...fragmentsOf(udp({ ...from, data: counting(2_000), fragment: 0 }), 1_300),
    ...own,
  ])
    clients[0]!.send(fragment);
  world.run(100);
  t.deepEqual(gateway.delivered, own);
  t.deepEqual(gateway.drops(), { quota_exceeded: 1 });
});

test('fragments that are too big for the other device are answered once', (t) => {
  const { world, gateway, clients, peers } = sceneOf(2);
  gateway.apply([peers[0]!, { ...peers[1]!, mtu: 1_280 }]);
  const ends = { source: 'fd00::2', destination: 'fd00::3', data: counting(3_000) };
  for (const fragment of fragmentsOf(udp(ends), 1_400)) clients[0]!.send(fragment);
  world.run(100);
  t.deepEqual(gateway.drops(), { packet_too_big: 1 });
  t.deepEqual(
    clients[0]!.delivered.map((bytes) => bytes[40]),
    [2],
  );
  t.deepEqual(clients[1]!.delivered, []);
  const fits = fragmentsOf(udp(ends), 1_280, 8);
  for (const fragment of fits) clients[0]!.send(fragment);
  world.run(100);
  t.deepEqual(clients[1]!.delivered, fits.map(hop));
});

test('without a TUN a ping in fragments is not answered', (t) => {
  const scene = connectedClients(1, { gateway: { hasTun: false } });
  const ping = echoRequest('10.0.0.2', '10.0.0.1', 1, 7, 3_000);
  viewOf(ping).setUint16(6, 0);
  for (const fragment of fragmentsOf(ping, 1_300)) scene.clients[0]!.send(fragment);
  scene.world.run(100);
  t.deepEqual(scene.gateway.drops(), { no_tun: 1 });
});

test('a fragment with the address of another device is nobody’s', (t) => {
  const { world, gateway, clients } = sceneOf(2);
  const forged = fragmentsOf(
    udp({ ...from, source: '10.0.0.3', data: counting(2_000), fragment: 0 }),
    1_300,
  );
  const [first] = fragmentsOf(udp({ ...from, data: counting(2_000), fragment: 0 }), 1_300);
  clients[0]!.send(first!, ...forged);
  world.run(100);
  t.deepEqual(gateway.delivered, []);
  t.deepEqual(gateway.drops(), { inner_source_not_allowed: 2 });
});

// ---- what is given up ------------------------------------------------------------------------

const refusedDatagrams: readonly [title: string, reason: string, parts: Uint8Array[]][] = (() => {
  const part = (start: number, bytes: number, more: boolean, first = 0): Uint8Array =>
    ip({
      ...from,
      protocol: 17,
      payload: udp({ ...from, data: counting(5_000, first) }).subarray(
        20 + start,
        20 + start + bytes,
      ),
      identification: 7,
      fragment: (more ? 0x2000 : 0) | (start / 8),
    });
  return [
    [
      'a part that lies over another',
      'inner_fragment_unsafe',
      [part(0, 800, true), part(792, 800, false)],
    ],
    [
      'a part that comes again with other bytes',
      'inner_fragment_unsafe',
      [part(0, 800, true), part(0, 800, true, 1)],
    ],
    ['two ends', 'inner_fragment_malformed', [part(1_600, 16, false), part(3_200, 16, false)]],
    [
      'a part behind the end',
      'inner_fragment_malformed',
      [part(1_600, 16, false), part(3_200, 16, true)],
    ],
    [
      'an end before a part',
      'inner_fragment_malformed',
      [part(3_200, 16, true), part(1_600, 16, false)],
    ],
  ];
})();

for (const [title, reason, parts] of refusedDatagrams)
  test(`${title} ends its datagram: ${reason}`, (t) => {
    const { world, gateway, clients } = sceneOf(1);
    for (const part of parts) clients[0]!.send(part);
    world.run(100);
    t.deepEqual(gateway.drops(), { [reason]: 1 });
    t.deepEqual(gateway.delivered, []);
    world.run(70 * SECOND);
    t.deepEqual(gateway.drops(), { [reason]: 1 }, 'nothing of it is left');
  });

test('what is never complete is given up in time, though nothing more comes', (t) => {
  const { world, gateway, clients } = sceneOf(1);
  for (const end of [from, from6])
    clients[0]!.send(fragmentsOf(udp({ ...end, data: counting(2_000), fragment: 0 }), 1_300)[0]!);
  world.run(29 * SECOND);
  t.deepEqual(gateway.drops(), {});
  world.run(2 * SECOND);
  t.deepEqual(gateway.drops(), { inner_fragments_expired: 1 });
  world.run(30 * SECOND);
  t.deepEqual(gateway.drops(), { inner_fragments_expired: 2 });
});

test('what was given up is listed with its device and its port', async (t) => {
  const { world, gateway, clients } = sceneOf(1);
  clients[0]!.send(fragmentsOf(udp({ ...from, data: counting(2_000), fragment: 0 }), 1_300)[0]!);
  world.run(31 * SECOND);
  const query = { device: null, scope: null, reason: null };
  const [one] = await gateway.ask('refusals', query, 10);
  t.like(one, { reason: 'inner_fragments_expired', isSent: true, count: 1, port: 5_000 });
});

test('the next device in a place inherits nothing', (t) => {
  const { world, gateway, clients, peers } = sceneOf(1);
  const unfinished = (count: number): void => {
    for (let id = 0; id < count; id++)
      clients[0]!.send(
        fragmentsOf(udp({ ...from, data: counting(2_000), fragment: 0 }), 1_300, id)[0]!,
      );
    world.run(100);
  };
  unfinished(160);
  t.deepEqual(gateway.drops(), {});
  gateway.apply([]);
  gateway.apply(peers);
  clients[0]!.sender.initiate(clients[0]!.peer, false, world.now);
  world.run(6 * SECOND);
  // Its own first fragments find all of the room; the second ones find no first of the one before.
  unfinished(160);
  t.is(gateway.drops()['inner_fragments_share'], undefined);
});

// ---- floods ----------------------------------------------------------------------------------

/** How many of so many datagrams of a device arrive. */
function arriving(
  scene: Scene,
  client: Client,
  end: typeof from,
  between: (id: number) => void,
): number {
  let arrived = 0;
  for (let id = 0; id < 200; id++) {
    const fragments = fragmentsOf(udp({ ...end, data: counting(3_000), fragment: 0 }), 1_300, id);
    for (const [i, fragment] of fragments.entries()) {
      between(3 * id + i);
      client.send(fragment);
    }
    scene.world.run(50);
    const wanted = Buffer.from(fragments.at(-1)!);
    if (scene.gateway.delivered.some((bytes) => wanted.equals(bytes))) arrived++;
    scene.gateway.delivered.length = 0;
  }
  return arrived;
}

for (const [title, attackers] of [
  ['one device', 1],
  ['twenty devices', 20],
] as const)
  test(`a flood of fragments of ${title} takes nothing from another`, (t) => {
    const scene = sceneOf(attackers + 1);
    const [honest, ...others] = scene.clients as [Client, ...Client[]];
    const payload = new Uint8Array(1_200);
    const flood = (number: number): void => {
      for (const [i, client] of others.entries())
        for (let k = 0; k < (attackers === 1 ? 8 : 1); k++)
          client.send(
            ip({
              source: `10.0.0.${3 + i}`,
              destination: from.destination,
              protocol: 17,
              payload: number % 2 === 0 ? payload : payload.subarray(0, 8),
              identification: (8 * number + k) & 0xffff,
              fragment: 0x2000 | (1 + (number % 7)),
            }),
          );
    };
    t.is(arriving(scene, honest, from, flood), 200);
    const drops = scene.gateway.drops();
    t.true((drops['inner_fragments_share'] ?? 0) + (drops['inner_fragments_full'] ?? 0) > 100);
  });

// ---- real paths ------------------------------------------------------------------------------

interface Path {
  readonly perSecond: number;
  readonly bytes: number;
  readonly seconds: number;
  /** One of so many fragments is lost. */
  readonly lossOf: number;
  /** One of so many datagrams is out of order. */
  readonly disorderOf: number;
}

const NEVER = 1 << 30;
const paths: readonly [title: string, path: Path][] = [
  [
    '20 a second of 6 fragments, 2 % lost',
    { perSecond: 20, bytes: 6_500, seconds: 40, lossOf: 50, disorderOf: NEVER },
  ],
  [
    '500 a second of 2 fragments, 1 % lost',
    { perSecond: 500, bytes: 1_500, seconds: tries(4, 10), lossOf: 100, disorderOf: NEVER },
  ],
  [
    '20 a second, one in ten out of order',
    { perSecond: 20, bytes: 6_500, seconds: 25, lossOf: NEVER, disorderOf: 10 },
  ],
  [
    'a path that does both',
    { perSecond: 50, bytes: 5_000, seconds: 20, lossOf: 50, disorderOf: 5 },
  ],
];

for (const [way, { ends, send, arrived }] of Object.entries(ways))
  for (const [title, path] of way === 'to the LAN' ? paths : paths.slice(-1))
    test(`${way}: ${title}: what was sent whole arrives`, (t) => {
      const scene = sceneOf(2);
      const roll = dice(9);
      let [whole, complete] = [0, 0];
      for (let id = 0; id < path.perSecond * path.seconds; id++) {
        const data = counting(path.bytes, id);
        const fragments = fragmentsOf(udp({ ...ends[0], data, fragment: 0 }), 1_300, id & 0xffff);
        const kept = fragments.filter(() => roll(path.lossOf) !== 0);
        if (kept.length === fragments.length) whole++;
        const isOrdered = roll(path.disorderOf) !== 0;
        for (const fragment of isOrdered ? kept : shuffled(kept, roll)) send(scene, fragment);
        scene.world.run(1_000 / path.perSecond);
        if (arrived(scene).splice(0).length === fragments.length) complete++;
      }
      t.log(`${complete} of ${whole}`);
      t.true(complete >= 0.99 * whole, `${complete} of ${whole}`);
    });

// ---- waiting for a session -------------------------------------------------------------------

test('fragments that wait for a session are judged again as a whole', (t) => {
  const scene = sceneOf(2);
  const { world, gateway, clients, peers } = scene;
  const ends = { source: '10.0.0.2', destination: '10.0.0.3' };
  const isLost = { value: true };
  world.run(200 * SECOND);
  clients[0]!.sender.initiate(clients[0]!.peer, false, world.now);
  world.run(SECOND);
  world.loses = ({ to }) => isLost.value && to.port === clients[1]!.endpoint.port;
  const send = (destinationPort: number, id: number): Uint8Array[] => {
    const fragments = fragmentsOf(
      udp({ ...ends, destinationPort, data: counting(3_000), fragment: 0 }),
      1_300,
      id,
    );
    for (const fragment of fragments) clients[0]!.send(fragment);
    return fragments;
  };
  const passing = send(53, 1);
  send(54, 2);
  world.run(SECOND);
  t.true(2 * passing.length < MAX_STAGED_PER_PEER);
  gateway.apply(peers, { owner: [rule('1', 'drop', '10.0.0.3', { type: 'udp', first: 54 })] });
  isLost.value = false;
  forget(scene);
  world.run(10 * SECOND);
  t.deepEqual(clients[1]!.delivered, passing.map(hop));
  t.is(gateway.drops()['rule_drop'], 3);
});
