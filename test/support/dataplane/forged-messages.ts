// Handshake messages that are made by hand: forged ones, which anyone who knows a gateway's public
// key can send it, and whole ones of the owner of a private key.

import { TIMESTAMP_BYTES } from '../../../dataplane/constants.ts';
import { CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { Handshake, InitiatorState } from '../../../dataplane/noise/handshake.ts';
import { derivePublicKey } from '../../../dataplane/noise/keys.ts';
import { TimestampSource } from '../../../dataplane/noise/tai64n.ts';
import { initiation, response } from '../../../dataplane/wire/messages.ts';
import { implementations } from './native.ts';
import { randomBytes } from './simulation.ts';
import { chance } from './seeded-test.ts';

/** Initiations with a right mac1 and nothing else that is right, one after the other. */
export function initiationForger(publicKey: Uint8Array): () => Uint8Array {
  const random = chance(77);
  // The quickest that is here: floods are many.
  const maker = new CookieMaker(implementations.at(-1)![1], publicKey);
  return () => {
    const message = randomBytes(random, initiation.bytes);
    message.set([1, 0, 0, 0]);
    maker.addMacs(message, initiation.mac1, 0);
    return message;
  };
}

/** Responses with a right mac1 and nothing else; the index (4 bytes) is that of an initiation. */
export function responseForger(publicKey: Uint8Array): (index: Uint8Array) => Uint8Array {
  const random = chance(78);
  const maker = new CookieMaker(implementations.at(-1)![1], publicKey);
  return (index) => {
    const message = randomBytes(random, response.bytes);
    message.set([2, 0, 0, 0]);
    message.set(index, response.receiver);
    maker.addMacs(message, response.mac1, 0);
    return message;
  };
}

/**
 * Makes initiations for the gateway of a key, one after the other, on a clock that is so many ms
 * ahead.
 */
export function initiator(
  privateKey: Uint8Array,
  serverKey: Uint8Array,
  aheadMs = 0,
): () => Uint8Array {
  const random = chance(privateKey[0]! + 256 * privateKey[1]!);
  const fill = (bytes: Uint8Array): void => bytes.set(randomBytes(random, bytes.length));
  const identity = { privateKey, publicKey: derivePublicKey(privateKey) };
  const handshake = new Handshake(implementations.at(-1)![1], identity, fill);
  const peer = { publicKey: serverKey, presharedKey: new Uint8Array(32), staticShared: null };
  const macs = new CookieMaker(implementations.at(-1)![1], serverKey);
  const timestamp = new Uint8Array(TIMESTAMP_BYTES);
  const times = new TimestampSource();
  return () => {
    times.renew(timestamp, Date.now() + aheadMs);
    const message = new Uint8Array(initiation.bytes);
    handshake.createInitiation(
      message,
      peer,
      new InitiatorState(implementations.at(-1)![1]),
      7,
      timestamp,
    );
    macs.addMacs(message, initiation.mac1, 0);
    return message;
  };
}
