// The macs and cookies of handshake messages (paper, 5.4.4 and 5.4.7). Each test runs with every
// implementation of the primitives.

import { blake2s } from '@noble/hashes/blake2.js';
import test from 'ava';
import { CookieChecker, CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { type Primitives, portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { cookieReply, initiation } from '../../../dataplane/wire/messages.ts';
import { implementations } from '../../support/dataplane/native.ts';
import { concat, counting, viewOf } from '../../support/dataplane/packets.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';

const MAC1 = initiation.mac1;
const publicKey = counting(32, 100);
const source = counting(22, 1);
const now = 1_000_000;

interface Sides {
  checker: CookieChecker;
  maker: CookieMaker;
  /** An initiation with both macs. */
  message: (at?: number) => Uint8Array;
  reply: (message: Uint8Array, at?: number, from?: Uint8Array) => Uint8Array;
}

function sides(primitives: Primitives, others: Primitives = portablePrimitives): Sides {
  const checker = new CookieChecker(primitives, publicKey, seededRandom(4));
  const maker = new CookieMaker(others, publicKey);
  let count = 0;
  return {
    checker,
    maker,
    message(at = now) {
      const message = counting(initiation.bytes, count++);
      maker.addMacs(message, MAC1, at);
      return message;
    },
    reply(message, at = now, from = source) {
      const reply = new Uint8Array(cookieReply.bytes);
      checker.createReply(reply, message, MAC1, from, at);
      return reply;
    },
  };
}

for (const [name, primitives] of implementations) {
  // ---- mac1 ----

  test(`${name}: mac1 is Mac(Hash("mac1----" || key), all before it)`, (t) => {
    const message = sides(primitives, primitives).message();
    const key = blake2s(concat(new TextEncoder().encode('mac1----'), publicKey));
    const wanted = blake2s(message.subarray(0, MAC1), { key, dkLen: 16 });
    t.deepEqual(message.slice(MAC1, MAC1 + 16), wanted);
  });

  test(`${name}: mac1 covers every byte before it`, (t) => {
    const { checker, message } = sides(primitives);
    const bytes = message();
    t.true(checker.hasValidMac1(bytes, MAC1));
    for (let i = 0; i < MAC1 + 16; i++) {
      bytes[i]! ^= 4;
      t.false(checker.hasValidMac1(bytes, MAC1), `${i}`);
      bytes[i]! ^= 4;
    }
  });

  test(`${name}: mac1 for another gateway is refused`, (t) => {
    const { message } = sides(primitives);
    const other = new CookieChecker(primitives, counting(32, 101), seededRandom(1));
    t.false(other.hasValidMac1(message(), MAC1));
  });

  // ---- cookie replies ----

  test(`${name}: no nonce of a reply comes twice, before and after a change of secrets`, (t) => {
    const { message, reply } = sides(primitives);
    const nonces = new Set<string>();
    for (const at of [now, now + 119_999, now + 120_000, now + 240_000])
      for (let i = 0; i < 100; i++) {
        const { nonce, cookie } = cookieReply;
        nonces.add(Buffer.from(reply(message(), at).subarray(nonce, cookie)).toString('hex'));
      }
    t.is(nonces.size, 400);
  });

  test(`${name}: sources that ask in turn are each given their own cookie`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    const places = [source, counting(22, 2), counting(6, 1), source];
    for (const place of places) {
      t.false(checker.hasValidMac2(message(), MAC1, place, now));
      t.true(maker.consumeReply(reply(message(), now, place), now));
      for (const other of places)
        t.is(checker.hasValidMac2(message(), MAC1, other, now), Buffer.compare(other, place) === 0);
    }
  });

  // ---- mac2 ----

  test(`${name}: mac2 is zero without a cookie, and refused`, (t) => {
    const { checker, message, reply } = sides(primitives);
    const bytes = message();
    t.true(bytes.subarray(MAC1 + 16).every((byte) => byte === 0));
    t.false(checker.hasValidMac2(bytes, MAC1, source, now));
    reply(bytes);
    t.false(checker.hasValidMac2(bytes, MAC1, source, now));
  });

  test(`${name}: a cookie gives the next message a mac2 that is taken`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    t.true(maker.consumeReply(reply(message()), now));
    t.true(checker.hasValidMac2(message(), MAC1, source, now));
  });

  // docs/bugs-of-others.md#bug-5: mac2.
  test(`${name}: mac2 covers every byte before it, mac1 too`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    maker.consumeReply(reply(message()), now);
    const bytes = message();
    for (let i = 0; i < initiation.bytes; i++) {
      bytes[i]! ^= 0x40;
      t.false(checker.hasValidMac2(bytes, MAC1, source, now), `${i}`);
      bytes[i]! ^= 0x40;
    }
  });

  for (const [what, at] of [
    ['port', 0],
    ['first byte of the address', 6],
    ['last byte of the address', 21],
  ] as const) {
    // docs/bugs-of-others.md#bug-5: cookie of address and port.
    test(`${name}: a cookie is not taken from another ${what}`, (t) => {
      const { checker, maker, message, reply } = sides(primitives);
      maker.consumeReply(reply(message()), now);
      const elsewhere = source.slice();
      elsewhere[at]! ^= 1;
      t.false(checker.hasValidMac2(message(), MAC1, elsewhere, now));
    });
  }

  test(`${name}: a cookie is taken for 120 s after its secret was made, and no longer`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    maker.consumeReply(reply(message()), now);
    t.true(checker.hasValidMac2(message(), MAC1, source, now + 119_999));
    t.false(checker.hasValidMac2(message(), MAC1, source, now + 120_000));
  });

  test(`${name}: the secret is changed with the first reply after 120 s`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    maker.consumeReply(reply(message()), now);
    const old = message();
    reply(message(), now + 120_000);
    t.false(checker.hasValidMac2(old, MAC1, source, now + 120_001));
  });

  test(`${name}: the secret stays as it is for 120 s`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    maker.consumeReply(reply(message()), now);
    const old = message();
    reply(message(), now + 119_999);
    t.true(checker.hasValidMac2(old, MAC1, source, now + 119_999));
  });

  test(`${name}: a cookie is used for 115 s, so that a slow clock elsewhere does not matter`, (t) => {
    const { maker, message, reply } = sides(primitives);
    maker.consumeReply(reply(message()), now);
    const hasMac2 = (at: number): boolean =>
      message(at)
        .subarray(MAC1 + 16)
        .some((byte) => byte !== 0);
    t.true(hasMac2(now + 114_999));
    t.false(hasMac2(now + 115_000));
  });

  test(`${name}: a message without a cookie does not keep the mac2 of its buffer`, (t) => {
    const { maker } = sides(primitives);
    const bytes = new Uint8Array(initiation.bytes).fill(0xaa);
    maker.addMacs(bytes, MAC1, now);
    t.true(bytes.subarray(MAC1 + 16).every((byte) => byte === 0));
  });

  // ---- the reply ----

  test(`${name}: a reply is of type 3, to the sender of the message`, (t) => {
    const { message, reply } = sides(primitives);
    const bytes = message();
    const view = viewOf(reply(bytes));
    t.is(view.getUint32(0, true), 3);
    t.is(view.getUint32(cookieReply.receiver, true), viewOf(bytes).getUint32(4, true));
  });

  test(`${name}: two replies to one source differ, and give it the same cookie`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    const bytes = message();
    const [first, second] = [reply(bytes), reply(bytes)];
    t.notDeepEqual(first, second);
    t.true(maker.consumeReply(second, now));
    t.true(checker.hasValidMac2(message(), MAC1, source, now));
  });

  test(`${name}: no byte of nonce and cookie may differ`, (t) => {
    const { maker, message, reply } = sides(primitives);
    const bytes = reply(message());
    for (let i = cookieReply.nonce; i < cookieReply.bytes; i++) {
      bytes[i]! ^= 1;
      t.false(maker.consumeReply(bytes, now), `${i}`);
      bytes[i]! ^= 1;
    }
    t.true(maker.consumeReply(bytes, now));
  });

  test(`${name}: a reply to nothing is refused`, (t) => {
    const { message, reply } = sides(primitives);
    const bytes = reply(message());
    t.false(new CookieMaker(primitives, publicKey).consumeReply(bytes, now));
  });

  test(`${name}: a reply is taken once for each message`, (t) => {
    const { maker, message, reply } = sides(primitives);
    const bytes = reply(message());
    t.true(maker.consumeReply(bytes, now));
    t.false(maker.consumeReply(bytes, now));
  });

  test(`${name}: a reply to an earlier message is refused`, (t) => {
    const { maker, message, reply } = sides(primitives);
    const bytes = reply(message());
    message();
    t.false(maker.consumeReply(bytes, now));
  });

  test(`${name}: a refused reply leaves the cookie that was there`, (t) => {
    const { checker, maker, message, reply } = sides(primitives);
    maker.consumeReply(reply(message()), now);
    const forged = reply(message());
    forged[40]! ^= 1;
    t.false(maker.consumeReply(forged, now));
    t.true(checker.hasValidMac2(message(), MAC1, source, now));
  });

  test(`${name}: a reply of another gateway is refused`, (t) => {
    const { maker, message } = sides(primitives);
    const other = new CookieChecker(primitives, counting(32, 1), seededRandom(9));
    const reply = new Uint8Array(cookieReply.bytes);
    other.createReply(reply, message(), MAC1, source, now);
    t.false(maker.consumeReply(reply, now));
  });
}
