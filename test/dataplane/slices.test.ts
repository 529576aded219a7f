// Work that grows with the number of devices is done in slices (docs/packets.md#limits: "any work
// over 2 ms in the worker is sliced"). These tests count what one turn does; its cost is written
// beside the constants. worker.test.ts shows that one command is taken in each turn.

import test from 'ava';
import fc from 'fast-check';
import {
  INITIATIONS_PER_TURN,
  MADE_PER_TAKEN,
  MAX_LOOKED_AT_PER_PART,
  MAX_REPORTED_PER_PART,
} from '../../dataplane/constants.ts';
import type { PeerConfig, SamplePart } from '../../dataplane/contract.ts';
import { pagesOf, Round } from '../../dataplane/slices.ts';
import { implementations } from '../support/dataplane/native.ts';
import { udp } from '../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClients,
  INITIATION,
  type Node,
  peer,
  randomBytes,
  RESPONSE,
  rule,
  SEEDED,
  type World,
} from '../support/dataplane/simulation.ts';
import '../support/dataplane/seeded-test.ts';

const INITIATION_BYTES = 148;
const primitives = implementations.at(-1)![1];

interface Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly clients: readonly Client[];
  /** Clients that answer, and clients that do not. */
  readonly peers: readonly PeerConfig[];
  readonly silent: readonly PeerConfig[];
}

/**
 * A gateway that is about to initiate handshakes with devices that were heard before a restart and
 * do not answer.
 */
function crowd(count: number, clientCount = 0): Scene {
  // What one worker does in a turn.
  const options = { gateway: { primitives, workers: 1 }, client: { primitives } };
  const { world, gateway, clients, peers } = gatewayAndClients(clientCount, undefined, options);
  const silent = Array.from({ length: count }, (_, i) =>
    peer({
      key: Buffer.from(randomBytes(world.random, 32)).toString('base64'),
      endpoint: { address: '203.0.113.1', port: 1_000 + i },
      heardAtMs: world.wallMs,
    }),
  );
  gateway.apply([...peers, ...silent]);
  return { world, gateway, clients, peers, silent };
}

/** Lets a turn pass; returns how many initiations the gateway made and took in it. */
function turn({ world, gateway }: Scene, act: () => void = () => gateway.expire()): number[] {
  const count = (type: number): number => world.sent(type, gateway).length;
  const before = [count(INITIATION), count(RESPONSE)];
  act();
  return [count(INITIATION) - before[0]!, count(RESPONSE) - before[1]!];
}

/** The parts of a sample. */
function sampleParts({ pipeline }: Node): SamplePart[] {
  const parts = [pipeline.samplePart()];
  while (parts.at(-1)?.isLast === false) parts.push(pipeline.samplePart());
  return parts;
}

test('if many handshakes are due at once, each turn initiates a few', (t) => {
  const count = 5 * INITIATIONS_PER_TURN + 3;
  const scene = crowd(count);
  scene.world.now += 1_000;
  let made = 0;
  while (scene.gateway.nextTimeout() <= scene.world.now) {
    const [inTurn] = turn(scene);
    t.true(inTurn! > 0 && inTurn! <= INITIATIONS_PER_TURN, `${inTurn} at once`);
    made += inTurn!;
    scene.world.now += 1;
  }
  t.is(made, count);
});

test('packets for many devices without a session start a few handshakes in each turn, and all soon', (t) => {
  const count = 3 * INITIATIONS_PER_TURN + 1;
  const scene = crowd(0);
  const { world, gateway } = scene;
  const peers = Array.from({ length: count }, (_, i) =>
    peer({
      key: Buffer.from(randomBytes(world.random, 32)).toString('base64'),
      ipv4: `10.0.1.${i}`,
      endpoint: { address: '203.0.113.1', port: 1_000 + i },
    }),
  );
  gateway.apply(peers);
  const packets = peers.map((_, i) => udp({ source: '192.0.2.1', destination: `10.0.1.${i}` }));
  const [inTurn] = turn(scene, () => gateway.send(...packets));
  t.is(inTurn, INITIATIONS_PER_TURN);
  let made = inTurn!;
  for (let turns = 1; turns <= 3; turns++) {
    world.now += 1;
    made += turn(scene)[0]!;
  }
  t.is(made, count);
  t.deepEqual(gateway.drops(), {});
});

test('while many handshakes are initiated, initiations are taken too, within the cost of one kind', (t) => {
  const scene = crowd(5 * INITIATIONS_PER_TURN, INITIATIONS_PER_TURN);
  const { world, gateway, clients } = scene;
  for (const client of clients) client.connect();
  const arrivals = world.sent(INITIATION).map(({ bytes, from }) => ({ bytes, from }));
  t.is(arrivals.length, clients.length);
  world.now += 1_000;
  const [made, taken] = turn(scene, () => gateway.receiveAll(arrivals));
  t.true(taken! >= INITIATIONS_PER_TURN / 2 && made! >= INITIATIONS_PER_TURN / 2);
  t.true(made! / MADE_PER_TAKEN + taken! <= INITIATIONS_PER_TURN, `${made} and ${taken}`);
});

test('a sample of many devices is taken in parts, each device in one of them', (t) => {
  const { world, gateway, silent } = crowd(MAX_REPORTED_PER_PART + 20);
  world.run(1_000);
  const parts = sampleParts(gateway);
  t.deepEqual(
    parts.map(({ peers, isLast }) => [peers.length, isLast]),
    [
      [MAX_REPORTED_PER_PART, false],
      [20, true],
    ],
  );
  const sampled = parts.flatMap(({ peers }) => peers);
  t.deepEqual(
    sampled.map(({ publicKey, txBytes }) => [publicKey, txBytes]),
    silent.map(({ publicKey }) => [publicKey, INITIATION_BYTES]),
  );
  t.deepEqual(sampleParts(gateway).length, 1);
});

test('devices that are removed between two parts are in the sample once, in whichever part', (t) => {
  const { world, gateway, silent } = crowd(MAX_REPORTED_PER_PART + 20);
  world.run(1_000);
  const first = gateway.pipeline.samplePart();
  gateway.apply(silent.slice(1, -1));
  const rest = [...sampleParts(gateway), ...sampleParts(gateway)];
  const sampled = [first, ...rest].flatMap(({ peers }) => peers);
  t.deepEqual(
    sampled.map(({ publicKey }) => publicKey).sort(),
    silent.map(({ publicKey }) => publicKey).sort(),
  );
  t.true(sampled.every(({ txBytes }) => txBytes === INITIATION_BYTES));
});

test('hits of many rules are taken in parts, and a change between two parts loses none', (t) => {
  const count = MAX_REPORTED_PER_PART + 20;
  const { world, gateway, clients, peers } = crowd(0, 1);
  const [client] = clients as [Client];
  const addresses = Array.from({ length: count }, (_, i) => `198.18.${i >> 8}.${i & 255}`);
  const rules = addresses.map((address) => rule(address, 'accept', address));
  gateway.apply(peers, { owner: rules });
  for (const destination of addresses) {
    client.send(udp({ source: '10.0.0.2', destination }));
    world.run(10);
  }
  const first = gateway.pipeline.samplePart();
  t.is(first.peers.length + first.rules.length, MAX_REPORTED_PER_PART);
  gateway.apply(peers, { owner: rules.slice(1, -1) });
  const rest = [...sampleParts(gateway), ...sampleParts(gateway)];
  const sampled = [first, ...rest].flatMap((part) => part.rules);
  t.deepEqual(sampled.map(({ id }) => id).sort(), addresses.toSorted());
  t.true(sampled.every(({ packets }) => packets === 1));
});

// ---- what slices are made of -------------------------------------------------------------------

/** Takes the parts of one round. */
function partsOf<T>(round: Round<T>): T[][] {
  const parts = [round.take()];
  while (round.isUnderWay) parts.push(round.take());
  return parts;
}

test('a round holds everything once, in parts, and the next round begins again', (t) => {
  const count = 2 * MAX_REPORTED_PER_PART + 3;
  const news = Array.from({ length: count }, (_, i) => i);
  const round = new Round(() => news.values());
  for (let rounds = 0; rounds < 2; rounds++) {
    const parts = partsOf(round);
    t.deepEqual(
      parts.map(({ length }) => length),
      [MAX_REPORTED_PER_PART, MAX_REPORTED_PER_PART, 3],
    );
    t.deepEqual(parts.flat(), news);
  }
});

test('a part looks at a limited number of items, whether they changed or not', (t) => {
  let looks = 0;
  const round = new Round(function* () {
    for (; looks < 2 * MAX_LOOKED_AT_PER_PART; looks++) yield null;
    yield 'late';
  });
  t.deepEqual(round.take(), []);
  t.true(looks <= MAX_LOOKED_AT_PER_PART);
  t.true(round.isUnderWay);
  t.deepEqual(partsOf(round).flat(), ['late']);
});

test('a round without items has one part', (t) => {
  t.deepEqual(partsOf(new Round(() => [].values())), [[]]);
});

test('pages hold what the map holds, in its order, and none is too large or empty', (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat()), fc.integer({ min: 1, max: 5 }), (keys, size) => {
      const map = new Map(keys.map((key) => [key, `${key}`]));
      const pages = [...pagesOf(map, size)];
      t.deepEqual(
        pages.flatMap((page) => [...page]),
        [...map],
      );
      return pages.every((page) => page.size > 0 && page.size <= size);
    }),
    SEEDED,
  );
});
