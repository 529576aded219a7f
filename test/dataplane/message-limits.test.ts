// How many messages a key may carry (paper, section 6.2), with two gateways in virtual time. The
// real limits are fourteen years away, so the engines are made with lower ones; what they do there
// is in io/engine.test.ts, for every engine. The receiving side is tried at the real limit.

import { chacha20poly1305 } from '@noble/ciphers/chacha.js';
import test from 'ava';
import { REJECT_AFTER_MESSAGES, REPLAY_WINDOW_COUNTERS } from '../../dataplane/constants.ts';
import type { MessageLimits } from '../../dataplane/contract.ts';
import { concat, udp, viewOf } from '../support/dataplane/packets.ts';
import { SEED } from '../support/dataplane/seed.ts';
import {
  back,
  COOKIE,
  DATA,
  forth,
  type Flight,
  INITIATION,
  type Node,
  RESPONSE,
  type SendingKey,
  twoGateways,
  type World,
} from '../support/dataplane/simulation.ts';
import '../support/dataplane/seeded-test.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const LIMITS = { rekeyAfterMessages: 100, rejectAfterMessages: 120 };

/** Two gateways whose keys carry little, with a session that `a` began and both have used. */
function limited(limits: MessageLimits = LIMITS): { world: World; a: Node; b: Node } {
  const scene = twoGateways(SEED, { limits });
  const { world, a, b } = scene;
  a.send(forth(0));
  world.run(SECOND);
  b.send(back(0));
  world.run(SECOND);
  return scene;
}

/** The counters that a gateway has used, by the index that names the key at the receiver. */
function countersOf(world: World, sender: Node): bigint[][] {
  const keys = Map.groupBy(world.sent(DATA, sender), ({ bytes }) => viewOf(bytes).getUint32(4));
  return [...keys.values()].map((flights) =>
    flights.map(({ bytes }) => viewOf(bytes).getBigUint64(8, true)),
  );
}

function isHandshake({ bytes }: Flight): boolean {
  return [INITIATION, RESPONSE, COOKIE].includes(bytes[0]!);
}

// ---- sending ---------------------------------------------------------------------------------

test('an initiator that has sent so many messages renews the key, and no packet is lost', (t) => {
  const { world, a, b } = limited();
  for (let i = 1; i <= 1_500; i++) {
    a.send(forth(i));
    if (i % 10 === 0) b.send(back(i));
    world.run(200);
  }
  t.is(b.delivered.length, 1 + 1_500);
  t.is(a.delivered.length, 1 + 150);
  t.deepEqual([a.drops(), b.drops()], [{}, {}]);
  // A hundred packets take 20 s: it was never the age of a key that renewed it.
  const initiations = world.sent(INITIATION, a);
  t.is(initiations.length, 1 + 15);
  t.is(world.sent(INITIATION, b).length, 0);
  for (const counters of countersOf(world, a)) {
    t.true(counters.length <= LIMITS.rekeyAfterMessages + 1, `${counters.length}`);
    t.deepEqual(
      counters,
      counters.map((_, i) => BigInt(i)),
    );
  }
});

test('so does a responder, for it counts what it sends itself', (t) => {
  const { world, a, b } = limited();
  t.is(world.sent(INITIATION, b).length, 0);
  for (let i = 1; i <= 150; i++) {
    b.send(back(i));
    world.run(200);
  }
  t.is(world.sent(INITIATION, a).length, 1);
  t.is(world.sent(INITIATION, b).length, 1);
  t.is(a.delivered.length, 1 + 150);
  t.deepEqual([a.drops(), b.drops()], [{}, {}]);
});

test('messages before the limit renew nothing', (t) => {
  const { world, a } = limited();
  const used = countersOf(world, a)[0]!.length;
  for (let i = used; i < LIMITS.rekeyAfterMessages - 1; i++) a.send(forth(i));
  // The next initiation would have to wait for the end of REKEY_TIMEOUT.
  world.run(5 * SECOND);
  t.is(world.sent(INITIATION).length, 1);
  a.send(forth(-1));
  t.is(world.sent(INITIATION).length, 2);
});

// docs/bugs-of-others.md#bug-1: limit of messages.
test('a key that has sent its last message is silent; packets wait until there is another', (t) => {
  const { world, a, b } = limited();
  world.loses = isHandshake;
  for (let i = 1; i <= 140; i++) {
    a.send(forth(i));
    world.run(100);
  }
  const before = countersOf(world, a);
  t.is(before.length, 1);
  t.deepEqual(
    before[0],
    Array.from({ length: LIMITS.rejectAfterMessages }, (_, i) => BigInt(i)),
  );
  // Only the packet that found the key at its end is lost.
  t.deepEqual(a.drops(), { keypair_exhausted: 1 });
  const arrived = b.delivered.length;
  t.is(arrived, LIMITS.rejectAfterMessages);
  // What arrives is still taken, but not even a keepalive leaves.
  for (let i = 1; i <= 25; i++) {
    b.send(back(i));
    world.run(SECOND);
  }
  t.is(a.delivered.length, 1 + 25);
  t.is(world.sent(DATA, a).length, LIMITS.rejectAfterMessages);
  // Initiations went on all the while.
  t.true(world.sent(INITIATION, a).length > 5);
  world.loses = () => false;
  world.run(6 * SECOND);
  const waited = Array.from({ length: 140 - arrived }, (_, i) => forth(i + 1 + arrived));
  t.deepEqual(b.delivered.slice(arrived), waited);
  a.send(forth(141));
  world.run(SECOND);
  t.deepEqual(b.delivered.at(-1), forth(141));
  t.is(countersOf(world, a).length, 2);
  t.deepEqual(a.drops(), { keypair_exhausted: 1 });
});

test('a key that is used up while nobody answers is not used again, however long that is', (t) => {
  const { world, a } = limited();
  world.loses = isHandshake;
  for (let i = 1; i <= 5 * 60; i++) {
    a.send(forth(i), forth(-i));
    world.run(SECOND);
  }
  t.is(world.sent(DATA, a).length, LIMITS.rejectAfterMessages);
  t.is(countersOf(world, a).length, 1);
  t.true(a.drops()['staged_overflow']! > 300);
  world.run(20 * MINUTE);
  t.is(a.engine.liveKeys, 0);
  t.is(a.nextTimeout(), Number.POSITIVE_INFINITY);
});

// ---- receiving -------------------------------------------------------------------------------

/** What the owner of a key could send under it with a counter of one's choice. */
function sealed(key: SendingKey, counter: bigint): Uint8Array {
  const header = new Uint8Array(16);
  viewOf(header).setUint32(0, DATA, true);
  viewOf(header).setInt32(4, key.remoteIndex, true);
  viewOf(header).setBigUint64(8, counter, true);
  const nonce = concat(new Uint8Array(4), header.subarray(8));
  const packet = udp({ source: '10.0.0.1', destination: '10.1.0.1', data: 'last' });
  return concat(header, chacha20poly1305(key.send, nonce).encrypt(packet));
}

// docs/bugs-of-others.md#bug-1: limit of messages.
test('the last message of a key is taken, and no authentic one after it', (t) => {
  const { a, b } = limited({});
  const key = a.engine.latestKey!;
  const limit = BigInt(REJECT_AFTER_MESSAGES);
  const take = (counter: bigint): number => {
    const before = b.delivered.length;
    b.receive(sealed(key, counter), a.endpoint);
    return b.delivered.length - before;
  };
  const past = [limit, limit + 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 60n, 2n ** 64n - 1n];
  for (const counter of past) t.is(take(counter), 0, `${counter}`);
  t.deepEqual(b.drops(), { transport_counter_limit: past.length });
  // None of them has moved the window.
  t.is(take(5n), 1);
  t.is(take(limit - 1n), 1);
  t.is(take(limit - 1n), 0);
  t.is(take(limit - 2n), 1);
  t.is(take(limit), 0);
  t.is(take(limit - 1n - BigInt(REPLAY_WINDOW_COUNTERS)), 0);
  t.deepEqual(b.drops(), { transport_counter_limit: past.length + 1, transport_replayed: 2 });
});
