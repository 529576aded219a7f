// Randomness, and the choice of the primitives. What was chosen is tried against tweetnacl on random
// keys before it serves: a difference stops the start.

import { randomFillSync } from 'node:crypto';
import { KEY_BYTES } from '../constants.ts';
import { type Primitives, portablePrimitives } from '../noise/primitives.ts';

const TRIALS = 8;

/** Fills an array from the operating system's generator. */
export function systemRandom(bytes: Uint8Array): void {
  randomFillSync(bytes);
}

/** Returns the primitives of the addon, or with `x25519` "tweetnacl" with its X25519 replaced. */
export function choosePrimitives(
  native: Primitives | null,
  x25519: 'openssl' | 'tweetnacl',
): Primitives {
  if (native === null) return portablePrimitives;
  const chosen: Primitives = {
    publicKey: native.publicKey,
    sharedSecret: native.sharedSecret,
    hash: native.hash,
    mac: native.mac,
    hkdf: native.hkdf,
    seal: native.seal,
    open: native.open,
    xseal: native.xseal,
    xopen: native.xopen,
  };
  if (x25519 === 'tweetnacl') {
    chosen.publicKey = portablePrimitives.publicKey;
    chosen.sharedSecret = portablePrimitives.sharedSecret;
  }
  assertAgreement(chosen);
  return chosen;
}

/** Throws when an implementation and the portable one disagree. */
export function assertAgreement(primitives: Primitives): void {
  for (let trial = 0; trial < TRIALS; trial++) {
    const privateKey = randomKey();
    const otherKey = randomKey();
    assertSame('public key', (out, p) => p.publicKey(out, privateKey), primitives);
    assertSame('shared secret', (out, p) => p.sharedSecret(out, privateKey, otherKey), primitives);
    assertSame('hash', (out, p) => p.hash(out, privateKey, otherKey), primitives);
    assertSame('mac', (out, p) => p.mac(out, privateKey, otherKey), primitives);
    assertSame(
      'hkdf',
      (out, p) => p.hkdf(privateKey, otherKey, new Uint8Array(KEY_BYTES), out, null),
      primitives,
    );
    assertSame(
      'seal',
      (out, p) => p.seal(out, privateKey, otherKey.subarray(0, 16), otherKey),
      primitives,
    );
  }
}

function assertSame(
  what: string,
  compute: (out: Uint8Array, primitives: Primitives) => void,
  primitives: Primitives,
): void {
  const got = new Uint8Array(KEY_BYTES);
  const wanted = new Uint8Array(KEY_BYTES);
  compute(got, primitives);
  compute(wanted, portablePrimitives);
  if (got.some((byte, i) => byte !== wanted[i]))
    throw new Error(
      `the native ${what} disagrees with tweetnacl and noble; set DATAPLANE_ENGINE=typescript and report this`,
    );
}

function randomKey(): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  systemRandom(key);
  return key;
}
