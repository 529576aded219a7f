// Sessions in virtual time, on links that lose, delay, double and reorder: every rule of the paper's
// section 6, and roaming.

import test from 'ava';
import { STAGED_TIME_MS } from '../../dataplane/constants.ts';
import { udp } from '../support/dataplane/packets.ts';
import {
  type Client,
  DATA,
  GATEWAY_ENDPOINT,
  gatewayAndClient,
  gatewayAndClients,
  INITIATION,
  peer,
  RESPONSE,
  twoGateways,
} from '../support/dataplane/simulation.ts';
import { seededTest } from '../support/dataplane/seeded-test.ts';
import {
  MINUTE,
  SECOND,
  connected,
  connectedClients,
  down,
  toClient,
  toGateway,
  up,
} from '../support/dataplane/pipeline-scenes.ts';

// ---- renewing (6.2) --------------------------------------------------------------------------

// docs/bugs-of-others.md#bug-8: no storm of rekeys.
test('through many renewals, both ways, no packet is lost and only the initiator renews', (t) => {
  const { world, gateway, client } = connected();
  const [a, b] = [gateway.delivered.length, client.delivered.length];
  const seconds = 15 * 60;
  for (let i = 0; i < seconds; i++) {
    client.send(up(i));
    gateway.send(down(i));
    world.run(SECOND);
  }
  t.is(gateway.delivered.length - a, seconds);
  t.is(client.delivered.length - b, seconds);
  t.deepEqual(gateway.drops(), {});
  t.deepEqual(client.drops(), {});
  t.is(world.sent(INITIATION, gateway).length, 0);
  // One to begin with, and one every 120 s.
  t.is(world.sent(INITIATION, client).length, 1 + 7);
});

test('never more than three keypairs live, nor more than four indices', (t) => {
  const { world, gateway, client } = connected();
  for (let i = 0; i < 300; i++) {
    client.send(up(i));
    gateway.send(down(i));
    world.run(SECOND);
    if (gateway.engine.liveKeys > 3 || client.engine.liveKeys > 3) t.fail(`second ${i}`);
    if (client.tunnel.indices.size > 4) t.fail(`second ${i}`);
  }
  t.pass();
});

test('a gateway whose handshakes go unanswered sends nothing under a keypair of 180 s', (t) => {
  const { world, gateway, client } = connected();
  world.loses = (flight) => flight.from === client.endpoint;
  for (let i = 0; i < 240; i++) {
    gateway.send(down(i));
    world.run(SECOND);
  }
  const last = world.sent(DATA, gateway).at(-1)!;
  t.true(last.at < SECOND + 181_000, `${last.at}`);
  t.true(gateway.drops()['staged_overflow']! > 20);
});

// ---- keepalives (6.5) ------------------------------------------------------------------------

test('data that is not answered by data is acknowledged after 10 s, once', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  client.send(toGateway);
  world.run(10 * MINUTE);
  const keepalives = world.sent(DATA, gateway);
  t.deepEqual(
    keepalives.map(({ bytes }) => bytes.length),
    [32],
  );
  const arrived = world.sent(DATA, client)[0]!.at + 5;
  t.is(keepalives[0]!.at, arrived + 10 * SECOND);
});

// docs/bugs-of-others.md#bug-7: no keepalive without need.
test('two idle sides are silent for minutes', (t) => {
  const { world } = connected();
  world.run(30 * SECOND);
  const before = world.wire.length;
  world.run(30 * MINUTE);
  t.is(world.wire.length, before);
});

// docs/bugs-of-others.md#bug-7: keepalives answer data alone.
test('keepalives do not answer keepalives, also when they cross', (t) => {
  const { world, gateway, client } = connected();
  // Both have data to acknowledge, and do so at the same moment.
  client.send(up(1));
  gateway.send(down(1));
  world.run(5 * MINUTE);
  const keepalives = world.sent(DATA).filter(({ bytes }) => bytes.length === 32);
  t.true(keepalives.length <= 3, `${keepalives.length}`);
});

// ---- retries, giving up, forgetting (6.3, 6.4) -----------------------------------------------

// docs/bugs-of-others.md#bug-8: jitter.
test('an initiation is repeated every 5 s and a little, for 90 s, and then no more', (t) => {
  const { world, client } = gatewayAndClient();
  world.loses = () => true;
  client.send(toGateway);
  world.run(10 * MINUTE);
  const times = world.sent(INITIATION, client).map(({ at }) => at);
  const gaps = times.slice(1).map((at, i) => at - times[i]!);
  t.true(
    gaps.every((gap) => gap >= 5_000 && gap <= 5_333),
    `${gaps.join(' ')}`,
  );
  t.true(new Set(gaps).size > 5, 'jitter');
  t.true(times.at(-1)! - times[0]! >= 85 * SECOND && times.at(-1)! - times[0]! <= 96 * SECOND);
  t.deepEqual(client.drops(), { staged_expired: 1 });
});

test('new data after giving up begins again', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  world.loses = () => true;
  client.send(toGateway);
  world.run(5 * MINUTE);
  world.loses = () => false;
  client.send(up(1));
  world.run(100);
  t.deepEqual(gateway.delivered, [up(1)]);
});

test('data that is not answered at all makes a new handshake after 15 s', (t) => {
  const { world, gateway, client } = connected();
  world.run(30 * SECOND);
  world.loses = (flight) => flight.from === gateway.endpoint;
  const began = world.now;
  const before = world.sent(INITIATION, client).length;
  client.send(up(1));
  world.run(16 * SECOND);
  const [initiation] = world.sent(INITIATION, client).slice(before);
  t.true(initiation!.at - began >= 15_000 && initiation!.at - began <= 15_333);
});

test('a client whose gateway was restarted is back within 16 s of its next packet', (t) => {
  const { world, gateway, client } = connected();
  const { privateKey } = gateway;
  world.remove(gateway);
  const again = world.addNode({ endpoint: GATEWAY_ENDPOINT, privateKey });
  again.apply([peer({ key: client.key, ipv4: '10.0.0.2' })]);
  for (let i = 0; i < 18; i++) {
    client.send(up(i));
    world.run(SECOND);
  }
  t.true(again.delivered.length >= 1);
  t.true(again.drops()['transport_unknown_index']! <= 16);
});

test('keys are forgotten 540 s after the last session, on both sides', (t) => {
  const { world, gateway, client } = connected();
  world.run(539 * SECOND);
  t.is(gateway.engine.liveKeys, 1);
  world.run(2 * SECOND);
  t.is(gateway.engine.liveKeys, 0);
  t.is(client.engine.liveKeys, 0);
  t.is(client.tunnel.indices.size, 0);
  t.is(gateway.nextTimeout(), Number.POSITIVE_INFINITY);
});

// docs/bugs-of-others.md#bug-16: failed handshakes.
test('keys are forgotten also when all handshakes fail', (t) => {
  const { world, gateway } = connected();
  world.loses = () => true;
  gateway.send(down(1));
  world.run(5 * MINUTE);
  gateway.send(down(2));
  world.run(20 * MINUTE);
  t.is(gateway.engine.liveKeys, 0);
  t.is(gateway.nextTimeout(), Number.POSITIVE_INFINITY);
});

test('what waits for a device that never confirms its session is not delivered much later', (t) => {
  const { world, gateway, clients } = gatewayAndClients(1);
  const client = clients[0]!;
  const down = (data: string): Uint8Array =>
    udp({ source: '192.0.2.1', destination: '10.0.0.2', data });
  // Answered, but not heard since: the gateway does not know where it is, and cannot call it.
  world.loses = ({ bytes }) => bytes[0] === RESPONSE;
  client.connect();
  world.run(100);
  gateway.send(down('old'));
  world.remove(client);
  world.run(STAGED_TIME_MS - 1_000);
  t.is(gateway.drops()['staged_expired'], undefined);
  world.run(2_000);
  t.like(gateway.drops(), { staged_expired: 1 });
  t.is(world.sent(0, gateway).length, 1);
});

// ---- bad links -------------------------------------------------------------------------------

const links = [
  ['that loses every tenth', { loss: 0.1, duplication: 0, jitterMs: 0 }],
  ['that doubles every fifth', { loss: 0, duplication: 0.2, jitterMs: 0 }],
  ['that reorders', { loss: 0, duplication: 0, jitterMs: 200 }],
  ['that does all of it', { loss: 0.1, duplication: 0.2, jitterMs: 200 }],
] as const;

for (const [title, link] of links) {
  test(`over a link ${title} each packet arrives at most once, and most arrive`, (t) => {
    const { world, gateway, client } = connected();
    gateway.delivered.length = 0;
    client.delivered.length = 0;
    Object.assign(world.link, link);
    const count = 1_500;
    for (let i = 0; i < count; i++) {
      client.send(up(i));
      if (i % 2 === 0) gateway.send(down(i));
      world.run(i % 100 === 0 ? 20 * SECOND : 4);
    }
    world.run(30 * SECOND);
    for (const [delivered, sent] of [
      [gateway.delivered, count],
      [client.delivered, count / 2],
    ] as const) {
      const distinct = new Set(delivered.map((bytes) => Buffer.from(bytes).toString('latin1')));
      t.is(distinct.size, delivered.length);
      t.true(delivered.length > sent * (1 - link.loss) * 0.95, `${delivered.length}`);
      if (link.loss === 0) t.is(delivered.length, sent);
    }
    // Some five minutes have gone by: the keypair was renewed over this link as well.
    t.true(world.sent(RESPONSE).length > 2);
  });
}

seededTest(10, 'a link that loses a third of everything still makes a session', (t, seed) => {
  const { world, gateway, client } = gatewayAndClient(seed);
  world.link.loss = 0.33;
  for (let i = 0; i < 120; i++) {
    client.send(up(i));
    world.run(SECOND);
  }
  t.true(gateway.delivered.length > 0);
});

// docs/bugs-of-others.md#bug-8: late responses.
test('a long way makes no difference', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  world.link.delayMs = 2_400;
  for (let i = 0; i < 20; i++) {
    client.send(up(i));
    world.run(SECOND);
  }
  world.run(10 * SECOND);
  t.is(gateway.delivered.length, 20);
});

// ---- simultaneous initiations ----------------------------------------------------------------

seededTest(10, 'initiations that cross end in a session that carries data both ways', (t, seed) => {
  const forth = (i: number): Uint8Array =>
    udp({ source: '10.0.0.1', destination: '10.1.0.1', data: `${i}` });
  const back = (i: number): Uint8Array =>
    udp({ source: '10.1.0.1', destination: '10.0.0.1', data: `${i}` });
  const { world, a, b } = twoGateways(seed);
  world.link.jitterMs = 2 + 2 * (seed % 10);
  a.send(forth(0));
  b.send(back(0));
  for (let i = 1; i < 200; i++) {
    world.run(SECOND);
    a.send(forth(i));
    b.send(back(i));
  }
  world.run(SECOND);
  // What is in the air while both renew at once may go, as with the kernel: a responder forgets
  // its previous keypair, which is the one that the other side still sends with.
  t.true(a.delivered.length >= 198, `${a.delivered.length}`);
  t.true(b.delivered.length >= 198, `${b.delivered.length}`);
  t.true(world.sent(INITIATION).length < 12);
});

// ---- roaming ---------------------------------------------------------------------------------

test('a client that moves is followed with its next packet, and sent nothing', (t) => {
  const { world, gateway, client } = connected();
  client.delivered.length = 0;
  client.endpoint = { address: '203.0.113.9', port: 9 };
  gateway.send(down(1));
  world.run(100);
  t.deepEqual(client.delivered, []);
  client.send(up(1));
  world.run(100);
  gateway.send(down(2));
  world.run(100);
  t.deepEqual(client.delivered, [down(2)]);
  t.deepEqual(gateway.sample().peers[0]!.endpoint, client.endpoint);
});

test('two clients that swap their addresses are distinguished by their keys', (t) => {
  const { world, gateway, clients } = connectedClients(2);
  const [a, b] = clients as [Client, Client];
  [a.endpoint, b.endpoint] = [b.endpoint, a.endpoint];
  a.send(udp({ source: '10.0.0.2', destination: '10.0.0.1' }));
  b.send(udp({ source: '10.0.0.3', destination: '10.0.0.1' }));
  world.run(100);
  gateway.send(toClient);
  world.run(100);
  t.deepEqual(a.delivered, [toClient]);
  t.deepEqual(b.delivered, []);
});
