// Comparing addresses and keys.

import test from 'ava';
import { type Comparison, sameBytes, sameParts } from '../../../dataplane/wire/bytes.ts';
import { counting } from '../../support/dataplane/packets.ts';

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

test('values are the same where each of their parts is', (t) => {
  interface Peer {
    readonly name: string;
    readonly key: Uint8Array;
    readonly mtu?: number;
  }
  const parts: Comparison<Peer> = { name: Object.is, key: sameBytes, mtu: Object.is };
  const peer = (): Peer => ({ name: 'a', key: counting(32, 7) });
  t.true(sameParts(parts, peer(), peer()));
  t.false(sameParts(parts, peer(), { ...peer(), name: 'b' }));
  t.false(sameParts(parts, peer(), { ...peer(), key: counting(32, 8) }));
  t.false(sameParts(parts, peer(), { ...peer(), mtu: 1 }));
});

test('a part that is forgotten does not compile', (t) => {
  // @ts-expect-error `b` is not compared.
  const forgetful: Comparison<{ a: number; b: number }> = { a: Object.is };
  // @ts-expect-error An optional part is a part.
  const optional: Comparison<{ a?: number }> = {};
  t.deepEqual(Object.keys({ ...forgetful, ...optional }), ['a']);
});
