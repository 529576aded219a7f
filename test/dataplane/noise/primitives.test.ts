// The primitives: published vectors, a third opinion (node:crypto), and that both implementations
// agree. Every implementation runs through the same tests.

import { createCipheriv, createHash, hkdfSync } from 'node:crypto';
import { blake2s } from '@noble/hashes/blake2.js';
import test from 'ava';
import fc from 'fast-check';
import { type Primitives, portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { implementations } from '../../support/dataplane/native.ts';
import { randomBytes, SEEDED } from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import * as vectors from '../../vectors/primitives.ts';

const EMPTY = new Uint8Array(0);

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

for (const [name, primitives] of implementations) {
  testX25519(name, primitives);
  testHash(name, primitives);
  testHkdf(name, primitives);
  testAead(name, primitives);
}

// ---- X25519 --------------------------------------------------------------------------------

function testX25519(name: string, primitives: Primitives): void {
  const shared = (scalar: Uint8Array, u: Uint8Array): Uint8Array => {
    const out = new Uint8Array(32);
    primitives.sharedSecret(out, scalar, u);
    return out;
  };

  for (const [i, vector] of vectors.x25519.entries()) {
    test(`${name}: X25519 gives vector ${i + 1} of RFC 7748, 5.2`, (t) => {
      t.is(hex(shared(bytesOf(vector.scalar), bytesOf(vector.u))), vector.result);
    });
  }

  for (const { times, result } of vectors.x25519Iterated) {
    test(`${name}: X25519 applied ${times} times gives RFC 7748, 5.2`, (t) => {
      let k: Uint8Array = new Uint8Array(32);
      k[0] = 9;
      let u: Uint8Array = k;
      for (let i = 0; i < times; i++) [k, u] = [shared(k, u), k];
      t.is(hex(k), result);
    });
  }

  test(`${name}: Alice and Bob of RFC 7748, 6.1 agree`, (t) => {
    const { alicePrivate, alicePublic, bobPrivate, bobPublic } = vectors.diffieHellman;
    const out = new Uint8Array(32);
    primitives.publicKey(out, bytesOf(alicePrivate));
    t.is(hex(out), alicePublic);
    primitives.publicKey(out, bytesOf(bobPrivate));
    t.is(hex(out), bobPublic);
    t.is(hex(shared(bytesOf(alicePrivate), bytesOf(bobPublic))), vectors.diffieHellman.shared);
    t.is(hex(shared(bytesOf(bobPrivate), bytesOf(alicePublic))), vectors.diffieHellman.shared);
  });

  for (const point of vectors.lowOrderPoints) {
    test(`${name}: a shared secret with the low-order point ${point} is refused`, (t) => {
      const random = chance(3);
      for (let i = 0; i < 4; i++) {
        const scalar = randomBytes(random, 32);
        t.false(primitives.sharedSecret(new Uint8Array(32), scalar, bytesOf(point)));
      }
    });
  }

  test(`${name}: an honest shared secret is not refused`, (t) => {
    const { alicePrivate, bobPublic } = vectors.diffieHellman;
    t.true(primitives.sharedSecret(new Uint8Array(32), bytesOf(alicePrivate), bytesOf(bobPublic)));
  });

  test(`${name}: a private key is clamped in use and left alone in memory`, (t) => {
    const key = new Uint8Array(32).fill(0xff);
    const clamped = key.slice();
    clamped[0] = 0xf8;
    clamped[31] = 0x7f;
    const [out, wanted] = [new Uint8Array(32), new Uint8Array(32)];
    primitives.publicKey(out, key);
    primitives.publicKey(wanted, clamped);
    t.deepEqual(out, wanted);
    t.true(key.every((byte) => byte === 0xff));
  });
}

// ---- BLAKE2s -------------------------------------------------------------------------------

/** RFC 7693, appendix E: a sequence that every implementation can make. */
function sequence(length: number, seed: number): Uint8Array {
  let a = Math.imul(0xdead4bad, seed) >>> 0;
  let b = 1;
  return Uint8Array.from({ length }, () => {
    const sum = (a + b) >>> 0;
    a = b;
    b = sum;
    return sum >>> 24;
  });
}

function testHash(name: string, primitives: Primitives): void {
  const hash = (a: Uint8Array, b: Uint8Array): string => {
    const out = new Uint8Array(32);
    primitives.hash(out, a, b);
    return hex(out);
  };

  test(`${name}: BLAKE2s of "abc" is that of RFC 7693, appendix B`, (t) => {
    t.is(hash(new TextEncoder().encode('abc'), EMPTY), vectors.blake2sOfAbc);
  });

  // Without a key we have digests of 32 bytes only; the others of the self-test are noble's.
  const unkeyed = (input: Uint8Array, length: number): Uint8Array =>
    length === 32 ? bytesOf(hash(input, EMPTY)) : blake2s(input, { dkLen: length });

  test(`${name}: BLAKE2s passes the self-test of RFC 7693, appendix E`, (t) => {
    const digests: Uint8Array[] = [];
    for (const digestLength of vectors.blake2sSelfTest.digestLengths) {
      for (const inputLength of vectors.blake2sSelfTest.inputLengths) {
        const input = sequence(inputLength, inputLength);
        const digest = new Uint8Array(digestLength);
        primitives.mac(digest, sequence(digestLength, digestLength), input);
        digests.push(unkeyed(input, digestLength), digest);
      }
    }
    t.is(hash(Buffer.concat(digests), EMPTY), vectors.blake2sSelfTest.result);
  });

  test(`${name}: a hash of two pieces is that of both in a row, wherever they part`, (t) => {
    for (const length of [0, 1, 63, 64, 65, 127, 128, 129, 200]) {
      const input = sequence(length, 7);
      const wanted = createHash('blake2s256').update(input).digest('hex');
      for (let at = 0; at <= length; at++)
        t.is(hash(input.subarray(0, at), input.subarray(at)), wanted);
    }
  });

  test(`${name}: a hash may be written over its own input`, (t) => {
    const h = sequence(32, 5);
    const wanted = hash(h.slice(), sequence(40, 6));
    primitives.hash(h, h, sequence(40, 6));
    t.is(hex(h), wanted);
  });

  test(`${name}: macs of 16 and 32 bytes are different functions`, (t) => {
    const [short, long] = [new Uint8Array(16), new Uint8Array(32)];
    primitives.mac(short, sequence(32, 1), sequence(100, 2));
    primitives.mac(long, sequence(32, 1), sequence(100, 2));
    t.not(hex(short), hex(long.subarray(0, 16)));
  });
}

// ---- HKDF ----------------------------------------------------------------------------------

function testHkdf(name: string, primitives: Primitives): void {
  // With an empty info, HKDF of RFC 5869 is that of Noise, section 4.3.
  const wanted = (ck: Uint8Array, input: Uint8Array, outputs: number): string[] => {
    const all = hex(new Uint8Array(hkdfSync('blake2s256', input, ck, EMPTY, 32 * outputs)));
    return Array.from({ length: outputs }, (_, i) => all.slice(64 * i, 64 * i + 64));
  };

  for (const length of [0, 1, 32, 64, 100]) {
    test(`${name}: HKDF of an input of ${length} bytes is that of node:crypto`, (t) => {
      const [ck, input] = [sequence(32, 9), sequence(length, 10)];
      const [a, b, c] = [new Uint8Array(32), new Uint8Array(32), new Uint8Array(32)];
      primitives.hkdf(ck, input, a, null, null);
      t.deepEqual([hex(a)], wanted(ck, input, 1));
      primitives.hkdf(ck, input, a, b, null);
      t.deepEqual([hex(a), hex(b)], wanted(ck, input, 2));
      primitives.hkdf(ck, input, a, b, c);
      t.deepEqual([hex(a), hex(b), hex(c)], wanted(ck, input, 3));
    });
  }

  test(`${name}: an output of HKDF may be the chaining key itself`, (t) => {
    const [ck, input] = [sequence(32, 9), sequence(32, 10)];
    const results = wanted(ck, input, 3);
    const [b, c] = [new Uint8Array(32), new Uint8Array(32)];
    primitives.hkdf(ck, input, ck, b, c);
    t.deepEqual([hex(ck), hex(b), hex(c)], results);
  });
}

// ---- ChaCha20-Poly1305 and XChaCha20-Poly1305 ------------------------------------------------

function testAead(name: string, primitives: Primitives): void {
  for (const length of [0, 1, 15, 16, 17, 32, 63, 64, 65, 1_420]) {
    test(`${name}: ChaCha20-Poly1305 of ${length} bytes is that of node:crypto`, (t) => {
      const [key, plaintext, ad] = [sequence(32, 1), sequence(length, 2), sequence(32, 3)];
      const nonce = sequence(12, 4);
      const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 });
      cipher.setAAD(ad, { plaintextLength: length });
      const text = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      const sealed = new Uint8Array(length + 16);
      primitives.seal(sealed, key, nonce, plaintext, ad);
      t.is(hex(sealed), hex(Buffer.concat([text, cipher.getAuthTag()])));
      const opened = new Uint8Array(length);
      t.true(primitives.open(opened, key, nonce, sealed, ad));
      t.deepEqual(opened, plaintext);
      const inPlace = sealed.subarray(0, length);
      t.true(primitives.open(inPlace, key, nonce, sealed, ad));
      t.deepEqual(inPlace, plaintext);
    });
  }

  test(`${name}: no byte of text, tag, key, nonce or the data beside it may differ`, (t) => {
    const [key, plaintext, ad] = [sequence(32, 1), sequence(20, 2), sequence(10, 3)];
    const nonce = sequence(12, 4);
    const sealed = new Uint8Array(36);
    primitives.seal(sealed, key, nonce, plaintext, ad);
    for (const part of [sealed, key, nonce, ad]) {
      for (let i = 0; i < part.length; i++) {
        part[i]! ^= 0x80;
        t.false(primitives.open(new Uint8Array(20), key, nonce, sealed, ad));
        part[i]! ^= 0x80;
      }
    }
    t.true(primitives.open(new Uint8Array(20), key, nonce, sealed, ad));
  });

  test(`${name}: XChaCha20-Poly1305 gives draft-irtf-cfrg-xchacha-03, A.3.1`, (t) => {
    const vector = vectors.xchacha20poly1305;
    const [key, nonce, ad] = [bytesOf(vector.key), bytesOf(vector.nonce), bytesOf(vector.ad)];
    const plaintext = new TextEncoder().encode(vector.plaintext);
    const sealed = new Uint8Array(plaintext.length + 16);
    primitives.xseal(sealed, key, nonce, plaintext, ad);
    t.is(hex(sealed), vector.sealed);
    const opened = new Uint8Array(plaintext.length);
    t.true(primitives.xopen(opened, key, nonce, sealed, ad));
    t.deepEqual(opened, plaintext);
  });

  test(`${name}: XChaCha20-Poly1305 refuses a change of any byte, of the nonce too`, (t) => {
    const [key, nonce, ad] = [sequence(32, 1), sequence(24, 2), sequence(16, 3)];
    const sealed = new Uint8Array(32);
    primitives.xseal(sealed, key, nonce, sequence(16, 4), ad);
    for (const part of [sealed, key, nonce, ad]) {
      for (let i = 0; i < part.length; i++) {
        part[i]! ^= 1;
        t.false(primitives.xopen(new Uint8Array(16), key, nonce, sealed, ad));
        part[i]! ^= 1;
      }
    }
  });
}

// ---- agreement -----------------------------------------------------------------------------

for (const [name, primitives] of implementations) {
  if (primitives === portablePrimitives) continue;

  test(`${name} and portable agree on any input`, (t) => {
    const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
      fc.uint8Array({ minLength: length, maxLength: length });
    const text = fc.uint8Array({ maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(bytes(32), bytes(32), bytes(24), text, text, (key, other, nonce, a, b) => {
        const results = [primitives, portablePrimitives].map((one) => {
          const [h, m16, k1, k2, k3] = [32, 16, 32, 32, 32].map((n) => new Uint8Array(n)) as Five;
          const [sealed, xsealed] = [new Uint8Array(a.length + 16), new Uint8Array(a.length + 16)];
          const mac = new Uint8Array(16);
          one.hash(h, a, b);
          one.mac(m16, key, a);
          one.mac(mac, other, b);
          one.hkdf(key, a, k1, k2, k3);
          one.seal(sealed, key, nonce.subarray(0, 12), a, b);
          one.xseal(xsealed, key, nonce, a, b);
          return [h, m16, mac, k1, k2, k3, sealed, xsealed].map(hex);
        });
        t.deepEqual(results[0], results[1]);
      }),
      { ...SEEDED, numRuns: 100 },
    );
  });

  test(`${name}: XChaCha20-Poly1305 keeps no subkey beyond a change of key or nonce`, (t) => {
    const [key, nonce, text] = [sequence(32, 1), sequence(24, 2), sequence(16, 3)];
    for (const part of [nonce, key]) {
      for (let i = 0; i < part.length; i++) {
        part[i]! ^= 1;
        const [sealed, expected] = [new Uint8Array(32), new Uint8Array(32)];
        primitives.xseal(sealed, key, nonce, text, text);
        portablePrimitives.xseal(expected, key, nonce, text, text);
        t.deepEqual(sealed, expected);
      }
    }
  });

  test(`${name} and portable agree on Diffie-Hellmans of any bytes`, (t) => {
    const random = chance(11);
    for (let i = 0; i < 50; i++) {
      const [scalar, point] = [randomBytes(random, 32), randomBytes(random, 32)];
      const [a, b] = [new Uint8Array(32), new Uint8Array(32)];
      t.is(
        primitives.sharedSecret(a, scalar, point),
        portablePrimitives.sharedSecret(b, scalar, point),
      );
      t.deepEqual(a, b);
    }
  });
}

type Five = [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array];
