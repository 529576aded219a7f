// Randomness, and the choice of the primitives. The chosen ones are compared with tweetnacl and
// noble on random keys before they are used: a difference stops the start.

import { randomFillSync } from 'node:crypto';
import {
  AEAD_NONCE_BYTES,
  COOKIE_NONCE_BYTES,
  KEY_BYTES,
  MAC_BYTES,
  TAG_BYTES,
} from '../constants.ts';
import { type Primitives, portablePrimitives } from '../noise/primitives.ts';

/**
 * An addon that was built wrong, or a processor that computes wrong, shows at the first key. Rare
 * errors are for the test vectors: each trial takes 10 ms of a start.
 */
const TRIALS = 2;

/** Random bytes of the operating system, fetched many at a time, because each call is expensive. */
const drawn = new Uint8Array(1_024);
let given = drawn.length;

/** Fills an array with random bytes of the operating system. No copy of them remains here. */
export function systemRandom(bytes: Uint8Array): void {
  if (bytes.length > drawn.length) {
    randomFillSync(bytes);
    return;
  }
  if (given + bytes.length > drawn.length) {
    randomFillSync(drawn);
    given = 0;
  }
  const end = given + bytes.length;
  for (let i = 0; given < end; i++, given++) {
    bytes[i] = drawn[given]!;
    drawn[given] = 0;
  }
}

/** Returns the primitives of the addon; without one the portable ones. */
export function choosePrimitives(native: Primitives | null): Primitives {
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
  assertAgreement(chosen);
  return chosen;
}

/** Throws when an implementation differs from the portable one in any operation. */
export function assertAgreement(primitives: Primitives): void {
  for (let trial = 0; trial < TRIALS; trial++) {
    const key = randomBytes(KEY_BYTES);
    const other = randomBytes(KEY_BYTES);
    const nonce = randomBytes(COOKIE_NONCE_BYTES);
    const text = randomBytes(MAC_BYTES);
    for (const [what, compute] of Object.entries(trials(key, other, nonce, text)))
      if (!equal(compute(primitives), compute(portablePrimitives)))
        throw new Error(
          `the native ${what} disagrees with tweetnacl and noble; set DATAPLANE_ENGINE=typescript and report this`,
        );
  }
}

type Outcome = (Uint8Array | boolean)[];

/** Every operation of the primitives, with its results. */
function trials(
  key: Uint8Array,
  other: Uint8Array,
  nonce: Uint8Array,
  text: Uint8Array,
): Record<string, (p: Primitives) => Outcome> {
  const short = nonce.subarray(0, AEAD_NONCE_BYTES);
  const sealed = new Uint8Array(text.length + TAG_BYTES);
  portablePrimitives.seal(sealed, key, short, text, other);
  const xsealed = new Uint8Array(text.length + TAG_BYTES);
  portablePrimitives.xseal(xsealed, key, nonce, text, other);
  const lowOrder = new Uint8Array(KEY_BYTES);
  return {
    'public key': (p) => [written(KEY_BYTES, (out) => p.publicKey(out, key))],
    'shared secret': (p) => [
      ...judged(KEY_BYTES, (out) => p.sharedSecret(out, key, other)),
      p.sharedSecret(new Uint8Array(KEY_BYTES), key, lowOrder),
    ],
    hash: (p) => [written(KEY_BYTES, (out) => p.hash(out, key, other))],
    mac: (p) => [
      written(KEY_BYTES, (out) => p.mac(out, key, other)),
      written(MAC_BYTES, (out) => p.mac(out, key, other)),
    ],
    hkdf: (p) => {
      const outs = [0, 1, 2].map(() => new Uint8Array(KEY_BYTES));
      p.hkdf(key, other, outs[0]!, outs[1]!, outs[2]!);
      return outs;
    },
    seal: (p) => [written(sealed.length, (out) => p.seal(out, key, short, text, other))],
    open: (p) => [
      ...judged(text.length, (out) => p.open(out, key, short, sealed, other)),
      p.open(new Uint8Array(text.length), key, short, sealed, key),
    ],
    xseal: (p) => [written(xsealed.length, (out) => p.xseal(out, key, nonce, text, other))],
    xopen: (p) => [
      ...judged(text.length, (out) => p.xopen(out, key, nonce, xsealed, other)),
      p.xopen(new Uint8Array(text.length), key, nonce, xsealed, key),
    ],
  };
}

function written(length: number, write: (out: Uint8Array) => void): Uint8Array {
  const out = new Uint8Array(length);
  write(out);
  return out;
}

function judged(length: number, write: (out: Uint8Array) => boolean): Outcome {
  const out = new Uint8Array(length);
  const verdict = write(out);
  return [verdict, out];
}

function equal(a: Outcome, b: Outcome): boolean {
  return a.every((value, i) => {
    const other = b[i];
    if (typeof value === 'boolean' || typeof other === 'boolean') return value === other;
    return value.every((byte, j) => byte === other?.[j]);
  });
}

function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  systemRandom(bytes);
  return bytes;
}
