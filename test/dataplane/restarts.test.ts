// Gateways that were started again, and clocks that jump: who is initiated to, what a recorded
// initiation is good for, and which flows are in doubt.

import test from 'ava';
import { BUSY_BATCH_DATAGRAMS } from '../../dataplane/constants.ts';
import { initiationForger } from '../support/dataplane/forged-messages.ts';
import { implementations } from '../support/dataplane/native.ts';
import { udp } from '../support/dataplane/packets.ts';
import {
  type Client,
  DATA,
  GATEWAY_ENDPOINT,
  gatewayAndClient,
  INITIATION,
  type Node,
  peer,
  randomBytes,
  RESPONSE,
  rule,
  seededRandom,
  World,
} from '../support/dataplane/simulation.ts';
import {
  MINUTE,
  SECOND,
  connected,
  connectedClients,
  down,
  elsewhere,
  toClient,
  up,
} from '../support/dataplane/pipeline-scenes.ts';

// ---- restarts --------------------------------------------------------------------------------

/** A gateway is gone and another with its key has come; the device stays. */
function restarted(heardBeforeMs: number): {
  world: World;
  gateway: Node;
  client: Client;
  recorded: Uint8Array;
} {
  const { world, gateway: first, client } = connected();
  const recorded = world.sent(INITIATION, client)[0]!.bytes.slice();
  world.remove(first);
  world.run(30 * SECOND);
  client.delivered.length = 0;
  world.wire.length = 0;
  const gateway = world.addNode({ endpoint: GATEWAY_ENDPOINT, privateKey: first.privateKey });
  gateway.apply([
    peer({
      key: client.key,
      ipv4: '10.0.0.2',
      ipv6: 'fd00::2',
      endpoint: client.endpoint,
      heardAtMs: world.wallMs - heardBeforeMs,
    }),
  ]);
  return { world, gateway, client, recorded };
}

test('after a restart the gateway initiates to a device that was heard lately', (t) => {
  const { world, gateway, client } = restarted(30 * SECOND);
  world.run(100);
  t.is(world.sent(INITIATION, gateway).length, 1);
  gateway.send(toClient);
  world.run(100);
  t.deepEqual(client.delivered, [toClient]);
});

test('to a device that was not heard for 180 s it does not', (t) => {
  const { world, gateway } = restarted(180 * SECOND);
  world.run(MINUTE);
  t.is(world.sent(0, gateway).length, 0);
});

test('but a packet for such a device does', (t) => {
  const { world, gateway, client } = restarted(180 * SECOND);
  gateway.send(toClient);
  world.run(100);
  t.deepEqual(client.delivered, [toClient]);
});

test('many devices are initiated to one after the other, within a second', (t) => {
  const world = new World();
  const [, primitives] = implementations.at(-1)!;
  const gateway = world.addNode({ endpoint: GATEWAY_ENDPOINT, primitives });
  const peers = Array.from({ length: 500 }, (_, i) =>
    peer({
      key: Buffer.from(randomBytes(seededRandom(i + 1), 32)).toString('base64'),
      ipv4: `10.${1 + (i >> 8)}.${i & 255}.1`,
      endpoint: { address: '198.51.100.1', port: 1 + i },
      heardAtMs: world.wallMs,
    }),
  );
  gateway.apply(peers);
  t.is(world.wire.length, 0);
  world.run(SECOND);
  const initiations = world.sent(INITIATION, gateway);
  t.is(initiations.length, 500);
  t.is(new Set(initiations.map(({ to }) => to.port)).size, 500);
  t.true(new Set(initiations.map(({ at }) => at)).size > 100);
});

test('initiations are taken eight at a time, and after a large batch two, once a turn', (t) => {
  const { world, gateway } = gatewayAndClient();
  const forge = initiationForger(gateway.publicKey);
  const taken = (): number => gateway.drops().initiation_invalid ?? 0;
  const batch = (count: number): number => {
    const before = taken();
    const arrivals = Array.from({ length: count }, () => ({ bytes: forge(), from: elsewhere }));
    gateway.receiveAll(arrivals);
    return taken() - before;
  };
  t.is(batch(BUSY_BATCH_DATAGRAMS), 2);
  t.is(batch(BUSY_BATCH_DATAGRAMS - 1), 8);
  t.is(batch(1), 8);
  world.run(0);
  t.is(taken(), 2 * BUSY_BATCH_DATAGRAMS);
});

// docs/bugs-of-others.md#bug-11: timestamps replayed after a restart.
test('an initiation that is replayed after a restart yields only an unconfirmed keypair', (t) => {
  const { world, gateway, client, recorded } = restarted(180 * SECOND);
  const attacker = world.addClient({ endpoint: elsewhere });
  gateway.receive(recorded, elsewhere);
  t.is(world.sent(RESPONSE, gateway).length, 1);
  gateway.send(toClient);
  world.run(4 * SECOND);
  t.is(world.sent(DATA, gateway).length, 0);
  t.is(gateway.sample().peers[0]?.latestHandshakeMs, null);
  // When 5 s have gone by the gateway sends an initiation to where the device was last heard.
  world.run(MINUTE);
  t.deepEqual(client.delivered, [toClient]);
  for (let i = 0; i < 40; i++) {
    client.send(up(i));
    world.run(SECOND);
  }
  t.is(gateway.delivered.length, 40);
  // Not a byte of data goes to the attacker, who has no key to confirm with.
  t.true(world.sent(DATA, gateway).every(({ to }) => to.port === client.endpoint.port));
  t.deepEqual(attacker.delivered, []);
});

test('nor does it take a device away that is back already', (t) => {
  const { world, gateway, client, recorded } = restarted(30 * SECOND);
  world.run(100);
  gateway.send(toClient);
  world.run(100);
  t.deepEqual(client.delivered, [toClient]);
  const heard = gateway.sample().peers[0];
  gateway.receive(recorded, elsewhere);
  t.is(world.sent(RESPONSE, gateway).at(-1)?.to.port, elsewhere.port);
  world.wire.length = 0;
  for (let i = 0; i < 10; i++) gateway.send(down(i));
  world.run(SECOND);
  t.is(client.delivered.length, 11);
  t.true(world.sent(0, gateway).every(({ to }) => to.port === client.endpoint.port));
  const [after] = gateway.sample().peers;
  t.deepEqual(after?.endpoint ?? heard?.endpoint, client.endpoint);
});

// What was forgotten is judged by the rules of both sides: filter/decisions.
const talk = {
  source: '10.0.0.2',
  destination: '192.0.2.1',
  sourcePort: 4_000,
  destinationPort: 53,
};

const ask = udp(talk);

const reply = udp({
  source: talk.destination,
  destination: talk.source,
  sourcePort: talk.destinationPort,
  destinationPort: talk.sourcePort,
});

const noTalk = { owner: [rule('1', 'drop', talk.destination)] };

/** The other side goes on, and the device answers; how much comes through either way. */
function goOn(world: World, gateway: Node, client: Client): [toDevice: number, toOther: number] {
  gateway.delivered.length = 0;
  client.delivered.length = 0;
  for (let i = 0; i < 3; i++) {
    gateway.send(reply);
    client.send(ask);
    world.run(100);
  }
  return [client.delivered.length, gateway.delivered.length];
}

test('a restart does not free a flow that a rule had ended', (t) => {
  const { world, gateway, client } = restarted(30 * SECOND);
  const known = peer({ key: client.key, ipv4: '10.0.0.2', ipv6: 'fd00::2' });
  gateway.apply([known], noTalk);
  world.run(100);
  t.deepEqual(goOn(world, gateway, client), [0, 0]);
  world.run(170 * SECOND);
  t.deepEqual(goOn(world, gateway, client), [0, 0]);
  world.run(180 * SECOND);
  t.deepEqual(goOn(world, gateway, client), [3, 3], 'what is opened later is the other side');
});

test('a device that was never heard has no flows to be in doubt about', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  gateway.apply(peers, noTalk);
  t.deepEqual(goOn(world, gateway, clients[0]!), [3, 3]);
});

test('a device that comes back from another gateway goes on with nothing that a rule ended', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  gateway.apply(peers, noTalk);
  world.run(1);
  gateway.pipeline.release(new Map([[peers[0]!.publicKey, world.wallMs]]), world.now, world.wallMs);
  world.run(170 * SECOND);
  clients[0]!.sender.initiate(clients[0]!.peer, false, world.now);
  world.run(100);
  t.deepEqual(goOn(world, gateway, clients[0]!), [0, 0]);
});

// ---- clocks ----------------------------------------------------------------------------------

for (const [title, floorMs, isAnswered] of [
  ['mutes a gateway that does not know what it sent', 0, false],
  ['does not mute a gateway that begins at its floor', 120 * SECOND, true],
] as const) {
  test(`a clock set back before a restart ${title}`, (t) => {
    const { world, gateway: first, client } = restarted(30 * SECOND);
    world.run(100);
    t.is(world.sent(RESPONSE, client).length, 1);
    const usedMs = world.wallMs;
    world.remove(first);
    world.run(10 * SECOND);
    client.delivered.length = 0;
    world.epochMs -= 60 * MINUTE;
    const gateway = world.addNode({
      endpoint: GATEWAY_ENDPOINT,
      privateKey: first.privateKey,
      timestampFloorMs: floorMs === 0 ? 0 : usedMs + floorMs,
    });
    const { key, endpoint: at } = client;
    gateway.apply([peer({ key, ipv4: '10.0.0.2', endpoint: at, heardAtMs: world.wallMs })]);
    gateway.send(toClient);
    world.run(SECOND);
    t.deepEqual(client.delivered, isAnswered ? [toClient] : []);
    t.is(client.drops()['initiation_replayed'] ?? 0, isAnswered ? 0 : 1);
  });
}

for (const [title, stepMs] of [
  ['back by an hour', -60 * MINUTE],
  ['forward by an hour', 60 * MINUTE],
] as const) {
  // docs/bugs-of-others.md#bug-11: system clock stepped back.
  test(`a wall clock that is stepped ${title} stops nobody`, (t) => {
    const { world, gateway, client } = connected();
    gateway.delivered.length = 0;
    client.delivered.length = 0;
    world.epochMs += stepMs;
    for (let i = 0; i < 400; i++) {
      client.send(up(i));
      gateway.send(down(i));
      world.run(SECOND);
    }
    t.is(gateway.delivered.length, 400);
    t.is(client.delivered.length, 400);
    t.true(world.sent(INITIATION).length >= 4);
  });
}

// docs/bugs-of-others.md#bug-11: jumps of the monotonic clock.
test('a machine that slept for hours goes on with its next packet', (t) => {
  const { world, gateway, client } = connected();
  gateway.delivered.length = 0;
  world.now += 5 * 60 * MINUTE;
  client.send(up(1));
  world.run(SECOND);
  t.deepEqual(gateway.delivered, [up(1)]);
});
