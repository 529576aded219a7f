// What other workers hand over is taken as if it had come here, unless its peer is gone by then.

import test from 'ava';
import { REKEY_TIMEOUT_MS, STRAYS_BURST } from '../../../dataplane/constants.ts';
import { type RuleConfig, stagedScope } from '../../../dataplane/contract.ts';
import type { Batches } from '../../../dataplane/io/engine.ts';
import type { Substituted, WorkerNode } from '../../../dataplane/memory/node.ts';
import { SocketEgress } from '../../../dataplane/sockets/egress.ts';
import { Ends, setEnds } from '../../../dataplane/tcp/table.ts';
import type { Endpoint } from '../../../dataplane/wire/address.ts';
import { initiationForger } from '../../support/dataplane/forged-messages.ts';
import { address, tcp, udp } from '../../support/dataplane/packets.ts';
import {
  type Client,
  DATA,
  gatewayAndClients,
  INITIATION,
  type Node,
  RESPONSE,
  seededRandom,
  type WatchedEngine,
  type World,
} from '../../support/dataplane/simulation.ts';
import { bytesAt, cut, Idle, Station } from '../../support/tcp/ends.ts';
import { TakingHosts } from '../../support/tcp/taking-hosts.ts';

/** Two workers and two devices, one for each; what is handed over waits while `isHeld`. */
class Scene {
  isHeld = false;
  readonly world: World;
  readonly gateway: Node;
  readonly clients: readonly Client[];
  readonly #apply: (served: readonly number[]) => void;

  constructor() {
    const { world, gateway, clients, peers } = gatewayAndClients(2, 5, {
      gateway: { workers: 2, choose: () => 0, dawdles: () => this.isHeld },
    });
    this.world = world;
    this.gateway = gateway;
    this.clients = clients;
    this.#apply = (served) => gateway.apply(served.map((i) => peers[i]!));
  }

  /** Connects both devices. */
  connect(): this {
    for (const client of this.clients) client.connect();
    this.world.run(100);
    return this;
  }

  /**
   * Gives the gateway at once what `send` sends, and holds back what is handed over until only these
   * devices are served.
   */
  late(send: () => void, served: readonly number[]): void {
    const { gateway, world } = this;
    this.isHeld = true;
    world.loses = () => true;
    const sent = world.wire.length;
    send();
    world.loses = () => false;
    for (const { bytes, from } of world.wire.slice(sent)) gateway.receive(bytes, from);
    this.#apply(served);
    this.isHeld = false;
    world.run(100);
  }

  get peerGone(): number {
    return this.gateway.drops()['peer_gone'] ?? 0;
  }
}

const acceptAll = (id: string): RuleConfig => ({
  id,
  action: 'accept',
  address: address('0.0.0.0'),
  prefixBits: 0,
  portType: null,
  portFirst: 0,
  portLast: 65_535,
});

const toSecond = (source: string): Uint8Array => udp({ source, destination: '10.0.0.3' });

test('a packet from one device to another passes both workers', (t) => {
  const { world, clients, gateway } = new Scene().connect();
  clients[0]!.send(toSecond('10.0.0.2'));
  world.run(100);
  t.is(clients[1]!.delivered.length, 1);
  t.is(gateway.drops()['peer_gone'], undefined);
});

for (const scope of ['owner', stagedScope('owner')])
  test(`a packet that passes both workers counts once for a rule of ${scope}`, (t) => {
    const { world, gateway, clients, peers } = gatewayAndClients(2, 5, {
      gateway: { workers: 2, choose: () => 0 },
    });
    gateway.apply(peers, { [scope]: [acceptAll('rule')] });
    for (const client of clients) client.connect();
    world.run(100);
    for (let packets = 0; packets < 3; packets++) clients[0]!.send(toSecond('10.0.0.2'));
    world.run(100);
    t.is(clients[1]!.delivered.length, 3);
    t.deepEqual(
      gateway.sample().rules.map(({ id, packets }) => [id, packets]),
      [['rule', 3]],
    );
  });

// The worker of the sender knows what fits the other device, and says it at once.
test('sizes are those of both devices, whichever workers they have', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(2, 5, {
    gateway: { workers: 2, choose: () => 0 },
  });
  const narrow = 1_280;
  gateway.apply([peers[0]!, { ...peers[1]!, mtu: narrow }]);
  for (const client of clients) client.connect();
  world.run(100);
  for (const [from, to] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const between = { source: `10.0.0.${2 + from}`, destination: `10.0.0.${2 + to}` };
    const mss = 1_380;
    clients[from]!.send(
      tcp({ ...between, flags: 2, options: Uint8Array.of(2, 4, mss >> 8, mss & 255) }),
    );
    world.run(100);
    const [packet] = clients[to]!.delivered.splice(0);
    t.is((packet![42]! << 8) | packet![43]!, narrow - 40, `the segments of device ${from}`);
  }
  clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3', data: '.'.repeat(narrow) }));
  world.run(100);
  t.deepEqual(clients[1]!.delivered, []);
  const [answer] = clients[0]!.delivered;
  t.deepEqual([...answer!.subarray(20, 22)], [3, 4], 'fragmentation is needed');
  t.is((answer![26]! << 8) | answer![27]!, narrow);
  t.deepEqual(gateway.drops(), { packet_too_big: 1 });
});

test('a packet of a device that is gone by then is refused', (t) => {
  const scene = new Scene().connect();
  scene.late(() => scene.clients[0]!.send(toSecond('10.0.0.2')), [1]);
  t.deepEqual(scene.clients[1]!.delivered, []);
  t.is(scene.peerGone, 1);
});

test('a packet of the host goes to whoever has the address by then', (t) => {
  const scene = new Scene().connect();
  scene.late(() => scene.gateway.send(toSecond('10.0.0.1')), [0]);
  t.deepEqual(scene.clients[1]!.delivered, []);
  t.is(scene.gateway.drops()['no_peer'], 1);
  t.is(scene.peerGone, 0);
});

test('an initiation of a device that is gone by then is not answered', (t) => {
  const scene = new Scene();
  scene.late(() => scene.clients[1]!.connect(), [0]);
  t.is(scene.world.sent(INITIATION).length, 1);
  t.is(scene.world.sent(RESPONSE).length, 0);
  t.is(scene.peerGone, 1);
});

test('the report that a device moved is refused once it is gone', (t) => {
  const scene = new Scene().connect();
  const [, second] = scene.clients;
  second!.endpoint = { address: '198.51.100.200', port: 4_444 };
  scene.late(() => second!.send(udp({ source: '10.0.0.3', destination: '10.0.0.1' })), [0]);
  t.is(scene.peerGone, 1);
});

/** Gives the first worker a datagram of the second device so many times, at once. */
function stray({ world, gateway, clients }: Scene, packet: Uint8Array, times: number): void {
  const [first] = gateway.workers;
  const { endpoint } = clients[1]!;
  world.loses = () => true;
  clients[1]!.send(packet);
  const [datagram] = world.sent(DATA, clients[1]).slice(-1);
  for (let i = 0; i < times; i++) {
    first!.engine.acceptDatagram(datagram!.bytes, address(endpoint.address), endpoint.port);
    first!.pipeline.inbound(world.now, world.wallMs);
    first!.engine.datagrams.count = 0;
  }
  gateway.expire();
}

test('a datagram at the wrong socket goes to its worker, and its packet out', (t) => {
  const scene = new Scene().connect();
  const packet = udp({ source: '10.0.0.3', destination: '10.0.0.1', data: 'stray' });
  stray(scene, packet, 2);
  t.deepEqual(scene.gateway.delivered, [packet]);
  t.is(scene.gateway.drops()['transport_replayed'], 1, 'its worker refuses the copy');
});

test('only so many datagrams that came at the wrong socket are passed on', (t) => {
  const scene = new Scene().connect();
  stray(scene, udp({ source: '10.0.0.3', destination: '10.0.0.1' }), STRAYS_BURST + 40);
  const { strayed, transport_replayed: copies } = scene.gateway.drops();
  t.deepEqual([strayed, copies], [40, STRAYS_BURST - 1]);
});

test('datagrams at the wrong socket leave by sockets of their worker, byte by byte', (t) => {
  const egresses: SocketEgress[] = [];
  const hosts: TakingHosts[] = [];
  const tunnel = { address: address('10.0.0.1'), network: address('10.0.0.0'), prefixBits: 24 };
  const openEgress = (batches: Batches, devices: number): Substituted => {
    for (const { bytes } of [batches.datagrams, batches.packets]) bytes.fill(0x53);
    const egress = new SocketEgress({
      ...batches,
      cuts: false,
      capacity: 64,
      devices,
      ipv4: tunnel,
      ipv6: null,
      random: seededRandom(5),
      poolBytes: 1 << 20,
      connections: 256,
      openSockets: (arenas, most) => (hosts[egresses.length] = new TakingHosts(arenas, most)),
    });
    egresses.push(egress);
    return { substitute: egress, egress };
  };
  const { world, gateway, clients } = gatewayAndClients(2, 5, {
    gateway: { workers: 2, choose: () => 0, hasTun: false, ipv6: null, openEgress },
  });
  const [, device] = clients;
  device!.connect();
  world.run(100);
  const station = new Station(new Idle(), 3);
  const ends = new Ends();
  setEnds(ends, address('10.0.0.3'), 30_000, address('203.0.113.9'), 80);
  station.machine.begin(world.now);
  const connection = station.machine.open(0, ends);
  const sent = bytesAt(0, 9_000);
  const [{ engine, pipeline }] = gateway.workers as [WorkerNode<WatchedEngine>];
  /** What the device sends in so many ms comes at the socket of the other worker. */
  const run = (ms: number): void => {
    for (let i = 0; i < ms; i++) {
      world.run(1);
      gateway.expire();
      station.machine.begin(world.now);
      for (const packet of device!.delivered.splice(0)) station.receive(0, packet);
      station.machine.expire();
      world.loses = () => true;
      const before = world.wire.length;
      for (let made = station.make(); made !== null; made = station.make())
        for (const one of cut(made)) device!.send(one);
      if (i === 0)
        device!.send(udp({ source: '10.0.0.3', destination: '203.0.113.9', data: sent }));
      world.loses = () => false;
      for (const { bytes } of world.wire.slice(before)) {
        engine.acceptDatagram(bytes, address(device!.endpoint.address), device!.endpoint.port);
        pipeline.inbound(world.now, world.wallMs);
        engine.datagrams.count = 0;
      }
      gateway.expire();
    }
  };
  run(50);
  t.is(station.machine.send(connection, sent, 0, sent.length), sent.length);
  run(500);
  t.deepEqual(Buffer.concat(hosts[1]!.streamed), sent);
  t.deepEqual(hosts[1]!.datagrams, [sent, sent]);
  t.deepEqual(gateway.drops(), {});
});

test('in a flood a device gets its cookie where its own worker heard it last', (t) => {
  const scene = new Scene().connect();
  const { world, gateway, clients } = scene;
  const [, second] = clients;
  const old = second!.endpoint;
  second!.endpoint = { address: '198.51.100.200', port: 4_444 };
  second!.send(udp({ source: '10.0.0.3', destination: '10.0.0.1' }));
  world.run(100);
  world.run(REKEY_TIMEOUT_MS);
  world.loses = () => true;
  second!.connect();
  const { bytes } = world.sent(INITIATION, second).at(-1)!;
  const forge = initiationForger(gateway.publicKey);
  const count = (reason: string): number => gateway.drops()[reason] ?? 0;
  for (let port = 1; count('cookie_withheld') < 200; port++)
    gateway.receiveAll(
      Array.from({ length: 64 }, (_, i) => ({
        bytes: forge(),
        from: { address: `203.0.113.${i}`, port },
      })),
    );
  const isAnswered = (from: Endpoint): boolean => {
    const before = count('cookie_sent');
    gateway.receive(bytes, from);
    return count('cookie_sent') > before;
  };
  t.false(isAnswered(old), 'where it was before');
  t.true(isAnswered(second!.endpoint));
});
