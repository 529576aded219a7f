// The SymmetricState of Noise (revision 34, section 5.2) for the one pattern and the one set of
// primitives that WireGuard uses: a chaining key ck and a hash h, which each token changes. The key
// k of a step is used once, with nonce 0, for the next encryption or decryption.

import { blake2s } from '@noble/hashes/blake2.js';
import { AEAD_NONCE_BYTES, KEY_BYTES } from '../constants.ts';
import type { Primitives } from './primitives.ts';

const encoder = new TextEncoder();
const CONSTRUCTION = encoder.encode('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s');
const IDENTIFIER = encoder.encode('WireGuard v1 zx2c4 Jason@zx2c4.com');
const EMPTY = new Uint8Array(0);
const NONCE_0 = new Uint8Array(AEAD_NONCE_BYTES);
/** The first ck of every handshake: Hash(Construction). */
const FIRST_CK = blake2s(CONSTRUCTION);
/** The first h of every handshake: Hash(FIRST_CK || Identifier). */
const FIRST_H = blake2s.create({}).update(FIRST_CK).update(IDENTIFIER).digest();
/** Memory for the t of a psk token. */
const scratch = new Uint8Array(KEY_BYTES);

/** ck, h and k of an unfinished handshake. */
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

  /** ck := HKDF1(ck, input), for tokens after which nothing is encrypted. */
  mixChain(input: Uint8Array): void {
    this.#primitives.hkdf(this.ck, input, this.ck, null, null);
  }

  /** (ck, k) := HKDF2(ck, input); encryptAndHash or decryptAndHash uses k next. */
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
    this.#primitives.seal(out, this.#k, NONCE_0, plaintext, this.h);
    this.mixHash(out);
  }

  /** Opens `sealed` into `out`. False, without changing h, when its tag is wrong. */
  decryptAndHash(out: Uint8Array, sealed: Uint8Array): boolean {
    if (!this.#primitives.open(out, this.#k, NONCE_0, sealed, this.h)) return false;
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
