// SipHash-2-4 by the vectors of its authors.

import test from 'ava';
import { SipHash } from '../../../dataplane/tcp/siphash.ts';

/** The reference key: 00 01 02 … 0f. */
const counting = (bytes: Uint8Array): void => bytes.forEach((_, i) => (bytes[i] = i));

/** Of the messages 00 01 02 …, by their length: the results of `vectors.h`, low and high word. */
const VECTORS: readonly (readonly [bytes: number, low: number, high: number])[] = [
  [0, 0xdd0e0e31, 0x726fdb47],
  [8, 0x9a932462, 0x93f5f579],
];

test('the empty message and one of eight bytes', (t) => {
  const hash = new SipHash(counting);
  const words = new Int32Array(2);
  counting(new Uint8Array(words.buffer));
  for (const [bytes, low, high] of VECTORS) {
    t.is(hash.hash(words, bytes / 4), hash.result[0]!);
    t.deepEqual([hash.result[0]! >>> 0, hash.result[1]! >>> 0], [low >>> 0, high >>> 0]);
  }
});

test('each bit of a message and of the key changes about half of the bits', (t) => {
  const hash = new SipHash(counting);
  const words = new Int32Array(10);
  const base = hash.hash(words, 10);
  for (let bit = 0; bit < 320; bit++) {
    words[bit >> 5]! ^= 1 << (bit & 31);
    const changed = bits(hash.hash(words, 10) ^ base);
    words[bit >> 5]! ^= 1 << (bit & 31);
    t.true(changed > 4 && changed < 28, `bit ${bit} changes ${changed}`);
  }
  const other = new SipHash((bytes) => bytes.fill(1));
  t.not(other.hash(words, 10), base);
});

function bits(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
