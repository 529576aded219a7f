// Static keys.

import test from 'ava';
import { derivePublicKey, isLowOrder, makePrivateKey } from '../../../dataplane/noise/keys.ts';
import { randomBytes } from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import { diffieHellman, lowOrderPoints } from '../../vectors/primitives.ts';

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

test('a private key is made of randomness and clamped as RFC 7748 says', (t) => {
  for (const fill of [0x00, 0xff, 0x55]) {
    const key = makePrivateKey((bytes) => bytes.fill(fill));
    t.is(key.length, 32);
    t.is(key[0]! & 7, 0);
    t.is(key[31]! & 0xc0, 0x40);
    t.true(key.subarray(1, 31).every((byte) => byte === fill));
  }
});

test('two private keys are different', (t) => {
  const random = chance(1);
  t.notDeepEqual(makePrivateKey(random), makePrivateKey(random));
});

test('public keys are those of RFC 7748, 6.1', (t) => {
  t.deepEqual(
    derivePublicKey(bytesOf(diffieHellman.alicePrivate)),
    bytesOf(diffieHellman.alicePublic),
  );
  t.deepEqual(derivePublicKey(bytesOf(diffieHellman.bobPrivate)), bytesOf(diffieHellman.bobPublic));
});

for (const point of lowOrderPoints) {
  test(`${point} is of low order`, (t) => {
    t.true(isLowOrder(bytesOf(point)));
  });
}

test('honest public keys are not of low order', (t) => {
  const random = chance(2);
  t.false(isLowOrder(new Uint8Array(32).fill(9, 0, 1)));
  for (let i = 0; i < 20; i++) t.false(isLowOrder(derivePublicKey(randomBytes(random, 32))));
});
