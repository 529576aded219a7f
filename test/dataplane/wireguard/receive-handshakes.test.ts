// Handshake messages that arrive: which initiations, responses and cookie replies are taken, which
// are refused, by which name, and that nothing remains of those.

import test from 'ava';
import { FALSE_RESPONSES_MAX } from '../../../dataplane/constants.ts';
import { CookieChecker, CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { type Endpoint, readEndpoint } from '../../../dataplane/wire/address.ts';
import { cookieReply, initiation, response } from '../../../dataplane/wire/messages.ts';
import { responseForger } from '../../support/dataplane/forged-messages.ts';
import { counting, viewOf } from '../../support/dataplane/packets.ts';
import {
  COOKIE,
  gatewayPeer,
  INITIATION,
  RESPONSE,
  seededRandom,
} from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';
import {
  type Scene,
  answer,
  assertRefused,
  awaitingResponse,
  caught,
  connected,
  droppedDuring,
  elsewhere,
  freshInitiation,
  lastSent,
  packet,
  quick,
  scene,
} from '../../support/dataplane/tunnel-scenes.ts';

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

// docs/bugs-of-others.md#bug-4: endpoint follows no cookie reply.
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
