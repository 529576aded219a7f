// The primitives of Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s. One interface has two implementations,
// the addon (dataplane/native) and the portable one in this file; both pass the same test vectors.
// Callers own all buffers; no key is kept here.

import { chacha20poly1305, xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import { blake2s } from '@noble/hashes/blake2.js';
import { hmac } from '@noble/hashes/hmac.js';
import nacl from 'tweetnacl';

/** The cryptography that handshake and cookies need. Keys are 32 bytes. */
export interface Primitives {
  /** X25519(private key, 9): writes the public key, 32 bytes (RFC 7748). */
  publicKey: (out: Uint8Array, privateKey: Uint8Array) => void;
  /** X25519: writes the shared secret, 32 bytes; false when it is all zero (RFC 7748, 6.1). */
  sharedSecret: (out: Uint8Array, privateKey: Uint8Array, publicKey: Uint8Array) => boolean;
  /** BLAKE2s-256 of a followed by b (RFC 7693): writes 32 bytes. */
  hash: (out: Uint8Array, a: Uint8Array, b: Uint8Array) => void;
  /** Keyed BLAKE2s with a digest of `out.length` bytes, 16 or 32; the key at most 32 bytes. */
  mac: (out: Uint8Array, key: Uint8Array, input: Uint8Array) => void;
  /**
   * HKDF of Noise (section 4.3): one to three outputs of 32 bytes; an output may be `ck` itself.
   */
  hkdf: (
    ck: Uint8Array,
    input: Uint8Array,
    out1: Uint8Array,
    out2: Uint8Array | null,
    out3: Uint8Array | null,
  ) => void;
  /**
   * ChaCha20-Poly1305 with a 12-byte nonce (RFC 8439): writes the ciphertext and its 16-byte tag.
   */
  seal: (
    out: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    plaintext: Uint8Array,
    ad: Uint8Array,
  ) => void;
  /**
   * Opens what `seal` made; `out` may be where `sealed` begins. False when the tag is wrong; then
   * `out` holds nothing useful.
   */
  open: (
    out: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    sealed: Uint8Array,
    ad: Uint8Array,
  ) => boolean;
  /** XChaCha20-Poly1305 with a 24-byte nonce. */
  xseal: (
    out: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    plaintext: Uint8Array,
    ad: Uint8Array,
  ) => void;
  /** Opens what `xseal` made; false when the tag is wrong. */
  xopen: (
    out: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    sealed: Uint8Array,
    ad: Uint8Array,
  ) => boolean;
}

const ONE = new Uint8Array([1]);
const TWO = new Uint8Array([2]);
const THREE = new Uint8Array([3]);

/** The implementation in TypeScript: tweetnacl, @noble/hashes and @noble/ciphers. */
export const portablePrimitives: Primitives = {
  publicKey(out, privateKey) {
    out.set(nacl.scalarMult.base(privateKey));
  },
  sharedSecret(out, privateKey, publicKey) {
    out.set(nacl.scalarMult(privateKey, publicKey));
    return !isZero(out);
  },
  hash(out, a, b) {
    out.set(blake2s.create({}).update(a).update(b).digest());
  },
  mac(out, key, input) {
    out.set(blake2s(input, { key, dkLen: out.length }));
  },
  hkdf(ck, input, out1, out2, out3) {
    const secret = hmac(blake2s, ck, input);
    const first = hmac(blake2s, secret, ONE);
    out1.set(first);
    if (out2 === null) return;
    const second = hmac.create(blake2s, secret).update(first).update(TWO).digest();
    out2.set(second);
    if (out3 === null) return;
    out3.set(hmac.create(blake2s, secret).update(second).update(THREE).digest());
  },
  seal(out, key, nonce, plaintext, ad) {
    out.set(chacha20poly1305(key, nonce, ad).encrypt(plaintext));
  },
  open(out, key, nonce, sealed, ad) {
    return opened(out, () => chacha20poly1305(key, nonce, ad).decrypt(sealed));
  },
  xseal(out, key, nonce, plaintext, ad) {
    out.set(xchacha20poly1305(key, nonce, ad).encrypt(plaintext));
  },
  xopen(out, key, nonce, sealed, ad) {
    return opened(out, () => xchacha20poly1305(key, nonce, ad).decrypt(sealed));
  },
};

/** Runs `decrypt`; returns false where noble throws because of a wrong tag. */
function opened(out: Uint8Array, decrypt: () => Uint8Array): boolean {
  try {
    out.set(decrypt());
    return true;
  } catch {
    return false;
  }
}

function isZero(bytes: Uint8Array): boolean {
  let or = 0;
  for (const byte of bytes) or |= byte;
  return or === 0;
}
