// The gates of the way in, one by one: what is refused, by which name, and that nothing remains of
// it. Two tunnels talk in virtual time; what travels between them is bent by hand.

import test, { type ExecutionContext } from 'ava';
import {
  COOKIE_REPLIES_PER_SECOND,
  COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  DATAGRAM_SLOTS,
  FALSE_RESPONSES_MAX,
  MAX_INDICES,
  MAX_QUEUED_INITIATIONS,
  MAX_REFUSED_PER_SOURCE,
  MAX_WAITING_PER_SOURCE,
  RATE_LIMIT_BURST,
  REJECT_AFTER_MESSAGES,
  REJECT_AFTER_TIME_MS,
  REKEY_TIMEOUT_MS,
  UNDER_LOAD_INITIATIONS,
} from '../../../dataplane/constants.ts';
import { VERDICT, VERDICT_TRUNCATED } from '../../../dataplane/contract.ts';
import type { Arrival } from '../../../dataplane/memory/surroundings.ts';
import { CookieChecker, CookieMaker } from '../../../dataplane/noise/cookie.ts';
import type { Primitives } from '../../../dataplane/noise/primitives.ts';
import type { ReasonName } from '../../../dataplane/reasons.ts';
import { type Endpoint, hasEndpoint, readEndpoint } from '../../../dataplane/wire/address.ts';
import { cookieReply, initiation, response } from '../../../dataplane/wire/messages.ts';
import { forger, responseForger } from '../../support/forged.ts';
import { implementations } from '../../support/native.ts';
import { address, counting, udp, viewOf } from '../../support/packets.ts';
import { SEED } from '../../support/seed.ts';
import {
  type Client,
  COOKIE,
  DATA,
  gatewayPeer,
  INITIATION,
  RESPONSE,
  seededRandom,
  twoTunnels,
  type World,
} from '../../support/simulation.ts';
import '../../support/world-test.ts';

/** The quickest that is here: floods are many Diffie-Hellmans. */
const quick: Primitives = implementations.at(-1)![1];

const packet = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
const answer = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });
const elsewhere = { address: '203.0.113.66', port: 666 };
/** After so long one more cookie may leave, and one more to the same source. */
const COOKIE_PACE_MS = 1_000 / COOKIE_REPLIES_PER_SECOND;
const SOURCE_PACE_MS = 1_000 / COOKIE_REPLIES_PER_SECOND_AND_SOURCE;

interface Scene {
  world: World;
  responder: Client;
  initiator: Client;
}

function scene(): Scene {
  return twoTunnels(SEED, { client: { primitives: quick } });
}

/** Two tunnels with a session that both have used. */
function connected(): Scene {
  const all = scene();
  all.initiator.send(packet);
  all.world.run(100);
  all.responder.send(answer);
  all.world.run(100);
  return all;
}

/** The last message of a type that a tunnel sent. */
function lastSent({ world }: Scene, type: number, by: Client): Uint8Array {
  return world.sent(type, by).at(-1)!.bytes;
}

/** Makes a tunnel send one more message, which is lost; returns it. */
function caught(all: Scene, type: number, by: Client, send: () => void): Uint8Array {
  const { loses } = all.world;
  all.world.loses = () => true;
  send();
  all.world.loses = loses;
  return lastSent(all, type, by);
}

/** An initiation that the responder has never seen. */
function freshInitiation(all: Scene): Uint8Array {
  const { initiator, world } = all;
  return caught(all, INITIATION, initiator, () => {
    initiator.peer.lastInitiationSentAt = Number.NEGATIVE_INFINITY;
    initiator.tunnel.wallMs = world.wallMs;
    initiator.sender.initiate(initiator.peer, false, world.now);
  });
}

/** What a tunnel dropped while `work` ran. */
function droppedDuring(client: Client, work: () => void): Record<string, number> {
  const before = client.drops();
  work();
  return Object.fromEntries(
    Object.entries(client.drops())
      .map(([name, count]): [string, number] => [name, count - (before[name] ?? 0)])
      .filter(([, count]) => count > 0),
  );
}

/** One message arrives, must be refused by this name, unanswered, and leave nothing behind. */
function assertRefused(
  t: ExecutionContext,
  all: Scene,
  message: Uint8Array,
  reason: ReasonName,
  note = '',
): void {
  const { world, responder } = all;
  const { indices, timers } = responder.tunnel;
  const before = {
    indices: indices.size,
    keys: responder.engine.liveKeys,
    deadline: timers.nextDeadline,
    sent: world.sent(0, responder).length,
    delivered: responder.delivered.length,
    endpoint: readEndpoint(responder.engine.endpoints, responder.peer.endpointSlot),
    ...keypairsOf(responder),
  };
  const dropped = droppedDuring(responder, () => responder.receive(message.slice(), elsewhere));
  t.deepEqual(dropped, { [reason]: 1 }, note);
  t.deepEqual(
    {
      indices: indices.size,
      keys: responder.engine.liveKeys,
      deadline: timers.nextDeadline,
      sent: world.sent(0, responder).length,
      delivered: responder.delivered.length,
      endpoint: readEndpoint(responder.engine.endpoints, responder.peer.endpointSlot),
      ...keypairsOf(responder),
    },
    before,
    note,
  );
}

function keypairsOf({ peer: one }: Client): Record<string, number | undefined> {
  const { previous, current, next } = one;
  return {
    previous: previous?.localIndex,
    current: current?.localIndex,
    next: next?.localIndex,
  };
}

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
  engine.datagrams.descriptors[VERDICT] = VERDICT_TRUNCATED;
  receiver.classify(engine.datagrams, 0, world.now);
  t.is(receiver.accept(engine.datagrams, 0, world.now), null);
  t.like(responder.drops(), { datagram_truncated: 1 });
});

// ---- initiations -----------------------------------------------------------------------------

test('an initiation is answered, and makes a keypair that waits', (t) => {
  const all = scene();
  const { world, responder } = all;
  responder.receive(freshInitiation(all), elsewhere);
  t.is(world.sent(RESPONSE, responder).length, 1);
  t.is(responder.peer.current, null);
  t.not(responder.peer.next, null);
  t.is(responder.tunnel.indices.size, 1);
  t.deepEqual(world.sent(RESPONSE, responder)[0]?.to, elsewhere);
  t.is(readEndpoint(responder.engine.endpoints, responder.peer.endpointSlot), null);
});

test('no byte of an initiation may differ; what is left of it is nothing', (t) => {
  const all = scene();
  const message = freshInitiation(all);
  for (let i = 0; i < initiation.mac2; i++) {
    const forged = message.slice();
    forged[i]! ^= 1 << (i % 8);
    const reason = i < 4 ? 'malformed_message' : 'mac1_invalid';
    assertRefused(t, all, forged, reason, `byte ${i}`);
  }
  t.true(all.responder.peer.greatestTimestamp.every((byte) => byte === 0));
});

test('no byte of an initiation may differ, even where mac1 was made anew', (t) => {
  const all = scene();
  const message = freshInitiation(all);
  const maker = new CookieMaker(quick, all.responder.publicKey);
  for (let i = initiation.ephemeral; i < initiation.mac1; i++) {
    const forged = message.slice();
    forged[i]! ^= 1 << (i % 8);
    maker.addMacs(forged, initiation.mac1, all.world.now);
    assertRefused(t, all, forged, 'initiation_invalid', `byte ${i}`);
  }
  t.true(all.responder.peer.greatestTimestamp.every((byte) => byte === 0));
});

test('mac2 is not looked at while nobody is under load', (t) => {
  const all = scene();
  const message = freshInitiation(all);
  message.fill(0xaa, initiation.mac2);
  all.responder.receive(message, elsewhere);
  t.is(all.world.sent(RESPONSE).length, 1);
});

test('an initiation from a key that was not configured is refused by that name', (t) => {
  const all = scene();
  const stranger = all.world.addClient({ endpoint: elsewhere, primitives: quick });
  stranger.addPeer(gatewayPeer(all.responder));
  const message = caught(all, INITIATION, stranger, () => stranger.send(packet));
  assertRefused(t, all, message, 'initiation_unknown_peer');
});

test('an initiation to another gateway is refused at its mac1', (t) => {
  const all = scene();
  const other = all.world.addClient({ endpoint: elsewhere });
  all.initiator.addPeer(gatewayPeer(other));
  const stranger = all.initiator.tunnel.peers.get(other.key)!;
  const message = caught(all, INITIATION, all.initiator, () =>
    all.initiator.sender.initiate(stranger, false, all.world.now),
  );
  assertRefused(t, all, message, 'mac1_invalid');
});

test('the same initiation again is a replay', (t) => {
  const all = scene();
  const message = freshInitiation(all);
  all.responder.receive(message.slice(), elsewhere);
  all.world.run(1_000);
  assertRefused(t, all, message, 'initiation_replayed');
});

test('an initiation that is older than one that was taken is a replay', (t) => {
  const all = scene();
  const older = freshInitiation(all);
  all.world.run(1_000);
  const newer = freshInitiation(all);
  all.responder.receive(newer, elsewhere);
  all.world.run(1_000);
  assertRefused(t, all, older, 'initiation_replayed');
});

test('a replayed initiation does not move the endpoint', (t) => {
  const all = connected();
  const message = lastSent(all, INITIATION, all.initiator);
  all.world.run(1_000);
  all.responder.receive(message, elsewhere);
  t.deepEqual(
    readEndpoint(all.responder.engine.endpoints, all.responder.peer.endpointSlot),
    all.initiator.endpoint,
  );
});

test('one peer may have one initiation taken every 20 ms', (t) => {
  const all = scene();
  all.responder.receive(freshInitiation(all), elsewhere);
  all.world.run(19);
  assertRefused(t, all, freshInitiation(all), 'initiation_too_frequent');
  all.world.run(1);
  all.responder.receive(freshInitiation(all), elsewhere);
  t.is(all.world.sent(RESPONSE).length, 2);
});

test('an initiation that came too soon does not hide the one after it', (t) => {
  const all = scene();
  all.responder.receive(freshInitiation(all), elsewhere);
  all.responder.receive(freshInitiation(all), elsewhere);
  all.world.run(20);
  all.responder.receive(freshInitiation(all), elsewhere);
  t.is(all.world.sent(RESPONSE).length, 2);
});

test('fifty initiations of one peer leave one waiting keypair', (t) => {
  const all = scene();
  for (let i = 0; i < 50; i++) {
    all.world.run(20);
    all.responder.receive(freshInitiation(all), elsewhere);
  }
  t.is(all.responder.engine.liveKeys, 1);
  t.is(all.responder.tunnel.indices.size, 1);
});

test('an initiation whose peer was removed meanwhile finds nobody', (t) => {
  const all = scene();
  const message = freshInitiation(all);
  const { tunnel } = all.responder;
  tunnel.removePeer(all.responder.peer);
  const dropped = droppedDuring(all.responder, () => all.responder.receive(message, elsewhere));
  t.deepEqual(dropped, { initiation_unknown_peer: 1 });
  t.is(all.world.sent(RESPONSE).length, 0);
});

test('an initiation leaves the session in use as it is', (t) => {
  const all = connected();
  const { responder, world } = all;
  const { current } = responder.peer;
  world.run(6_000);
  responder.receive(freshInitiation(all), all.initiator.endpoint);
  t.is(responder.peer.current, current);
  const delivered = all.initiator.delivered.length;
  responder.send(answer);
  world.run(100);
  t.is(all.initiator.delivered.length, delivered + 1);
});

// ---- responses -------------------------------------------------------------------------------

/** A scene whose responder and initiator have changed places: the message goes to `responder`. */
function awaitingResponse(): { all: Scene; message: Uint8Array } {
  const { world, responder, initiator } = scene();
  const reversed = { world, responder: initiator, initiator: responder };
  world.loses = ({ bytes }) => bytes[0] === RESPONSE;
  initiator.send(packet);
  world.run(100);
  return { all: reversed, message: lastSent(reversed, RESPONSE, responder) };
}

test('no byte of a response may differ; the true one is taken afterwards', (t) => {
  const { all, message } = awaitingResponse();
  for (let i = 0; i < response.mac2; i++) {
    const forged = message.slice();
    forged[i]! ^= 1 << (i % 8);
    const isIndex = i >= response.receiver && i < response.ephemeral;
    const reason =
      i < 4 ? 'malformed_message' : isIndex ? 'response_unknown_index' : 'mac1_invalid';
    assertRefused(t, all, forged, reason, `byte ${i}`);
  }
  all.responder.receive(message, elsewhere);
  t.not(all.responder.peer.current, null);
});

test('no byte of a response may differ, even where mac1 was made anew', (t) => {
  const { all, message } = awaitingResponse();
  const maker = new CookieMaker(quick, all.responder.publicKey);
  for (let i = response.ephemeral; i < response.mac1; i++) {
    const forged = message.slice();
    forged[i]! ^= 1 << (i % 8);
    maker.addMacs(forged, response.mac1, all.world.now);
    assertRefused(t, all, forged, 'response_invalid', `byte ${i}`);
    // A few are computed, and here all of them should be.
    all.responder.peer.falseResponses = 0;
  }
  all.responder.receive(message, elsewhere);
  t.not(all.responder.peer.current, null);
});

test('a response is taken once', (t) => {
  const { all, message } = awaitingResponse();
  all.responder.receive(message.slice(), all.initiator.endpoint);
  assertRefused(t, all, message, 'response_unknown_index');
});

test('a response to an initiation that was repeated meanwhile is refused', (t) => {
  const { all, message } = awaitingResponse();
  all.world.loses = () => true;
  all.world.run(6_000);
  assertRefused(t, all, message, 'response_unknown_index');
});

test('a response to nothing is refused', (t) => {
  const all = scene();
  const message = new Uint8Array(response.bytes);
  message[0] = RESPONSE;
  new CookieMaker(quick, all.responder.publicKey).addMacs(message, response.mac1, 0);
  assertRefused(t, all, message, 'response_unknown_index');
});

test('a response under another preshared key is refused', (t) => {
  const all = scene();
  const { peer } = all.responder;
  peer.config = { ...peer.config, presharedKey: counting(32) };
  all.initiator.send(packet);
  all.world.run(100);
  t.deepEqual(all.initiator.drops(), { response_invalid: 1 });
  t.is(all.initiator.engine.liveKeys, 0);
});

test('a response with the index of another peer is refused', (t) => {
  const { all, message } = awaitingResponse();
  const other = all.world.addClient({ endpoint: elsewhere, primitives: quick });
  const added = all.responder.addPeer(gatewayPeer(other));
  all.responder.sender.initiate(added, false, all.world.now);
  const view = viewOf(message);
  view.setInt32(response.receiver, added.initiatorIndex!, true);
  const maker = new CookieMaker(quick, all.responder.publicKey);
  maker.addMacs(message, response.mac1, all.world.now);
  assertRefused(t, all, message, 'response_invalid');
});

// ---- cookie replies --------------------------------------------------------------------------

/** A cookie reply to a message, as the peer with this key would make it. */
function cookieFor(message: Uint8Array, publicKey: Uint8Array): Uint8Array {
  const reply = new Uint8Array(cookieReply.bytes);
  const checker = new CookieChecker(quick, publicKey, seededRandom(3));
  checker.createReply(reply, message, initiation.mac1, counting(22), 0);
  return reply;
}

// docs/faults-of-others.md#fault-4: endpoint follows no cookie reply.
test('a cookie reply is taken, and neither answered nor followed', (t) => {
  const { all } = awaitingResponse();
  const { responder, initiator, world } = all;
  const reply = cookieFor(lastSent(all, INITIATION, responder), initiator.publicKey);
  const sent = world.wire.length;
  t.deepEqual(
    droppedDuring(responder, () => responder.receive(reply, elsewhere)),
    {},
  );
  t.is(world.wire.length, sent);
  t.deepEqual(
    readEndpoint(responder.engine.endpoints, responder.peer.endpointSlot),
    initiator.endpoint,
  );
});

test('a cookie reply to nothing is refused', (t) => {
  const all = scene();
  const message = new Uint8Array(initiation.bytes);
  assertRefused(t, all, cookieFor(message, all.initiator.publicKey), 'cookie_unknown_index');
});

test('a cookie reply that was tampered with, or made by another, is refused', (t) => {
  const { all } = awaitingResponse();
  const message = lastSent(all, INITIATION, all.responder);
  const reply = cookieFor(message, all.initiator.publicKey);
  reply[40]! ^= 1;
  assertRefused(t, all, reply, 'cookie_invalid');
  assertRefused(t, all, cookieFor(message, counting(32)), 'cookie_invalid');
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
  // docs/faults-of-others.md#fault-1: limit of messages.
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

// docs/faults-of-others.md#fault-4: endpoint follows any authenticated packet.
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

// docs/faults-of-others.md#fault-4: endpoint follows any authenticated packet.
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

// ---- false responses -------------------------------------------------------------------------

/** Somebody who sees each initiation is quicker than who is asked, from many addresses. */
function answerFalsely({ world, initiator }: Scene, count: number): void {
  const index = world.sent(INITIATION, initiator).at(-1)!.bytes.subarray(4, 8);
  const forge = responseForger(initiator.publicKey);
  const from = (i: number): Endpoint => ({ address: `203.0.113.${i % 250}`, port: 1_000 + i });
  for (let i = 0; i < count; i += 64)
    initiator.receiveAll(
      Array.from({ length: 64 }, (_, n) => ({ bytes: forge(index), from: from(i + n) })),
    );
}

test('false responses to one initiation cost few Diffie-Hellmans, and are asked for a cookie', (t) => {
  const all = scene();
  const { world, initiator } = all;
  initiator.send(packet);
  answerFalsely(all, 1_024);
  const { response_invalid, cookie_sent = 0, cookie_withheld = 0 } = initiator.drops();
  t.is(response_invalid, FALSE_RESPONSES_MAX);
  t.is(cookie_sent + cookie_withheld, 1_024 - FALSE_RESPONSES_MAX);
  t.is(world.sent(COOKIE, initiator).length, cookie_sent);
  // The next try is another initiation, and nobody has been false to it.
  world.loses = () => true;
  world.run(6_000);
  t.is(world.sent(INITIATION, initiator).length, 2);
  t.is(initiator.peer.falseResponses, 0);
});

test('who answers truly behind false responses is asked for a cookie, and heard at the next try', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  initiator.send(packet);
  answerFalsely(all, 64);
  world.run(1_000);
  const asked = world
    .sent(COOKIE, initiator)
    .filter(({ to }) => to.port === responder.endpoint.port);
  t.is(asked.length, 1);
  t.deepEqual(responder.delivered, []);
  while (world.sent(INITIATION, initiator).length === 1) world.run(1);
  answerFalsely(all, 64);
  world.run(1_000);
  const [first, second] = world.sent(RESPONSE, responder);
  t.true(first!.bytes.subarray(response.mac2).every((byte) => byte === 0));
  t.true(second!.bytes.subarray(response.mac2).some((byte) => byte !== 0));
  t.deepEqual(responder.delivered, [packet]);
});

// ---- under load (5.3) ------------------------------------------------------------------------

/** Forged initiations from many addresses until the responder is under load. */
function flood({ responder }: Scene): void {
  const forge = forger(responder.publicKey);
  const cookies = (): number => responder.drops()['cookie_sent'] ?? 0;
  const before = cookies();
  for (let batch = 0; cookies() === before; batch++) {
    const datagrams = Array.from({ length: 64 }, (_, i) => ({
      bytes: forge(),
      from: { address: `203.0.113.${i}`, port: 1_000 + batch },
    }));
    responder.receiveAll(datagrams);
  }
}

test('initiations are taken eight at a time, so that data does not wait for them', (t) => {
  const all = scene();
  const { responder } = all;
  const forge = forger(responder.publicKey);
  const from = elsewhere;
  responder.receiveAll(Array.from({ length: 64 }, () => ({ bytes: forge(), from })));
  t.is(responder.receiver.waitingInitiations, 56);
  t.deepEqual(responder.drops(), { initiation_invalid: 8 });
  responder.receiver.takeInitiations(100, all.world.now);
  t.is(responder.receiver.waitingInitiations, 0);
  t.is(all.world.wire.length, 0);
});

test('under load an initiation without a cookie gets one, and nothing else', (t) => {
  const all = scene();
  flood(all);
  const { world, responder, initiator } = all;
  const sent = world.wire.length;
  const message = freshInitiation(all);
  responder.receive(message, initiator.endpoint);
  const replies = world.wire.slice(sent + 1);
  t.is(replies.length, 1);
  t.is(replies[0]!.bytes[0], COOKIE);
  t.deepEqual(replies[0]!.to, initiator.endpoint);
  t.true(replies[0]!.bytes.length <= message.length);
  t.is(responder.peer.next, null);
  t.false(hasEndpoint(responder.engine.endpoints, responder.peer.endpointSlot));
});

// docs/faults-of-others.md#fault-25: silence.
test('under load a false mac1 is not worth a cookie', (t) => {
  const all = scene();
  flood(all);
  const { world, responder } = all;
  const message = freshInitiation(all);
  message[10]! ^= 1;
  const sent = world.wire.length;
  const dropped = droppedDuring(responder, () => responder.receive(message, elsewhere));
  t.like(dropped, { mac1_invalid: 1 });
  t.is(dropped['cookie_sent'], undefined);
  t.is(world.wire.length, sent);
});

test('under load an initiation with the cookie is taken', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  flood(all);
  initiator.send(packet);
  // The flood goes on for as long as it takes the client to try again.
  for (let i = 0; i < 55; i++) {
    world.run(100);
    if (i % 5 === 0) flood(all);
  }
  const [first, second] = world.sent(INITIATION, initiator);
  t.true(first!.bytes.subarray(initiation.mac2).every((byte) => byte === 0));
  t.true(second!.bytes.subarray(initiation.mac2).some((byte) => byte !== 0));
  t.deepEqual(responder.delivered, [packet]);
});

// docs/faults-of-others.md#fault-5: cookie of address and port.
test('a cookie serves only at the address and the port that it was sent to', (t) => {
  const all = scene();
  flood(all);
  const { world, responder, initiator } = all;
  world.run(0);
  responder.receive(freshInitiation(all), initiator.endpoint);
  const reply = world.sent(COOKIE, responder).at(-1)!.bytes;
  initiator.receive(reply.slice(), responder.endpoint);
  for (const from of [
    { ...initiator.endpoint, port: 40_001 },
    { ...initiator.endpoint, address: '198.51.100.8' },
  ]) {
    const dropped = droppedDuring(responder, () => responder.receive(freshInitiation(all), from));
    t.is(dropped['cookie_sent'], 1);
  }
  const dropped = droppedDuring(responder, () =>
    responder.receive(freshInitiation(all), initiator.endpoint),
  );
  t.is(dropped['cookie_sent'], undefined);
});

test('under load one source may have five initiations taken at once', (t) => {
  const all = scene();
  flood(all);
  const { world, responder, initiator } = all;
  responder.receive(freshInitiation(all), initiator.endpoint);
  initiator.receive(world.sent(COOKIE, responder).at(-1)!.bytes.slice(), responder.endpoint);
  const dropped = droppedDuring(responder, () => {
    for (let i = 0; i < 9; i++) responder.receive(freshInitiation(all), initiator.endpoint);
  });
  t.is(dropped['rate_limited'], 4);
});

// docs/faults-of-others.md#fault-5: handshakes limited per source.
test('one source that floods has to give a cookie, and nobody else has to', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  const forge = forger(responder.publicKey);
  const flooder = { address: '203.0.113.9', port: 9 };
  for (let batch = 0; batch < 200; batch++) {
    // From as many ports as it likes: they are one source.
    const from = { ...flooder, port: 1_000 + batch };
    responder.receiveAll(Array.from({ length: 64 }, () => ({ bytes: forge(), from })));
  }
  const drops = responder.drops();
  const asked = drops['cookie_sent']! + drops['cookie_withheld']!;
  t.true(asked > 10_000, 'the source is asked');
  t.true(drops['initiation_invalid']! < 2_000, 'and costs few Diffie-Hellmans');
  t.true(responder.receiver.waitingInitiations <= MAX_WAITING_PER_SOURCE);
  initiator.send(packet);
  world.run(0);
  responder.receiver.takeInitiations(MAX_QUEUED_INITIATIONS, world.now);
  world.run(100);
  t.is(
    world.sent(COOKIE, responder).filter(({ to }) => to.port === initiator.endpoint.port).length,
    0,
  );
  t.deepEqual(responder.delivered, [packet]);
});

test('a source that forges is asked for a cookie, though the worker keeps up with it', (t) => {
  const { world, responder } = scene();
  const forge = forger(responder.publicKey);
  const count = 1_000;
  for (let i = 0; i < count; i++) {
    // From as many ports as it likes, and each is taken before the next one comes.
    const from = { address: '203.0.113.9', port: 1_000 + i };
    responder.receiveAll([{ bytes: forge(), from }]);
    responder.receiver.takeInitiations(MAX_QUEUED_INITIATIONS, world.now);
    world.run(1);
  }
  const { initiation_invalid = 0, cookie_sent = 0 } = responder.drops();
  t.true(initiation_invalid < 2 * MAX_REFUSED_PER_SOURCE, `${initiation_invalid} computed`);
  t.is(cookie_sent, count - initiation_invalid, 'whoever is there as well gets a cookie');
});

test('a source is under load for a second longer than it floods, and is then forgotten', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  const forge = forger(responder.publicKey);
  const from = { ...initiator.endpoint, port: 77 };
  for (let batch = 0; batch < 10; batch++)
    responder.receiveAll(Array.from({ length: 64 }, () => ({ bytes: forge(), from })));
  responder.receiver.takeInitiations(MAX_QUEUED_INITIATIONS, world.now);
  world.run(SOURCE_PACE_MS);
  const take = (): void => responder.receive(freshInitiation(all), initiator.endpoint);
  t.deepEqual(droppedDuring(responder, take), { cookie_sent: 1 }, 'its neighbours at the address');
  world.run(1_000);
  t.deepEqual(droppedDuring(responder, take), {});
});

/** Forged initiations from everywhere, until no cookie is left for one more. */
function exhaustCookies({ world, responder }: Scene): void {
  const forge = forger(responder.publicKey);
  const withheld = (): number => responder.drops()['cookie_withheld'] ?? 0;
  const before = withheld();
  for (let batch = 0; withheld() === before; batch++)
    responder.receiveAll(
      Array.from({ length: 64 }, (_, i) => ({
        bytes: forge(),
        from: { address: `10.9.${batch >> 8}.${batch & 255}`, port: 1_000 + i },
      })),
    );
  responder.receiver.takeInitiations(MAX_QUEUED_INITIATIONS, world.now);
}

test('cookies leave at a pace, and whoever asks next may get one', (t) => {
  const all = scene();
  flood(all);
  const { world, responder } = all;
  exhaustCookies(all);
  const take = (): void => responder.receive(freshInitiation(all), elsewhere);
  t.deepEqual(droppedDuring(responder, take), { cookie_withheld: 1 });
  world.run(COOKIE_PACE_MS);
  t.deepEqual(droppedDuring(responder, take), { cookie_sent: 1 });
  t.deepEqual(droppedDuring(responder, take), { cookie_withheld: 1 });
});

test('a device gets its cookie where it was last heard, whoever else asks', (t) => {
  const all = connected();
  flood(all);
  const { responder, initiator } = all;
  exhaustCookies(all);
  const take = (from = initiator.endpoint): void => responder.receive(freshInitiation(all), from);
  t.deepEqual(
    droppedDuring(responder, () => take()),
    { cookie_sent: 1 },
  );
  t.deepEqual(
    droppedDuring(responder, () => take(elsewhere)),
    { cookie_withheld: 1 },
  );
  const { peer } = responder;
  responder.tunnel.removePeer(peer);
  t.deepEqual(
    droppedDuring(responder, () => take()),
    { cookie_withheld: 1 },
  );
});

test('an initiation that waited until its sender sent another one is not computed', (t) => {
  const all = scene();
  const { world, responder } = all;
  const forge = forger(responder.publicKey);
  responder.receiveAll(Array.from({ length: 20 }, () => ({ bytes: forge(), from: elsewhere })));
  const late = droppedDuring(responder, () =>
    responder.receiver.takeInitiations(4, world.now + REKEY_TIMEOUT_MS - 1),
  );
  t.deepEqual(late, { initiation_invalid: 4 });
  const tooLate = droppedDuring(responder, () =>
    responder.receiver.takeInitiations(4, world.now + REKEY_TIMEOUT_MS),
  );
  t.deepEqual(tooLate, { initiation_stale: 8 });
  t.is(responder.receiver.waitingInitiations, 0);
});

test('load lasts a second longer than its cause, and then cookies are asked for no more', (t) => {
  const all = scene();
  flood(all);
  const { world, responder } = all;
  responder.receiver.takeInitiations(MAX_QUEUED_INITIATIONS, world.now);
  world.run(999);
  const during = droppedDuring(responder, () => responder.receive(freshInitiation(all), elsewhere));
  t.deepEqual(during, { cookie_sent: 1 });
  world.run(1);
  const after = droppedDuring(responder, () => responder.receive(freshInitiation(all), elsewhere));
  t.deepEqual(after, {});
});

test('established traffic flows through a flood', (t) => {
  const all = connected();
  flood(all);
  const { world, responder, initiator } = all;
  const [a, b] = [responder.delivered.length, initiator.delivered.length];
  for (let i = 0; i < 20; i++) {
    initiator.send(packet);
    responder.send(answer);
    world.run(10);
  }
  world.run(100);
  t.is(responder.delivered.length, a + 20);
  t.is(initiator.delivered.length, b + 20);
});

// docs/faults-of-others.md#fault-16: failed handshakes.
test('a flood leaves nothing behind but its counters', (t) => {
  const all = scene();
  flood(all);
  const { world, responder } = all;
  world.run(60_000);
  t.is(responder.receiver.waitingInitiations, 0);
  t.is(responder.tunnel.indices.size, 0);
  t.is(responder.engine.liveKeys, 0);
  t.is(responder.tunnel.timers.nextDeadline, Number.POSITIVE_INFINITY);
  t.is(world.sent(RESPONSE, responder).length, 0);
});

/** Datagrams arrive, and none of the initiations among them is computed. */
function queueAll({ engine, receiver }: Client, datagrams: readonly Arrival[], now: number): void {
  const batch = engine.datagrams;
  for (let first = 0; first < datagrams.length; first += DATAGRAM_SLOTS) {
    for (const { bytes, from } of datagrams.slice(first, first + DATAGRAM_SLOTS))
      engine.acceptDatagram(bytes, address(from.address), from.port);
    for (let i = 0; i < batch.count; i++) receiver.classify(batch, i, now);
    batch.count = 0;
  }
}

/** Initiations without a cookie, from as many sources. */
function strangers({ publicKey }: Client, count: number): Arrival[] {
  const forge = forger(publicKey);
  const from = (i: number): Endpoint => ({ address: `10.9.${i >> 8}.${i & 255}`, port: 9 });
  return Array.from({ length: count }, (_, i) => ({ bytes: forge(), from: from(i) }));
}

test('from an eighth of the queue on a stranger is asked for a cookie, and counted', (t) => {
  const { responder, world } = scene();
  queueAll(responder, strangers(responder, UNDER_LOAD_INITIATIONS + 128), world.now);
  t.is(responder.receiver.waitingInitiations, UNDER_LOAD_INITIATIONS);
  t.deepEqual(responder.drops(), { cookie_sent: 128 });
});

/** A hundred initiations each hundredth of a second. Returns how many were computed. */
function floodFor(all: Scene, seconds: number, hundred: readonly Arrival[]): number {
  const { responder, world } = all;
  const dropped = droppedDuring(responder, () => {
    for (let i = 0; i < 100 * seconds; i++) {
      queueAll(responder, hundred, world.now);
      world.run(10);
    }
  });
  return dropped['initiation_invalid'] ?? 0;
}

function isAskedForCookie(all: Scene): boolean {
  const { responder } = all;
  const dropped = droppedDuring(responder, () =>
    responder.receive(freshInitiation(all), elsewhere),
  );
  return dropped['cookie_sent'] !== undefined;
}

test('a flood is load as long as it lasts, though none of it waits, and a second later no more', (t) => {
  const all = scene();
  flood(all);
  all.world.run(10);
  t.is(floodFor(all, 3, strangers(all.responder, 100)), 0, 'not one is computed');
  t.true(isAskedForCookie(all));
  all.world.run(1_000);
  t.false(isAskedForCookie(all));
});

for (const count of [1, 11])
  test(`sources that flood on, when others have ceased, hold nobody up: ${count}`, (t) => {
    const all = scene();
    flood(all);
    const arrivals = strangers(all.responder, 100);
    const few = arrivals.map(({ bytes }, i) => ({ bytes, from: arrivals[i % count]!.from }));
    floodFor(all, 4, few);
    t.false(isAskedForCookie(all));
  });

/** Initiations from a source that asks for a cookie and then bears it. */
function cookieBearer(all: Scene, from: Endpoint): () => Arrival {
  const { responder, world } = all;
  const forge = forger(responder.publicKey);
  const maker = new CookieMaker(quick, responder.publicKey);
  const make = (): Arrival => {
    const bytes = forge();
    maker.addMacs(bytes, initiation.mac1, world.now);
    return { bytes, from };
  };
  queueAll(responder, [make()], world.now);
  if (!maker.consumeReply(lastSent(all, COOKIE, responder), world.now))
    throw new Error('no cookie');
  return make;
}

test('the queue of initiations is bounded, and what does not fit is counted', (t) => {
  const all = scene();
  const { responder, world } = all;
  const { receiver } = responder;
  queueAll(responder, strangers(responder, UNDER_LOAD_INITIATIONS), world.now);
  const sources = Math.ceil((MAX_QUEUED_INITIATIONS - UNDER_LOAD_INITIATIONS) / RATE_LIMIT_BURST);
  const bearers = Array.from({ length: sources + 2 }, (_, i) =>
    cookieBearer(all, { address: `10.10.${i >> 8}.${i & 255}`, port: 9 }),
  );
  t.deepEqual(responder.drops(), { cookie_sent: bearers.length });
  const burst = bearers.flatMap((bear) => Array.from({ length: RATE_LIMIT_BURST }, bear));
  const dropped = droppedDuring(responder, () => queueAll(responder, burst, world.now));
  const surplus = UNDER_LOAD_INITIATIONS + burst.length - MAX_QUEUED_INITIATIONS;
  t.true(surplus >= 2 * RATE_LIMIT_BURST);
  t.deepEqual(dropped, { initiation_queue_full: surplus });
  t.is(receiver.waitingInitiations, MAX_QUEUED_INITIATIONS);
  // What is taken makes room for another one, at the rate that its source has.
  receiver.takeInitiations(1, world.now);
  const one = [bearers[0]!()];
  const after = droppedDuring(responder, () => queueAll(responder, one, world.now + 1_000));
  t.deepEqual(after, {});
  t.is(receiver.waitingInitiations, MAX_QUEUED_INITIATIONS);
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
