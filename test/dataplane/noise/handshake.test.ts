// The handshake. It is compared with a second, literal reading of the paper (5.4.2, 5.4.3, 5.4.5)
// on noble and tweetnacl, which itself makes the messages of a published vector. Every way in which
// it must refuse is tried, in both roles, with every implementation.

import { chacha20poly1305 } from '@noble/ciphers/chacha.js';
import { blake2s } from '@noble/hashes/blake2.js';
import { hmac } from '@noble/hashes/hmac.js';
import test from 'ava';
import nacl from 'tweetnacl';
import {
  createTransportKeys,
  Handshake,
  InitiatorState,
  type NoisePeer,
  type TransportKeys,
} from '../../../dataplane/noise/handshake.ts';
import { type Primitives, portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { initiation, response } from '../../../dataplane/wire/messages.ts';
import { implementations } from '../../support/dataplane/native.ts';
import { concat, counting, viewOf } from '../../support/dataplane/packets.ts';
import { randomBytes, seededRandom } from '../../support/dataplane/simulation.ts';
import { ikpsk2 } from '../../vectors/noise.ts';
import { lowOrderPoints } from '../../vectors/primitives.ts';

const TIMESTAMP = counting(12, 40);
const PSK = counting(32, 200);
const OUR_INDEX = 0x0a0b0c0d;
const THEIR_INDEX = 0xf1f2f3f4;

interface Side {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly handshake: Handshake;
  /** The other side, as this side knows it. */
  readonly peer: NoisePeer;
}

interface Sides {
  readonly initiator: Side;
  readonly responder: Side;
  readonly state: InitiatorState;
  /** The initiation, made with THEIR_INDEX as sender. */
  readonly first: Uint8Array;
}

/** Two sides; the initiator has just made its message. */
function begin(ours: Primitives, theirs: Primitives = ours, psk = PSK): Sides {
  const random = seededRandom(5);
  const keys = [randomBytes(random, 32), randomBytes(random, 32)] as const;
  const publicKeys = keys.map((key) => nacl.scalarMult.base(key)) as [Uint8Array, Uint8Array];
  const side = (i: 0 | 1, primitives: Primitives): Side => ({
    privateKey: keys[i],
    publicKey: publicKeys[i],
    handshake: new Handshake(
      primitives,
      { privateKey: keys[i], publicKey: publicKeys[i] },
      seededRandom(100 + i),
    ),
    peer: { publicKey: publicKeys[1 - i]!, presharedKey: psk.slice(), staticShared: null },
  });
  const [initiator, responder] = [side(0, ours), side(1, theirs)];
  const state = new InitiatorState(ours);
  const first = new Uint8Array(initiation.bytes);
  initiator.handshake.createInitiation(first, initiator.peer, state, THEIR_INDEX, TIMESTAMP);
  return { initiator, responder, state, first };
}

/** The responder takes the first message; returns its answer. */
function consume({ responder }: Sides, message: Uint8Array): NoisePeer | number {
  return responder.handshake.consumeInitiation(message, (key) =>
    Buffer.compare(key, responder.peer.publicKey) === 0 ? responder.peer : null,
  );
}

function respond(sides: Sides): { second: Uint8Array; keys: TransportKeys } {
  const { responder, first } = sides;
  consume(sides, first);
  const second = new Uint8Array(response.bytes);
  const keys = createTransportKeys();
  responder.handshake.createResponse(second, responder.peer, OUR_INDEX, THEIR_INDEX, keys);
  return { second, keys };
}

function finish({ initiator, state }: Sides, second: Uint8Array): TransportKeys | null {
  const keys = createTransportKeys();
  return initiator.handshake.consumeResponse(second, initiator.peer, state, keys) ? keys : null;
}

// ---- the paper, read a second time -----------------------------------------------------------

interface Transcript {
  first: Uint8Array;
  second: Uint8Array;
  initiatorSends: Uint8Array;
  responderSends: Uint8Array;
}

function kdf(ck: Uint8Array, input: Uint8Array): [Uint8Array, Uint8Array, Uint8Array] {
  const secret = hmac(blake2s, ck, input);
  const first = hmac(blake2s, secret, new Uint8Array([1]));
  const second = hmac(blake2s, secret, concat(first, new Uint8Array([2])));
  return [first, second, hmac(blake2s, secret, concat(second, new Uint8Array([3])))];
}

function seal(key: Uint8Array, text: Uint8Array, h: Uint8Array): Uint8Array {
  return chacha20poly1305(key, new Uint8Array(12), h).encrypt(text);
}

/** What WireGuard fixes and Noise leaves open. */
interface Contents {
  readonly prologue: Uint8Array;
  readonly firstPayload: Uint8Array;
  readonly secondPayload: Uint8Array;
}

const wireguardContents: Contents = {
  prologue: new TextEncoder().encode('WireGuard v1 zx2c4 Jason@zx2c4.com'),
  firstPayload: TIMESTAMP,
  secondPayload: new Uint8Array(0),
};

/**
 * Both messages without macs, and the keys, from four private keys; line for line as in the paper.
 */
function paper(
  statics: { i: Uint8Array; r: Uint8Array },
  ephemerals: { i: Uint8Array; r: Uint8Array },
  psk: Uint8Array,
  { prologue, firstPayload, secondPayload }: Contents = wireguardContents,
): Transcript {
  const dh = (privateKey: Uint8Array, other: Uint8Array): Uint8Array =>
    nacl.scalarMult(privateKey, nacl.scalarMult.base(other));
  const encoder = new TextEncoder();
  const hash = (...parts: Uint8Array[]): Uint8Array => blake2s(concat(...parts));
  const publicOf = (key: Uint8Array): Uint8Array => nacl.scalarMult.base(key);
  let k: Uint8Array;
  let tau: Uint8Array;
  // 5.4.2
  let c = hash(encoder.encode('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s'));
  let h = hash(c, prologue);
  h = hash(h, publicOf(statics.r));
  c = kdf(c, publicOf(ephemerals.i))[0];
  h = hash(h, publicOf(ephemerals.i));
  [c, k] = kdf(c, dh(ephemerals.i, statics.r));
  const sealedStatic = seal(k, publicOf(statics.i), h);
  h = hash(h, sealedStatic);
  [c, k] = kdf(c, dh(statics.i, statics.r));
  const timestamp = seal(k, firstPayload, h);
  h = hash(h, timestamp);
  const first = concat(publicOf(ephemerals.i), sealedStatic, timestamp);
  // 5.4.3
  c = kdf(c, publicOf(ephemerals.r))[0];
  h = hash(h, publicOf(ephemerals.r));
  c = kdf(c, dh(ephemerals.r, ephemerals.i))[0];
  c = kdf(c, dh(ephemerals.r, statics.i))[0];
  [c, tau, k] = kdf(c, psk);
  h = hash(h, tau);
  const second = concat(publicOf(ephemerals.r), seal(k, secondPayload, h));
  // 5.4.5
  const [initiatorSends, responderSends] = kdf(c, new Uint8Array(0));
  return { first, second, initiatorSends, responderSends };
}

test('the second reading makes the messages of a published vector', (t) => {
  const { messages } = ikpsk2;
  const made = paper(
    { i: fromHex(ikpsk2.initiatorStatic), r: fromHex(ikpsk2.responderStatic) },
    { i: fromHex(ikpsk2.initiatorEphemeral), r: fromHex(ikpsk2.responderEphemeral) },
    fromHex(ikpsk2.presharedKey),
    {
      prologue: fromHex(ikpsk2.prologue),
      firstPayload: fromHex(messages[0].payload),
      secondPayload: fromHex(messages[1].payload),
    },
  );
  const none = new Uint8Array(0);
  t.is(toHex(made.first), messages[0].text);
  t.is(toHex(made.second), messages[1].text);
  t.is(toHex(seal(made.initiatorSends, fromHex(messages[2].payload), none)), messages[2].text);
  t.is(toHex(seal(made.responderSends, fromHex(messages[3].payload), none)), messages[3].text);
});

function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

for (const [name, primitives] of implementations) {
  for (const [kind, psk] of [
    ['with', PSK],
    ['without', new Uint8Array(32)],
  ] as const) {
    test(`${name}: messages and keys ${kind} a preshared key are those of the paper`, (t) => {
      const sides = begin(primitives, primitives, psk);
      const { initiator, responder, first } = sides;
      const { second, keys } = respond(sides);
      const wanted = paper(
        { i: initiator.privateKey, r: responder.privateKey },
        { i: randomBytes(seededRandom(100), 32), r: randomBytes(seededRandom(101), 32) },
        psk,
      );
      t.deepEqual(first.slice(initiation.ephemeral, initiation.mac1), wanted.first);
      t.deepEqual(second.slice(response.ephemeral, response.mac1), wanted.second);
      t.deepEqual(keys, { send: wanted.responderSends, receive: wanted.initiatorSends });
    });
  }
}

// ---- agreement -----------------------------------------------------------------------------

for (const [ourName, ours] of implementations) {
  for (const [theirName, theirs] of implementations) {
    test(`${ourName} as initiator and ${theirName} as responder agree on both keys`, (t) => {
      const sides = begin(ours, theirs);
      const { second, keys } = respond(sides);
      const { send, receive } = finish(sides, second)!;
      t.deepEqual(send, keys.receive);
      t.deepEqual(receive, keys.send);
      t.notDeepEqual(send, receive);
    });
  }
}

const [[, ours], [, theirs] = ['', portablePrimitives]] = implementations as [
  readonly [string, Primitives],
  (readonly [string, Primitives])?,
];

test('the header of both messages holds type and indices, little-endian', (t) => {
  const sides = begin(ours, theirs);
  const { second } = respond(sides);
  t.is(viewOf(sides.first).getUint32(0, true), 1);
  t.is(viewOf(sides.first).getUint32(initiation.sender, true), THEIR_INDEX);
  t.is(viewOf(second).getUint32(0, true), 2);
  t.is(viewOf(second).getUint32(response.sender, true), OUR_INDEX);
  t.is(viewOf(second).getUint32(response.receiver, true), THEIR_INDEX);
});

test('the responder reads the timestamp', (t) => {
  const sides = begin(ours, theirs);
  t.is(consume(sides, sides.first), sides.responder.peer);
  t.deepEqual(sides.responder.handshake.timestamp, TIMESTAMP);
});

test('the static-static secret is computed once for each peer', (t) => {
  let count = 0;
  const counted: Primitives = {
    ...portablePrimitives,
    sharedSecret: (...args) => {
      count++;
      return portablePrimitives.sharedSecret(...args);
    },
  };
  const sides = begin(portablePrimitives, counted);
  respond(sides);
  t.is(count, 4);
  respond(sides);
  t.is(count, 7);
});

test('a second handshake has other ephemerals and other keys', (t) => {
  const sides = begin(ours, theirs);
  const before = respond(sides);
  const again = new Uint8Array(initiation.bytes);
  const { initiator } = sides;
  initiator.handshake.createInitiation(again, initiator.peer, sides.state, 1, TIMESTAMP);
  t.notDeepEqual(again.slice(8, 40), sides.first.slice(8, 40));
  const after = respond({ ...sides, first: again });
  t.notDeepEqual(after.keys, before.keys);
});

// ---- refusals of the responder ---------------------------------------------------------------

test('no byte of an initiation may differ, from the ephemeral to the timestamp', (t) => {
  const sides = begin(ours, theirs);
  for (let i = initiation.ephemeral; i < initiation.mac1; i++) {
    for (const bit of [0x01, 0x80]) {
      // The top bit of a point is not part of it (RFC 7748, 5), but it is hashed all the same.
      const message = sides.first.slice();
      message[i]! ^= bit;
      t.is(consume(sides, message), reasons.initiation_invalid, `${i}`);
    }
  }
  t.is(consume(sides, sides.first), sides.responder.peer);
});

test('an initiation from an unknown static key is refused with this reason', (t) => {
  const sides = begin(ours, theirs);
  t.is(
    sides.responder.handshake.consumeInitiation(sides.first, () => null),
    reasons.initiation_unknown_peer,
  );
});

test('an initiation to another gateway is refused', (t) => {
  const sides = begin(ours, theirs);
  const privateKey = counting(32, 3);
  const other = new Handshake(
    theirs,
    { privateKey, publicKey: nacl.scalarMult.base(privateKey) },
    seededRandom(1),
  );
  t.is(
    other.consumeInitiation(sides.first, () => sides.responder.peer),
    reasons.initiation_invalid,
  );
});

test('nobody can use a public key of a peer without its private key', (t) => {
  const sides = begin(ours, theirs);
  const { initiator, responder } = sides;
  const impostor = new Handshake(
    ours,
    { privateKey: counting(32, 9), publicKey: initiator.publicKey },
    seededRandom(8),
  );
  const message = new Uint8Array(initiation.bytes);
  const gateway: NoisePeer = { ...initiator.peer, staticShared: null };
  impostor.createInitiation(message, gateway, new InitiatorState(ours), 1, TIMESTAMP);
  t.is(consume(sides, message), reasons.initiation_invalid);
  t.is(consume(sides, sides.first), responder.peer);
});

for (const point of lowOrderPoints) {
  test(`an initiation whose ephemeral is ${point} is refused`, (t) => {
    const sides = begin(ours, theirs);
    sides.first.set(Buffer.from(point, 'hex'), initiation.ephemeral);
    t.is(consume(sides, sides.first), reasons.initiation_invalid);
  });

  test(`a response whose ephemeral is ${point} is refused, and the true one accepted`, (t) => {
    const sides = begin(ours, theirs);
    const { second } = respond(sides);
    const forged = second.slice();
    forged.set(Buffer.from(point, 'hex'), response.ephemeral);
    t.is(finish(sides, forged), null);
    t.not(finish(sides, second), null);
  });

  test(`no handshake is initiated with a peer whose static key is ${point}`, (t) => {
    const { initiator, state } = begin(ours, theirs);
    const peer = { ...initiator.peer, publicKey: new Uint8Array(Buffer.from(point, 'hex')) };
    const message = new Uint8Array(initiation.bytes);
    t.false(
      initiator.handshake.createInitiation(
        message,
        { ...peer, staticShared: null },
        state,
        1,
        TIMESTAMP,
      ),
    );
  });
}

// ---- refusals of the initiator ---------------------------------------------------------------

test('no byte of a response may differ, from the ephemeral to the empty text', (t) => {
  const sides = begin(ours, theirs);
  const { second } = respond(sides);
  for (let i = response.ephemeral; i < response.mac1; i++) {
    for (const bit of [0x01, 0x80]) {
      const message = second.slice();
      message[i]! ^= bit;
      t.is(finish(sides, message), null, `${i}`);
    }
  }
  t.not(finish(sides, second), null);
});

test('a response under another preshared key is refused', (t) => {
  const sides = begin(ours, theirs);
  sides.responder.peer.presharedKey = counting(32, 77);
  t.is(finish(sides, respond(sides).second), null);
});

test('the preshared key is read at the moment in which it is used', (t) => {
  const sides = begin(ours, theirs);
  sides.initiator.peer.presharedKey = counting(32, 77);
  sides.responder.peer.presharedKey = counting(32, 77);
  t.not(finish(sides, respond(sides).second), null);
});

test('a response to another initiation is refused', (t) => {
  const sides = begin(ours, theirs);
  const { second } = respond(sides);
  const { initiator } = sides;
  const later = new InitiatorState(ours);
  initiator.handshake.createInitiation(
    new Uint8Array(initiation.bytes),
    initiator.peer,
    later,
    2,
    TIMESTAMP,
  );
  t.is(finish({ ...sides, state: later }, second), null);
  t.not(finish(sides, second), null);
});

test('a response is accepted once, and its state is wiped', (t) => {
  const sides = begin(ours, theirs);
  const { second } = respond(sides);
  t.not(finish(sides, second), null);
  const { state } = sides;
  const secrets = concat(state.ephemeralPrivate, state.symmetric.ck, state.symmetric.h);
  t.true(secrets.every((byte) => byte === 0));
  t.is(finish(sides, second), null);
});

test('another handshake between initiation and response does not disturb the first', (t) => {
  const sides = begin(ours, theirs);
  const { second, keys } = respond(sides);
  const other = begin(ours, theirs);
  // In between, the initiator uses the same scratch buffers as a responder.
  sides.initiator.handshake.consumeInitiation(other.first, () => null);
  t.deepEqual(finish(sides, second)!.send, keys.receive);
});
