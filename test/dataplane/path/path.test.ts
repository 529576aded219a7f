// The path of a packet: a refusal is counted once, and then nothing of the packet goes anywhere. What
// becomes of a packet does not depend on the packets beside it.

import test from 'ava';
import { flagsOf, tcp, udp } from '../../support/dataplane/packets.ts';
import {
  gatewayAndClients,
  type Node,
  randomBytes,
  rule,
  seededRandom,
  type World,
} from '../../support/dataplane/simulation.ts';

for (const workers of [1, 2])
  test(`${workers} workers: each refusal is counted once, wherever it happens`, (t) => {
    const { world, gateway, clients, peers } = gatewayAndClients(2, 5, { gateway: { workers } });
    gateway.apply(peers, { owner: [rule('1', 'drop', '10.0.0.3'), rule('2', 'drop', '9.9.9.9')] });
    for (const client of clients) client.connect();
    world.run(100);
    for (const destination of ['10.0.0.3', '9.9.9.9', '8.8.8.8'])
      clients[0]!.send(udp({ source: '10.0.0.2', destination }));
    clients[0]!.send(udp({ source: '10.0.0.99', destination: '8.8.8.8' }));
    world.run(100);
    t.deepEqual(gateway.delivered, [udp({ source: '10.0.0.2', destination: '8.8.8.8' })]);
    t.deepEqual(clients[1]!.delivered, []);
    const { rule_drop: dropped, ...others } = gateway.drops();
    t.is(dropped, 2);
    t.deepEqual(others, { inner_source_not_allowed: 1 });
  });

for (const workers of [1, 2])
  test(`${workers} workers: a closed path lets nothing pass, in either direction`, (t) => {
    const { world, gateway, clients } = gatewayAndClients(2, 5, { gateway: { workers } });
    for (const client of clients) client.connect();
    world.run(100);
    const setClosed = (isClosed: boolean): void =>
      gateway.change({ added: [], updated: [], removed: [], scopes: [], isClosed });
    const send = (): void => {
      clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3' }));
      clients[0]!.send(udp({ source: '10.0.0.2', destination: '8.8.8.8' }));
      gateway.send(udp({ source: '8.8.8.8', destination: '10.0.0.3' }));
      world.run(100);
    };
    setClosed(true);
    send();
    t.deepEqual([gateway.delivered.length, clients[1]!.delivered.length], [0, 0]);
    t.is(gateway.drops()['database_away'], 3);
    setClosed(false);
    send();
    t.deepEqual([gateway.delivered.length, clients[1]!.delivered.length], [1, 2]);
  });

// ---- batches ---------------------------------------------------------------------------------

const web = { source: '10.0.0.2', destination: '192.0.2.1', destinationPort: 443 };
const web6 = { source: 'fd00::2', destination: '2001:db8::1', destinationPort: 443 };

/** Packets of few flows, so that one often follows another of its own flow. */
const makers: readonly ((data: string) => Uint8Array)[] = [
  (data) => tcp({ ...web, flags: flagsOf('A'), data }),
  (data) => tcp({ ...web, flags: flagsOf('PA'), data }),
  (data) => tcp({ ...web6, flags: flagsOf('A'), data }),
  (data) => tcp({ ...web, flags: flagsOf('S'), data }),
  (data) => tcp({ ...web, flags: flagsOf('FA'), data }),
  (data) => tcp({ ...web, flags: flagsOf('R'), data }),
  (data) => udp({ ...web, data }),
  (data) => udp({ ...web6, data }),
  (data) => udp({ ...web, destination: '10.0.0.3', data }),
  (data) => udp({ ...web, destination: '9.9.9.9', data }),
  (data) => udp({ ...web, source: '10.0.0.3', data }),
  () => new Uint8Array(40),
];

/** A gateway and its clients, and what the first client sends next, which arrives nowhere. */
function sentBy(packets: readonly Uint8Array[], limitUp: number | null) {
  const scene = gatewayAndClients(2, 5, { gateway: { workers: 1 } });
  const { world, gateway, clients, peers } = scene;
  const limited = peers.map((config) => ({ ...config, limitUp }));
  gateway.apply(limited, {
    owner: [rule('1', 'accept', '192.0.2.1'), rule('2', 'drop', '9.9.9.9')],
  });
  for (const client of clients) client.connect();
  world.run(100);
  world.loses = () => true;
  world.wire.length = 0;
  clients[0]!.send(...packets);
  const from = clients[0]!.endpoint;
  const arrivals = world.sent(4, clients[0]).map(({ bytes }) => ({ bytes, from }));
  return { ...scene, arrivals };
}

const ALL = { device: null, scope: null, destination: null, rule: null };

function flowsOf({ workers }: Node, { now, wallMs }: World): unknown[] {
  return workers.map(({ pipeline }) => pipeline.flows(ALL, 1, 1_000, now, wallMs));
}

for (const [title, limitUp] of [
  ['without a limit', null],
  ['with a limit', 8_000],
] as const)
  test(`packets of one batch pass as they do alone, ${title}`, (t) => {
    const random = seededRandom(7);
    const draw = (below: number): number => randomBytes(random, 1)[0]! % below;
    for (let round = 0; round < 12; round++) {
      // Each maker is used for a while.
      let make = makers[0]!;
      const packets = Array.from({ length: 60 }, () => {
        if (draw(4) === 0) make = makers[draw(makers.length)]!;
        return make('x'.repeat(8 + draw(40)));
      });
      const together = sentBy(packets, limitUp);
      const alone = sentBy(packets, limitUp);
      together.gateway.receiveAll(together.arrivals);
      for (const { bytes, from } of alone.arrivals) alone.gateway.receive(bytes, from);
      const seen = [together, alone].map(({ world, gateway }) => ({
        delivered: gateway.delivered,
        drops: gateway.drops(),
        sample: gateway.sample(),
        flows: flowsOf(gateway, world),
      }));
      t.deepEqual(seen[0], seen[1], `round ${round}`);
      t.true(seen[0]!.delivered.length > 0);
    }
  });
