// A gateway under load (paper, section 5.3): who is sent a cookie, who is served meanwhile, and when
// the load is over.

import test from 'ava';
import {
  COOKIE_REPLIES_PER_SECOND,
  COOKIE_REPLIES_PER_SECOND_AND_SOURCE,
  DATAGRAM_SLOTS,
  MAX_QUEUED_INITIATIONS,
  MAX_REFUSED_PER_SOURCE,
  MAX_WAITING_PER_SOURCE,
  RATE_LIMIT_BURST,
  REKEY_TIMEOUT_MS,
  UNDER_LOAD_INITIATIONS,
} from '../../../dataplane/constants.ts';
import type { Arrival } from '../../../dataplane/memory/surroundings.ts';
import { CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { type Endpoint, hasEndpoint } from '../../../dataplane/wire/address.ts';
import { initiation } from '../../../dataplane/wire/messages.ts';
import { initiationForger } from '../../support/dataplane/forged-messages.ts';
import { address } from '../../support/dataplane/packets.ts';
import { type Client, COOKIE, INITIATION, RESPONSE } from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';
import {
  type Scene,
  answer,
  connected,
  droppedDuring,
  elsewhere,
  freshInitiation,
  lastSent,
  packet,
  quick,
  scene,
} from '../../support/dataplane/tunnel-scenes.ts';

/** After so long one more cookie may leave, and one more to the same source. */
const COOKIE_PACE_MS = 1_000 / COOKIE_REPLIES_PER_SECOND;

const SOURCE_PACE_MS = 1_000 / COOKIE_REPLIES_PER_SECOND_AND_SOURCE;

// ---- under load (5.3) ------------------------------------------------------------------------

/** Forged initiations from many addresses until the responder is under load. */
function flood({ responder }: Scene): void {
  const forge = initiationForger(responder.publicKey);
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
  const forge = initiationForger(responder.publicKey);
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

// docs/bugs-of-others.md#bug-25: silence.
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

// docs/bugs-of-others.md#bug-5: cookie of address and port.
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

// docs/bugs-of-others.md#bug-5: handshakes limited per source.
test('one source that floods has to give a cookie, and nobody else has to', (t) => {
  const all = scene();
  const { world, responder, initiator } = all;
  const forge = initiationForger(responder.publicKey);
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
  const forge = initiationForger(responder.publicKey);
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
  const forge = initiationForger(responder.publicKey);
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
  const forge = initiationForger(responder.publicKey);
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
  const forge = initiationForger(responder.publicKey);
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

// docs/bugs-of-others.md#bug-16: failed handshakes.
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
  const forge = initiationForger(publicKey);
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
  const forge = initiationForger(responder.publicKey);
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
