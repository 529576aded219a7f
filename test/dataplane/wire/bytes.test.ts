// Comparing addresses and keys.

import test from 'ava';
import { sameBytes } from '../../../dataplane/wire/bytes.ts';
import { counting } from '../../support/packets.ts';

test('bytes are the same where every one of them is, and nothing is the same as nothing', (t) => {
  t.true(sameBytes(counting(32, 7), counting(32, 7)));
  t.true(sameBytes(new Uint8Array(0), new Uint8Array(0)));
  t.true(sameBytes(null, null));
});

test('one byte, one more byte, or none at all makes a difference', (t) => {
  const key = counting(32, 7);
  for (let i = 0; i < key.length; i++) {
    const other = key.slice();
    other[i]! ^= 1;
    t.false(sameBytes(key, other), `byte ${i}`);
  }
  for (const other of [key.subarray(1), key.subarray(0, 31), new Uint8Array(0), null]) {
    t.false(sameBytes(key, other));
    t.false(sameBytes(other, key));
  }
});
