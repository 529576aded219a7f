// Forged handshake messages: what anyone who knows a gateway's public key can send it.

import { CookieMaker } from '../../../dataplane/noise/cookie.ts';
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
