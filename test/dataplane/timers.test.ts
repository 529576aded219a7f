// The timers of the paper's section 6 where several of them meet, with two gateways in virtual
// time: on links that take no large datagrams, under load, while keys change, and all at once on
// links of every kind. Each rule by itself is in pipeline.test.ts and wireguard/send.test.ts, the
// limits in messages are in message-limits.test.ts.

import test from 'ava';
import {
  COOKIE_LATENCY_MS,
  COOKIE_REFRESH_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
  REJECT_AFTER_TIME_MS,
  REKEY_AFTER_TIME_MS,
  REKEY_ATTEMPT_TIME_MS,
  REKEY_TIMEOUT_JITTER_MS,
  REKEY_TIMEOUT_MS,
} from '../../dataplane/constants.ts';
import { initiation } from '../../dataplane/wire/messages.ts';
import { initiationForger } from '../support/dataplane/forged-messages.ts';
import { implementations } from '../support/dataplane/native.ts';
import { viewOf } from '../support/dataplane/packets.ts';
import { SEED } from '../support/dataplane/seed.ts';
import {
  back,
  COOKIE,
  DATA,
  type Flight,
  forth,
  INITIATION,
  type Node,
  RESPONSE,
  twoGateways,
  type World,
} from '../support/dataplane/simulation.ts';
import { seededTest } from '../support/dataplane/seeded-test.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** How long data goes unanswered before there is a new handshake (6.4), jitter aside. */
const NO_ANSWER_MS = KEEPALIVE_TIMEOUT_MS + REKEY_TIMEOUT_MS;
/** Bytes of payload that do not fit into one piece of a narrow link. */
const LARGE = 1_300;

type Scene = ReturnType<typeof twoGateways>;

/** Two gateways with a session that `a` began and both have used; nothing delivered yet. */
function connected(seed = SEED): Scene {
  const scene = twoGateways(seed);
  const { world, a, b } = scene;
  a.send(forth(0));
  world.run(100);
  b.send(back(0));
  world.run(100);
  a.delivered.length = 0;
  b.delivered.length = 0;
  return scene;
}

/** A way that no piece of more than 1280 bytes takes, and where somebody drops fragments. */
function narrow({ link }: World): void {
  link.mtu = 1_280;
  link.passesFragments = false;
}

/** The index of the receiver, which names the key of transport data. */
function keyOf({ bytes }: Flight): number {
  return viewOf(bytes).getUint32(4, true);
}

function gapsOf(flights: readonly Flight[]): number[] {
  return flights.slice(1).map(({ at }, i) => at - flights[i]!.at);
}

// ---- links that take no large datagrams ------------------------------------------------------

test('what goes in fragments arrives whole or not at all, and is lost more often', (t) => {
  const { world, a, b } = connected();
  world.link.mtu = 576;
  a.send(forth(-1, LARGE));
  world.run(100);
  t.deepEqual(b.delivered, [forth(-1, LARGE)]);
  world.link.loss = 0.1;
  const arrived = (size: number): number => {
    b.delivered.length = 0;
    for (let i = 0; i < 500; i++) {
      a.send(forth(i, size));
      b.send(back(i));
      world.run(10);
    }
    world.run(100);
    return b.delivered.length;
  };
  // One piece is lost of ten; of three pieces all arrive in 0.9^3 = 73 of a hundred.
  const [small, large] = [arrived(0), arrived(LARGE)];
  t.true(small > 420 && small < 480, `${small}`);
  t.true(large > 310 && large < 415, `${large}`);
});

test('a link that takes no large datagrams takes handshakes: sessions renew, small packets arrive', (t) => {
  const { world, a, b } = connected();
  narrow(world);
  const seconds = 11 * 60;
  for (let i = 0; i < seconds; i++) {
    a.send(forth(i), forth(i, LARGE));
    b.send(back(i), back(i, LARGE));
    world.run(SECOND);
  }
  t.deepEqual(
    b.delivered,
    Array.from({ length: seconds }, (_, i) => forth(i)),
  );
  t.is(a.delivered.length, seconds);
  // One to begin with and one every 120 s: what is lost for its size asks for no other.
  t.is(world.sent(INITIATION, a).length, 1 + 5);
  t.is(world.sent(INITIATION, b).length, 0);
  t.deepEqual([a.drops(), b.drops()], [{}, {}]);
});

test('where nothing but large data is lost, every 15 s without an answer make a new handshake', (t) => {
  const { world, a, b } = connected();
  world.run(MINUTE);
  narrow(world);
  const before = world.sent(INITIATION, a).length;
  for (let i = 0; i < 5 * 60; i++) {
    a.send(forth(i, LARGE));
    world.run(SECOND);
  }
  t.deepEqual(b.delivered, []);
  const initiations = world.sent(INITIATION, a).slice(before);
  t.true(initiations.length >= 18 && initiations.length <= 20, `${initiations.length}`);
  // Each succeeds, and then data that is sent within the next second waits for its answer again.
  for (const gap of gapsOf(initiations)) {
    t.true(gap >= NO_ANSWER_MS, `${gap}`);
    t.true(gap <= NO_ANSWER_MS + REKEY_TIMEOUT_JITTER_MS + SECOND, `${gap}`);
  }
  t.is(world.sent(RESPONSE, b).length, before + initiations.length);
  const { length } = world.sent(INITIATION);
  world.link.passesFragments = true;
  a.send(forth(-1, LARGE));
  world.run(100);
  t.deepEqual(b.delivered, [forth(-1, LARGE)]);
  t.is(world.sent(INITIATION).length, length);
});

// ---- renewing by age (6.2) -------------------------------------------------------------------

test('an initiator that only receives renews its key in its last 15 s, and not before', (t) => {
  const { world, a, b } = connected();
  const lastMinuteMs = REJECT_AFTER_TIME_MS - NO_ANSWER_MS;
  const [made] = world.sent(INITIATION, a);
  world.run(made!.at + lastMinuteMs - SECOND - world.now);
  b.send(back(1));
  world.run(900);
  t.is(world.sent(INITIATION).length, 1);
  world.run(200);
  b.send(back(2));
  world.run(100);
  t.is(world.sent(INITIATION, a).length, 2);
  t.is(world.sent(INITIATION, b).length, 0);
  t.deepEqual(a.delivered, [back(1), back(2)]);
});

// ---- keys that change (6.3) ------------------------------------------------------------------

/** Renews the key that `a` made; `a` has no answer yet. */
function renew({ world, a }: Scene): void {
  world.run(REKEY_AFTER_TIME_MS);
  a.send(forth(-1));
}

test('a responder sends under its old key until the new one is confirmed', (t) => {
  const scene = connected();
  const { world, a, b } = scene;
  const old = keyOf(world.sent(DATA, b)[0]!);
  renew(scene);
  // The response arrives, and nothing that `a` sends under the new key does.
  world.loses = ({ from, bytes }) => from === a.endpoint && bytes[0] === DATA;
  world.run(100);
  t.is(world.sent(RESPONSE, b).length, 2);
  b.send(back(1));
  world.run(100);
  t.is(keyOf(world.sent(DATA, b).at(-1)!), old);
  t.deepEqual(a.delivered, [back(1)]);
  world.loses = () => false;
  a.send(forth(1));
  world.run(100);
  b.send(back(2));
  world.run(100);
  t.not(keyOf(world.sent(DATA, b).at(-1)!), old);
  t.deepEqual(a.delivered, [back(1), back(2)]);
});

test('what was sent under the old key arrives when it comes after the first of the new one', (t) => {
  const { world, a, b } = connected();
  world.run(REKEY_AFTER_TIME_MS - SECOND);
  const numbers = Array.from({ length: 20 }, (_, i) => i);
  world.link.delayMs = 4 * SECOND;
  a.send(...numbers.map((i) => forth(i)));
  b.send(...numbers.map((i) => back(i)));
  world.link.delayMs = 5;
  world.run(SECOND);
  a.send(forth(-1));
  world.run(100);
  a.send(forth(-2));
  b.send(back(-2));
  world.run(100);
  t.is(world.sent(INITIATION, a).length, 2);
  t.deepEqual(b.delivered.splice(0), [forth(-1), forth(-2)]);
  t.deepEqual(a.delivered.splice(0), [back(-2)]);
  world.run(4 * SECOND);
  t.deepEqual(
    b.delivered,
    numbers.map((i) => forth(i)),
  );
  t.deepEqual(
    a.delivered,
    numbers.map((i) => back(i)),
  );
  t.deepEqual([a.drops(), b.drops()], [{}, {}]);
});

// ---- retries (6.4) ---------------------------------------------------------------------------

test('a packet that comes while an initiator tries in vain makes it try for 90 s from then', (t) => {
  const { world, a } = twoGateways();
  world.loses = () => true;
  a.send(forth(0));
  const began = world.now;
  world.run(MINUTE);
  a.send(forth(1));
  world.run(10 * MINUTE);
  const initiations = world.sent(INITIATION, a);
  const lasted = initiations.at(-1)!.at - began;
  t.true(lasted > MINUTE + REKEY_ATTEMPT_TIME_MS - REKEY_TIMEOUT_MS, `${lasted}`);
  t.true(lasted < MINUTE + REKEY_ATTEMPT_TIME_MS + 2 * REKEY_TIMEOUT_MS, `${lasted}`);
  t.true(gapsOf(initiations).every((gap) => gap >= REKEY_TIMEOUT_MS));
  t.deepEqual(a.drops(), { staged_expired: 2 });
});

test('an initiator that had to answer meanwhile goes on trying', (t) => {
  const { world, a, b } = twoGateways();
  // Nothing arrives but what `b` begins with, once.
  world.loses = ({ from, bytes }) => from === a.endpoint || bytes[0] !== INITIATION;
  a.send(forth(0));
  const began = world.now;
  world.run(3 * SECOND);
  b.send(back(0));
  world.run(100);
  t.is(world.sent(RESPONSE, a).length, 1);
  world.remove(b);
  world.run(10 * MINUTE);
  const tries = world.sent(INITIATION, a).map(({ at }) => at - began);
  t.is(tries[0], 0);
  // The answer was a handshake message too: the next one is due 5 s after it.
  t.true(tries[1]! >= 3 * SECOND + REKEY_TIMEOUT_MS && tries[1]! < 9 * SECOND, `${tries[1]}`);
  t.true(tries.at(-1)! > REKEY_ATTEMPT_TIME_MS - 2 * REKEY_TIMEOUT_MS, `${tries.at(-1)}`);
  t.deepEqual(a.drops(), { staged_expired: 1 });
});

test('a responder whose session is not confirmed begins one itself, if it has data', (t) => {
  const { world, a, b } = twoGateways();
  // The first data of `a`, which would confirm the session, is lost.
  world.loses = ({ from, bytes }) => from === a.endpoint && bytes[0] === DATA;
  a.send(forth(0));
  world.run(SECOND);
  b.send(back(1));
  world.loses = () => false;
  world.run(REKEY_TIMEOUT_MS);
  t.is(world.sent(INITIATION, b).length, 1);
  t.deepEqual(a.delivered, [back(1)]);
});

// ---- keepalives (6.5) ------------------------------------------------------------------------

test('data that is answered by data needs no keepalive, and one-way data one every 10 s', (t) => {
  const { world, a, b } = connected();
  const isKeepalive = ({ bytes }: Flight): boolean => bytes.length === 32;
  // All of it within the age of one key: a new one is confirmed by a keepalive.
  for (let i = 0; i < 5; i++) {
    a.send(forth(i));
    world.run(KEEPALIVE_TIMEOUT_MS - SECOND);
    b.send(back(i));
    world.run(SECOND);
  }
  t.deepEqual(world.sent(DATA).filter(isKeepalive), []);
  const began = world.now;
  for (let i = 0; i < 55; i++) {
    a.send(forth(i));
    world.run(SECOND);
  }
  const keepalives = world.sent(DATA, b).filter(isKeepalive);
  t.deepEqual(
    keepalives.map(({ at }) => Math.round((at - began) / SECOND)),
    [10, 20, 30, 40, 50],
  );
  t.deepEqual(world.sent(DATA, a).filter(isKeepalive), []);
});

// ---- cookies (6.6) ---------------------------------------------------------------------------

/** Forged initiations from many addresses, until a gateway is under load. */
function flood(gateway: Node): void {
  const forge = initiationForger(gateway.publicKey);
  const asked = (): number => gateway.drops()['cookie_sent'] ?? 0;
  const before = asked();
  for (let batch = 0; asked() === before; batch++)
    gateway.receiveAll(
      Array.from({ length: 64 }, (_, i) => ({
        bytes: forge(),
        from: { address: `203.0.113.${i}`, port: 1_000 + batch },
      })),
    );
}

function hasMac2({ bytes }: Flight): boolean {
  return bytes.subarray(initiation.mac2).some((byte) => byte !== 0);
}

/** Two gateways with the quickest primitives: a flood is many Diffie-Hellmans. */
function quickGateways(): Scene {
  return twoGateways(SEED, { primitives: implementations.at(-1)![1] });
}

test('a gateway that gets a cookie keeps it for its next try 5 s later, which makes the session', (t) => {
  const { world, a, b } = quickGateways();
  flood(b);
  a.send(forth(1));
  world.run(20);
  const cookies = world.sent(COOKIE, b).filter(({ to }) => to.port === a.endpoint.port);
  t.is(cookies.length, 1);
  t.is(b.engine.liveKeys, 0);
  // Neither the cookie nor more data makes another initiation before its time.
  for (let i = 2; i <= 45; i++) {
    world.run(100);
    a.send(forth(i));
  }
  t.is(world.sent(INITIATION, a).length, 1);
  flood(b);
  world.run(SECOND);
  const [first, second, ...more] = world.sent(INITIATION, a);
  t.deepEqual(more, []);
  t.false(hasMac2(first!));
  t.true(hasMac2(second!));
  const gap = second!.at - first!.at;
  t.true(gap >= REKEY_TIMEOUT_MS && gap <= REKEY_TIMEOUT_MS + REKEY_TIMEOUT_JITTER_MS, `${gap}`);
  // The gateway is still under load, and takes it for its cookie.
  t.is(world.sent(RESPONSE, b).length, 1);
  t.deepEqual(b.delivered.at(-1), forth(45));
  t.is(b.delivered.length, 32);
  t.deepEqual(a.drops(), { staged_overflow: 13 });
});

test('a cookie is shown with every try for 115 s, and then no more', (t) => {
  const { world, a, b } = quickGateways();
  flood(b);
  a.send(forth(0));
  world.run(20);
  const arrivedAt = world.sent(COOKIE, b).find(({ to }) => to.port === a.endpoint.port)!.at + 5;
  world.loses = ({ from }) => from === b.endpoint;
  for (let i = 1; i < 150; i++) {
    a.send(forth(i));
    world.run(SECOND);
  }
  const tries = world.sent(INITIATION, a).slice(1);
  t.true(tries.length >= 25);
  for (const one of tries)
    t.is(hasMac2(one), one.at - arrivedAt < COOKIE_REFRESH_TIME_MS - COOKIE_LATENCY_MS);
});

// ---- all rules on any link -------------------------------------------------------------------

/**
 * Minutes of traffic, silence and outages, all by chance, on a link whose failures are chance too.
 */
function live({ world, a, b }: Scene, minutes: number, eachTurn: () => void): void {
  const chance = chanceOf(world);
  const { link } = world;
  link.loss = 0.3 * chance();
  link.duplication = 0.3 * chance();
  link.jitterMs = 400 * chance();
  link.mtu = 576 + Math.floor(1_000 * chance());
  link.passesFragments = chance() < 0.5;
  const end = world.now + minutes * MINUTE;
  for (let i = 0; world.now < end; i++) {
    if (chance() < 0.02) world.loses = chance() < 0.3 ? () => true : () => false;
    const size = chance() < 0.3 ? LARGE : 0;
    if (chance() < 0.6) a.send(forth(i, size));
    if (chance() < 0.6) b.send(back(i, size));
    world.run(chance() < 0.01 ? 200 * SECOND * chance() : 2 * SECOND * chance());
    eachTurn();
  }
  world.loses = () => false;
}

function chanceOf(world: World): () => number {
  const bytes = new Uint8Array(4);
  return () => {
    world.random(bytes);
    return viewOf(bytes).getUint32(0) / 2 ** 32;
  };
}

/** When a handshake message named an index, by the index and who named it. */
function namedAt(world: World, by: Node): Map<number, number> {
  const messages = [...world.sent(INITIATION, by), ...world.sent(RESPONSE, by)];
  return new Map(messages.map((flight) => [keyOf(flight), flight.at]));
}

seededTest(
  10,
  'on any link every rule holds at once, and traffic goes on when it may',
  (t, seed) => {
    const scene = twoGateways(seed);
    const { world, a, b } = scene;
    live(scene, 30, () => {
      if (a.engine.liveKeys > 3 || b.engine.liveKeys > 3) t.fail('more than three keys');
    });
    const slowest = world.link.delayMs + world.link.jitterMs;
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const initiations = world.sent(INITIATION, one);
      t.true(initiations.length > 10, 'keys were renewed');
      t.true(
        gapsOf(initiations).every((gap) => gap >= REKEY_TIMEOUT_MS),
        'initiations are 5 s apart',
      );
      // The other side named each key when it was made, or when it was asked for.
      const named = namedAt(world, other);
      const keys = Map.groupBy(world.sent(DATA, one), keyOf);
      t.true(keys.size > 5);
      for (const [key, flights] of keys) {
        const oldest = named.get(key)! + slowest + REJECT_AFTER_TIME_MS;
        if (!(flights.at(-1)!.at < oldest)) t.fail('data under a key that is too old');
        for (const [i, { bytes }] of flights.entries())
          if (viewOf(bytes).getBigUint64(8, true) !== BigInt(i))
            t.fail('a counter is not the next');
      }
      const distinct = new Set(one.delivered.map((bytes) => Buffer.from(bytes).toString('latin1')));
      t.is(distinct.size, one.delivered.length, 'nothing arrives twice');
    }
    // Whatever state they are in, on a good link they find each other, and fall silent afterwards.
    Object.assign(world.link, { loss: 0, duplication: 0, jitterMs: 0, mtu: 1_500 });
    for (let i = 0; i < 40; i++) {
      a.send(forth(-1 - i));
      b.send(back(-1 - i));
      world.run(SECOND);
    }
    t.deepEqual(b.delivered.at(-1), forth(-40));
    t.deepEqual(a.delivered.at(-1), back(-40));
    world.run(MINUTE);
    const sent = world.wire.length;
    world.run(3 * REJECT_AFTER_TIME_MS);
    t.is(world.wire.length, sent);
    t.deepEqual([a.engine.liveKeys, b.engine.liveKeys], [0, 0]);
    t.deepEqual([a.nextTimeout(), b.nextTimeout()], [Infinity, Infinity]);
  },
);
