// The machine as a whole, in virtual time: packets go in and come out, whatever a batch holds; what
// is never answered; statistics.

import test from 'ava';
import { ERROR_TUN_WRITE, ERROR_UDP_SEND, LENGTH } from '../../../dataplane/contract.ts';
import { address, counting, udp, viewOf } from '../../support/dataplane/packets.ts';
import { SEED } from '../../support/dataplane/seed.ts';
import {
  DATA,
  GATEWAY_ENDPOINT,
  gatewayAndClient,
  randomBytes,
  rule,
  World,
} from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import {
  SECOND,
  connected,
  connectedClients,
  elsewhere,
  from,
  toClient,
  toGateway,
  up,
} from '../../support/dataplane/pipeline-scenes.ts';

// ---- the way in and out ----------------------------------------------------------------------

test('a packet makes a handshake and arrives unchanged, both families', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  const v6 = udp({ source: 'fd00::2', destination: 'fd00::1', data: 'hello' });
  client.send(toGateway, v6);
  world.run(100);
  t.deepEqual(gateway.delivered, [toGateway, v6]);
  t.deepEqual(gateway.drops(), {});
});

test('answers find the way back to where the client was heard', (t) => {
  const { client } = connected();
  t.deepEqual(client.delivered, [toClient]);
});

test('the tunnel may run over IPv6, with either family inside', (t) => {
  const { world, gateway, client } = gatewayAndClient(SEED, {
    gateway: { endpoint: { address: '2001:db8::1', port: 51_820 } },
    client: { endpoint: { address: '2001:db8::7', port: 40_000 } },
  });
  client.send(toGateway);
  world.run(100);
  gateway.send(toClient);
  world.run(100);
  t.deepEqual(gateway.delivered, [toGateway]);
  t.deepEqual(client.delivered, [toClient]);
});

test('each packet of a batch goes to the peer that owns its destination', (t) => {
  const { world, gateway, clients } = connectedClients(5);
  const packets = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0
      ? udp({ source: '192.0.2.9', destination: `10.0.0.${2 + (i % 5)}`, data: `${i}` })
      : udp({ source: '2001:db8::9', destination: `fd00::${2 + (i % 5)}`, data: `${i}` }),
  );
  gateway.send(...packets);
  world.run(100);
  for (const [n, client] of clients.entries())
    t.deepEqual(
      client.delivered,
      packets.filter((_, i) => i % 5 === n),
    );
});

test('datagrams of several clients in one batch are each their own', (t) => {
  const { world, gateway, clients } = connectedClients(3);
  world.loses = () => true;
  const held = world.wire.length;
  for (let i = 0; i < 12; i++)
    clients[i % 3]!.send(
      udp({ source: `10.0.0.${2 + (i % 3)}`, destination: '10.0.0.1', data: `${i}` }),
    );
  const batch = world.wire.slice(held).map(({ bytes, from }) => ({ bytes, from }));
  gateway.receiveAll(batch);
  // The order among clients is no matter.
  for (const [n] of clients.entries())
    t.deepEqual(
      gateway.delivered
        .filter((bytes) => bytes[15] === 2 + n)
        .map((bytes) => new TextDecoder().decode(bytes.subarray(28))),
      Array.from({ length: 4 }, (_, i) => `${3 * i + n}`),
    );
  t.is(gateway.delivered.length, 12);
});

// ---- what is never answered ------------------------------------------------------------------

// docs/bugs-of-others.md#bug-9: oversized or odd datagrams.
// docs/bugs-of-others.md#bug-25: counted.
test('random datagrams of every length are refused, unanswered, and throw nothing', (t) => {
  const { world, gateway, client } = connected();
  const random = chance(99);
  const view = viewOf(world.sent(DATA, client)[0]!.bytes);
  const index = view.getUint32(4, true);
  const sent = world.sent(0, gateway).length;
  gateway.delivered.length = 0;
  for (let length = 0; length <= 2_000; length++) {
    const bytes = randomBytes(random, length);
    // Half of them look like a message, a quarter like one of the session.
    if (length >= 8 && length % 2 === 0) viewOf(bytes).setUint32(0, 1 + ((length >> 1) % 4), true);
    if (length >= 8 && length % 4 === 0) viewOf(bytes).setUint32(4, index, true);
    gateway.receive(bytes, elsewhere);
  }
  world.run(100);
  t.is(world.sent(0, gateway).length, sent);
  t.deepEqual(gateway.delivered, []);
  const drops = Object.values(gateway.drops()).reduce((sum, count) => sum + count, 0);
  t.is(drops, 2_001);
});

// docs/bugs-of-others.md#bug-25: silence.
test('random datagrams of exactly the sizes of handshake messages are not answered either', (t) => {
  const { world, gateway } = gatewayAndClient();
  const random = chance(98);
  for (const [type, length] of [
    [1, 148],
    [2, 92],
    [3, 64],
    [4, 32],
  ] as const) {
    for (let i = 0; i < 200; i++) {
      const bytes = randomBytes(random, length);
      bytes.set([type, 0, 0, 0]);
      gateway.receive(bytes, elsewhere);
    }
  }
  world.run(SECOND);
  t.is(world.wire.length, 0);
});

test('inner packets of random bytes are refused or passed on, and throw nothing', (t) => {
  const { world, gateway, client } = connected();
  const random = chance(97);
  let sent = 0;
  gateway.delivered.length = 0;
  for (let length = 20; length < 400; length++) {
    const bytes = randomBytes(random, length);
    bytes[0] = length % 2 === 0 ? 0x45 : 0x60;
    if (length % 3 === 0) bytes.set(address('10.0.0.2'), 12);
    if (length % 3 === 1 && length >= 40) bytes.set(address('fd00::2'), 8);
    client.send(bytes);
    world.run(1);
    sent++;
  }
  world.run(100);
  const drops = Object.values(gateway.drops()).reduce((sum, count) => sum + count, 0);
  t.is(drops + gateway.delivered.length, sent);
});

// ---- statistics ------------------------------------------------------------------------------

test('a sample tells what moved, and the next one only what moved since', (t) => {
  const { world, gateway, clients, peers } = connectedClients(2);
  gateway.sample();
  gateway.apply(peers, { owner: [rule('1', 'drop', '192.0.2.0/24')] });
  clients[0]!.send(udp(from), toGateway);
  world.run(100);
  const sample = gateway.sample();
  t.is(sample.peers.length, 1);
  t.like(sample.peers[0], {
    publicKey: clients[0]!.key,
    rxBytes: 64 + 80,
    txBytes: 0,
    rxInnerBytes: 32 + 48,
  });
  t.deepEqual(sample.rules, [{ id: '1', packets: 1, bytes: 28, lastHitMs: world.wallMs - 95 }]);
  t.deepEqual(sample.drops, { rule_drop: 1 });
  const forgotten = { share: 0, full: 0, ended_share: 0, ended_full: 0 };
  t.deepEqual(gateway.sample(), { peers: [], rules: [], drops: { rule_drop: 1 }, forgotten });
});

test('errors of the engine are counted among the drops', (t) => {
  const { gateway } = connected();
  gateway.engine.errors[ERROR_UDP_SEND] = 3;
  gateway.engine.errors[ERROR_TUN_WRITE] = 2;
  t.deepEqual(gateway.drops(), { udp_send_failed: 3, tun_write_failed: 2 });
});

test('a gateway without peers sleeps for ever', (t) => {
  const world = new World();
  const gateway = world.addNode({ endpoint: GATEWAY_ENDPOINT });
  t.is(gateway.nextTimeout(), Number.POSITIVE_INFINITY);
});

test('an empty batch does nothing', (t) => {
  const { world, gateway } = connected();
  const sent = world.wire.length;
  gateway.receiveAll([]);
  gateway.send();
  t.is(world.wire.length, sent);
  t.deepEqual(gateway.drops(), {});
});

test('what a batch leaves in its descriptors is not mistaken in the next', (t) => {
  const { world, gateway, client } = connected();
  gateway.delivered.length = 0;
  world.loses = () => true;
  for (let i = 0; i < 8; i++) client.send(up(i));
  const batch = world.wire.slice(-8).map(({ bytes }) => ({ bytes, from: client.endpoint }));
  gateway.receiveAll(batch);
  gateway.receiveAll(
    Array.from({ length: 8 }, (_, i) => ({ bytes: counting(40 + i), from: elsewhere })),
  );
  t.is(gateway.delivered.length, 8);
  t.deepEqual(gateway.drops(), { malformed_message: 8 });
  t.true(gateway.engine.datagrams.descriptors[LENGTH]! > 0);
});
