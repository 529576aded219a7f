// The SymmetricState of Noise (revision 34, section 5.2), with the one pattern and the one set of
// primitives that WireGuard has: a chaining key ck and a hash h, advanced by each token. The key k
// of a step is returned by mixKey, used once with nonce 0, and not kept.

import { blake2s } from '@noble/hashes/blake2.js';
import { KEY_BYTES } from '../constants.ts';
import type { Primitives } from './primitives.ts';

const encoder = new TextEncoder();
const CONSTRUCTION = encoder.encode('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s');
const IDENTIFIER = encoder.encode('WireGuard v1 zx2c4 Jason@zx2c4.com');
const EMPTY = new Uint8Array(0);
/** With what every handshake begins: Hash(Construction), and Hash of that and the identifier. */
const FIRST_CK = blake2s(CONSTRUCTION);
const FIRST_H = blake2s.create({}).update(FIRST_CK).update(IDENTIFIER).digest();
/** The t of a psk token, until it is mixed. */
const scratch = new Uint8Array(KEY_BYTES);

/** ck and h of a handshake under way. */
export class SymmetricState {
  readonly ck = new Uint8Array(KEY_BYTES);
  readonly h = new Uint8Array(KEY_BYTES);
  readonly #k = new Uint8Array(KEY_BYTES);
  readonly #primitives: Primitives;

  constructor(primitives: Primitives) {
    this.#primitives = primitives;
  }

  /** Ci := Hash(Construction); Hi := Hash(Hash(Ci || Identifier) || S_r^pub). */
  initialize(responderStatic: Uint8Array): void {
    this.ck.set(FIRST_CK);
    this.h.set(FIRST_H);
    this.mixHash(responderStatic);
  }

  /** h := Hash(h || data). */
  mixHash(data: Uint8Array): void {
    this.#primitives.hash(this.h, this.h, data);
  }

  /** ck := HKDF1(ck, input), where no key is needed before the next token. */
  mixChain(input: Uint8Array): void {
    this.#primitives.hkdf(this.ck, input, this.ck, null, null);
  }

  /** (ck, k) := HKDF2(ck, input); the k is for the next encryptAndHash or decryptAndHash. */
  mixKey(input: Uint8Array): void {
    this.#primitives.hkdf(this.ck, input, this.ck, this.#k, null);
  }

  /** (ck, t, k) := HKDF3(ck, input); h := Hash(h || t). */
  mixKeyAndHash(input: Uint8Array): void {
    this.#primitives.hkdf(this.ck, input, this.ck, scratch, this.#k);
    this.mixHash(scratch);
    scratch.fill(0);
  }

  /** out := AEAD(k, 0, plaintext, h); h := Hash(h || out). */
  encryptAndHash(out: Uint8Array, plaintext: Uint8Array): void {
    this.#primitives.seal(out, this.#k, plaintext, this.h);
    this.mixHash(out);
  }

  /** Opens `sealed` into `out`; false, leaving h alone, when its tag is wrong. */
  decryptAndHash(out: Uint8Array, sealed: Uint8Array): boolean {
    if (!this.#primitives.open(out, this.#k, sealed, this.h)) return false;
    this.mixHash(sealed);
    return true;
  }

  /** (first, second) := HKDF2(ck, ""): the two transport keys. Wipes the state. */
  split(first: Uint8Array, second: Uint8Array): void {
    this.#primitives.hkdf(this.ck, EMPTY, first, second, null);
    this.wipe();
  }

  copyFrom(other: SymmetricState): void {
    this.ck.set(other.ck);
    this.h.set(other.h);
  }

  wipe(): void {
    this.ck.fill(0);
    this.h.fill(0);
    this.#k.fill(0);
  }
}
