// Keys of devices as text: base64 of 32 bytes, in its one canonical form. docs/api.md#keys.

/** Bytes of every key. */
export const KEY_BYTES = 32;

// The points of low order on Curve25519, little-endian, the unused top bit cleared: with one of
// them every shared secret is zero. These seven are all encodings (RFC 7748, section 7;
// cr.yp.to/ecdh.html lists them). A test holds them against the data plane's own arithmetic, which
// takes a millisecond.
const LOW_ORDER: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

/** True for standard base64 in the one form that encoding its bytes gives. */
export function isCanonicalBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** True for text that decodes to as many bytes as a key has. */
export function hasKeySize(text: string): boolean {
  return Buffer.from(text, 'base64').length === KEY_BYTES;
}

/** True for the text of a key: its size, and the one form that it has. */
export function isKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === KEY_BYTES && bytes.toString('base64') === text;
}

/** True for a public key that no device can have honestly. */
export function isLowOrderKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  const last = KEY_BYTES - 1;
  bytes[last] = (bytes[last] ?? 0) & 0x7f;
  return LOW_ORDER.has(bytes.toString('hex'));
}
