// The gates of the way in, one by one: what is refused, by which name, and that nothing remains of
// it. Two tunnels talk in virtual time; what travels between them is bent by hand. Here: form,
// transport data, roaming, full tables.

import test from 'ava';
import {
  MAX_INDICES,
  REJECT_AFTER_MESSAGES,
  REJECT_AFTER_TIME_MS,
} from '../../../dataplane/constants.ts';
import { MARK, MARK_TRUNCATED } from '../../../dataplane/contract.ts';
import type { ReasonName } from '../../../dataplane/reasons.ts';
import { readEndpoint } from '../../../dataplane/wire/address.ts';
import { counting, viewOf } from '../../support/dataplane/packets.ts';
import { type Client, DATA, INITIATION, RESPONSE } from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';
import {
  answer,
  assertRefused,
  awaitingResponse,
  caught,
  connected,
  elsewhere,
  freshInitiation,
  lastSent,
  packet,
  scene,
} from '../../support/dataplane/tunnel-scenes.ts';

// ---- form ------------------------------------------------------------------------------------

for (const [title, message] of [
  ['nothing', new Uint8Array(0)],
  ['a type that is none', counting(148)],
  ['an initiation that is too short', Uint8Array.of(1, 0, 0, 0, ...counting(143))],
  ['transport data without a tag', Uint8Array.of(4, 0, 0, 0, ...counting(27))],
] as const) {
  test(`${title} is malformed`, (t) => {
    assertRefused(t, scene(), message, 'malformed_message');
  });
}

test('a datagram that the kernel cut off is refused as that', (t) => {
  const { responder, world } = connected();
  const { engine, receiver } = responder;
  engine.acceptDatagram(counting(100), new Uint8Array([192, 0, 2, 9]), 9);
  engine.datagrams.descriptors[MARK] = MARK_TRUNCATED;
  receiver.classify(engine.datagrams, 0, world.now);
  t.is(receiver.accept(engine.datagrams, 0, world.now), null);
  t.like(responder.drops(), { datagram_truncated: 1 });
});

// ---- transport data --------------------------------------------------------------------------

test('no byte of transport data may differ; the true one is taken afterwards', (t) => {
  const all = connected();
  const { initiator, responder, world } = all;
  const message = caught(all, DATA, initiator, () => initiator.send(packet));
  for (let i = 0; i < message.length; i++) {
    const forged = message.slice();
    forged[i]! ^= 1 << (i % 8);
    const reason: ReasonName =
      i < 4 ? 'malformed_message' : i < 8 ? 'transport_unknown_index' : reasonOfCounter(forged);
    assertRefused(t, all, forged, reason, `byte ${i}`);
  }
  const delivered = responder.delivered.length;
  responder.receive(message, initiator.endpoint);
  t.is(responder.delivered.length, delivered + 1);
  t.true(world.now > 0);
});

/** A counter that was changed may be a replay, too great, or simply wrong. */
function reasonOfCounter(message: Uint8Array): ReasonName {
  const counter = viewOf(message).getBigUint64(8, true);
  if (counter === 0n) return 'transport_replayed';
  return counter >= BigInt(REJECT_AFTER_MESSAGES) ? 'transport_counter_limit' : 'transport_invalid';
}

test('data arrives once', (t) => {
  const all = connected();
  assertRefused(t, all, lastSent(all, DATA, all.initiator), 'transport_replayed');
});

test('data whose copy is in the same batch arrives once', (t) => {
  const all = connected();
  const { initiator, responder } = all;
  const bytes = caught(all, DATA, initiator, () => initiator.send(packet));
  const delivered = responder.delivered.length;
  const from = initiator.endpoint;
  responder.receiveAll([
    { bytes, from },
    { bytes, from },
  ]);
  t.is(responder.delivered.length, delivered + 1);
  t.like(responder.drops(), { transport_replayed: 1 });
});

test('a forged counter does not move the window', (t) => {
  const all = connected();
  const { initiator, responder } = all;
  const message = caught(all, DATA, initiator, () => initiator.send(packet));
  const forged = message.slice();
  viewOf(forged).setBigUint64(8, 2n ** 40n, true);
  assertRefused(t, all, forged, 'transport_invalid');
  const delivered = responder.delivered.length;
  responder.receive(message, initiator.endpoint);
  t.is(responder.delivered.length, delivered + 1);
});

for (const counter of [2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
  // docs/bugs-of-others.md#bug-1: limit of messages.
  test(`a counter of ${counter} is past the limit`, (t) => {
    const all = connected();
    const message = caught(all, DATA, all.initiator, () => all.initiator.send(packet));
    viewOf(message).setBigUint64(8, counter, true);
    assertRefused(t, all, message, 'transport_counter_limit');
  });
}

test('data for an index that nobody has is refused', (t) => {
  const all = connected();
  const message = lastSent(all, DATA, all.initiator).slice();
  viewOf(message).setUint32(4, 0xdeadbeef, true);
  assertRefused(t, all, message, 'transport_unknown_index');
});

test('data for the index of a handshake is refused', (t) => {
  const { all } = awaitingResponse();
  const message = new Uint8Array(64);
  message[0] = DATA;
  viewOf(message).setInt32(4, all.responder.peer.initiatorIndex!, true);
  assertRefused(t, all, message, 'transport_unknown_index');
});

test('a keypair carries data until it is 180 s old, and not after', (t) => {
  const all = connected();
  const { initiator, responder, world } = all;
  const early = caught(all, DATA, initiator, () => initiator.send(packet));
  const late = caught(all, DATA, initiator, () => initiator.send(packet));
  world.loses = () => true;
  const madeAt = responder.peer.current!.createdAt;
  world.run(madeAt + REJECT_AFTER_TIME_MS - 1 - world.now);
  const delivered = responder.delivered.length;
  responder.receive(early, initiator.endpoint);
  t.is(responder.delivered.length, delivered + 1);
  world.run(1);
  assertRefused(t, all, late, 'transport_keypair_expired');
});

test('data under the keypair before this one still arrives', (t) => {
  const all = connected();
  const { initiator, responder, world } = all;
  const old = caught(all, DATA, initiator, () => initiator.send(packet));
  initiator.send(packet);
  world.run(100);
  responder.send(answer);
  world.run(121_000);
  initiator.send(packet);
  world.run(1_000);
  initiator.send(packet);
  world.run(100);
  t.is(world.sent(INITIATION, initiator).length, 2);
  const delivered = responder.delivered.length;
  responder.receive(old, initiator.endpoint);
  t.is(responder.delivered.length, delivered + 1);
});

test('a keepalive confirms a session and is not delivered', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  initiator.sender.initiate(initiator.peer, false, world.now);
  world.run(100);
  t.not(responder.peer.current, null);
  t.deepEqual(responder.delivered, []);
});

test('the first data under a waiting keypair confirms it; those behind it in the batch arrive too', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  const held: Uint8Array[] = [];
  world.loses = ({ bytes }) => bytes[0] === DATA && held.push(bytes) > 0;
  for (let i = 0; i < 5; i++) initiator.send(packet);
  world.run(100);
  t.is(responder.peer.current, null);
  responder.receiveAll(held.map((bytes) => ({ bytes, from: initiator.endpoint })));
  t.is(responder.delivered.length, 5);
  t.is(responder.peer.next, null);
});

// ---- roaming (2.1) ---------------------------------------------------------------------------

/** Where a tunnel would send to. */
function endpointOf({ engine, peer: one }: Client): unknown {
  return readEndpoint(engine.endpoints, one.endpointSlot);
}

// docs/bugs-of-others.md#bug-4: endpoint follows any authenticated packet.
test('the endpoint follows data, to another port and to another address', (t) => {
  const { world, responder, initiator } = connected();
  for (const endpoint of [
    { ...initiator.endpoint, port: 41_000 },
    { address: '203.0.113.5', port: 40_000 },
    { address: '2001:db8::5', port: 40_000 },
  ]) {
    initiator.endpoint = endpoint;
    initiator.send(packet);
    world.run(100);
    t.deepEqual(endpointOf(responder), endpoint);
    const delivered = initiator.delivered.length;
    responder.send(answer);
    world.run(100);
    t.is(initiator.delivered.length, delivered + 1);
  }
});

test('a peer that comes or moves is an arrival, and one that renews its session is none', (t) => {
  const { world, responder, initiator } = connected();
  const { arrivals } = responder.tunnel;
  t.true(arrivals.takeReport(), 'its first handshake');
  arrivals.sampled();
  initiator.sender.initiate(initiator.peer, false, world.now);
  world.run(100);
  initiator.send(packet);
  world.run(100);
  t.false(arrivals.takeReport(), 'another handshake');
  initiator.endpoint = elsewhere;
  initiator.send(packet);
  world.run(100);
  t.true(arrivals.takeReport(), 'another endpoint');
  arrivals.sampled();
  // Within 10 s it makes another handshake, because nothing answers its packets.
  world.run(10_000 + REJECT_AFTER_TIME_MS);
  initiator.send(packet);
  world.run(100);
  t.true(arrivals.takeReport(), 'a handshake after a silence');
});

// docs/bugs-of-others.md#bug-4: endpoint follows any authenticated packet.
test('the endpoint follows a keepalive', (t) => {
  const { world, responder, initiator } = connected();
  initiator.endpoint = elsewhere;
  initiator.sender.keepalive(initiator.peer, world.now);
  world.run(100);
  t.deepEqual(endpointOf(responder), elsewhere);
});

test('an initiation is answered where it came from, and the endpoint follows what proves it', (t) => {
  const { world, responder, initiator } = connected();
  world.run(10_000);
  const before = endpointOf(responder);
  initiator.endpoint = elsewhere;
  initiator.sender.initiate(initiator.peer, false, world.now);
  world.run(6);
  // Until then it may be a recorded message, that a restart has forgotten.
  t.deepEqual(endpointOf(responder), before);
  t.deepEqual(world.sent(RESPONSE, responder).at(-1)?.to, elsewhere);
  world.run(20);
  t.deepEqual(endpointOf(responder), elsewhere);
});

test('the endpoint follows a response', (t) => {
  const { world, responder, initiator } = scene();
  initiator.send(packet);
  world.run(6);
  world.loses = ({ bytes }) => bytes[0] === RESPONSE;
  const answered = world.sent(RESPONSE, responder)[0]!.bytes;
  initiator.receive(answered, elsewhere);
  t.deepEqual(endpointOf(initiator), elsewhere);
});

test('the endpoint does not follow forged, replayed or expired data', (t) => {
  const all = connected();
  const { initiator, responder, world } = all;
  const forged = caught(all, DATA, initiator, () => initiator.send(packet)).slice();
  forged[20]! ^= 1;
  responder.receive(forged, elsewhere);
  responder.receive(lastSent(all, DATA, initiator).slice(0, 40), elsewhere);
  responder.receive(world.sent(DATA, initiator)[0]!.bytes.slice(), elsewhere);
  t.deepEqual(endpointOf(responder), initiator.endpoint);
});

test('packets that waited for a confirmation go to where it came from', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  world.loses = ({ bytes }) => bytes[0] === DATA;
  initiator.send(packet);
  world.run(100);
  responder.send(answer);
  world.loses = () => false;
  // The client roams before its first packet arrives.
  initiator.endpoint = elsewhere;
  initiator.send(packet);
  world.run(100);
  t.deepEqual(endpointOf(responder), elsewhere);
  t.deepEqual(initiator.delivered, [answer]);
});

// ---- full tables -----------------------------------------------------------------------------

/** Gives every index away; returns one of them. */
function fillIndices({ tunnel, peer }: Client): number {
  const index = tunnel.indices.addHandshake(peer)!;
  while (tunnel.indices.addHandshake(peer) !== null);
  return index;
}

/** Lets an engine have no room for another key while `work` runs. */
function withoutKeys({ engine }: Client, work: () => void): void {
  engine.installKey = () => null;
  work();
  Reflect.deleteProperty(engine, 'installKey');
}

test('without an index an initiation is not answered, and the next one is once there is one', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  const index = fillIndices(responder);
  assertRefused(t, all, freshInitiation(all), 'index_table_full');
  t.is(responder.tunnel.indices.size, MAX_INDICES);
  responder.tunnel.indices.remove(index);
  world.run(100);
  responder.receive(freshInitiation(all), initiator.endpoint);
  t.is(world.sent(RESPONSE, responder).length, 1);
});

test('without room for a key an initiation is not answered, and its index is free again', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  withoutKeys(responder, () => assertRefused(t, all, freshInitiation(all), 'keypair_table_full'));
  t.is(responder.tunnel.indices.size, 0);
  world.run(100);
  responder.receive(freshInitiation(all), initiator.endpoint);
  t.is(world.sent(RESPONSE, responder).length, 1);
});

test('without room for a key a response makes no session, and the next try does', (t) => {
  const { world, responder, initiator } = scene();
  initiator.send(packet);
  withoutKeys(initiator, () => world.run(100));
  t.deepEqual(initiator.drops(), { keypair_table_full: 1 });
  t.is(initiator.tunnel.indices.size, 0);
  t.is(initiator.engine.liveKeys, 0);
  t.is(initiator.peer.initiator, null);
  world.run(6_000);
  t.is(world.sent(INITIATION, initiator).length, 2);
  t.deepEqual(responder.delivered, [packet]);
});
