// Makes static keys (Curve25519) and derives their public keys. tweetnacl computes them here and in
// the browser, so the results are the same.

import nacl from 'tweetnacl';
import { KEY_BYTES } from '../constants.ts';
import type { Random } from './handshake.ts';

/** Makes a private key, clamped as RFC 7748 (section 5) says. */
export function makePrivateKey(random: Random): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  random(key);
  key[0]! &= 248;
  key[31]! = (key[31]! & 127) | 64;
  return key;
}

/** The public key of a private one. */
export function derivePublicKey(privateKey: Uint8Array): Uint8Array {
  return nacl.scalarMult.base(privateKey);
}

/**
 * Whether a public key is one of the low-order points, with which every shared secret is zero (RFC
 * 7748, section 6.1). No real key pair has such a public key.
 */
export function isLowOrder(publicKey: Uint8Array): boolean {
  const probe = new Uint8Array(KEY_BYTES).fill(1);
  return nacl.scalarMult(probe, publicKey).every((byte) => byte === 0);
}
