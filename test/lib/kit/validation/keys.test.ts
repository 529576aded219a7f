// Keys as text, held against the data plane's own arithmetic.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { derivePublicKey, isLowOrder } from '../../../../dataplane/index.ts';
import {
  hasKeySize,
  isCanonicalBase64,
  isKey,
  isLowOrderKey,
} from '../../../../lib/kit/validation/keys.ts';

/** 2^255 - 19, little-endian, moved by a few. */
function nearPrime(offset: number, topBit = 0): Uint8Array {
  const bytes = new Uint8Array(32).fill(0xff);
  bytes[0] = 0xed + offset;
  bytes[31] = 0x7f | topBit;
  return bytes;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

test('points of low order are found as the data plane finds them', (t) => {
  const small = (first: number, topBit = 0): Uint8Array => {
    const bytes = new Uint8Array(32);
    bytes[0] = first;
    bytes[31] = topBit;
    return bytes;
  };
  const orderEight = [
    'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
    '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  ].map((hex) => new Uint8Array(Buffer.from(hex, 'hex')));
  const candidates = [
    ...[0, 1, 2, 9].flatMap((first) => [small(first), small(first, 0x80)]),
    ...Array.from({ length: 18 }, (_, i) => nearPrime(i - 2)),
    ...[-1, 0, 1].map((offset) => nearPrime(offset, 0x80)),
    ...orderEight,
    ...orderEight.map((bytes) => bytes.with(31, bytes[31]! | 0x80)),
    ...Array.from({ length: 20 }, () => new Uint8Array(randomBytes(32))),
    derivePublicKey(new Uint8Array(randomBytes(32))),
  ];
  let found = 0;
  for (const bytes of candidates) {
    t.is(isLowOrderKey(text(bytes)), isLowOrder(bytes), Buffer.from(bytes).toString('hex'));
    if (isLowOrder(bytes)) found += 1;
  }
  t.is(found, 14);
});

test('base64 is canonical when it is the text of its bytes', (t) => {
  for (const good of ['', 'AA==', 'AAA=', 'AAAA', text(randomBytes(32))])
    t.true(isCanonicalBase64(good));
  for (const bad of ['A', 'AA', 'AB==', 'AAA', 'AA-_', ' AAAA', 'AAAA\n', 'AA==AA==', 'é'])
    t.false(isCanonicalBase64(bad), bad);
  t.true(isKey(text(randomBytes(32))));
  t.false(isKey(text(randomBytes(33))));
  t.false(isKey(`${'A'.repeat(42)}B=`), 'other words for the same bytes');
  t.true(hasKeySize(text(randomBytes(32))));
  t.false(hasKeySize(text(randomBytes(33))));
});
