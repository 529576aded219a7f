// The choice of primitives, and that a wrong one never serves.

import test from 'ava';
import { assertAgreement, choosePrimitives, systemRandom } from '../../../dataplane/io/crypto.ts';
import { type Primitives, portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';

test('randomness fills the whole array, and another time otherwise', (t) => {
  const [a, b] = [new Uint8Array(1_000), new Uint8Array(1_000)];
  systemRandom(a);
  systemRandom(b);
  t.notDeepEqual(a, b);
  t.true(new Set(a).size > 200);
});

test('small draws never repeat, and a long one is filled as well', (t) => {
  const seen = new Set<string>();
  for (let i = 0; i < 1_000; i++) {
    const bytes = new Uint8Array(1 + (i % 40) + 15);
    systemRandom(bytes);
    seen.add(Buffer.from(bytes.subarray(0, 16)).toString('hex'));
  }
  t.is(seen.size, 1_000);
  const long = new Uint8Array(4_096);
  systemRandom(long);
  t.true(new Set(long).size > 240);
});

test('without the addon the portable primitives serve, whatever was asked for', (t) => {
  t.is(choosePrimitives(null), portablePrimitives);
});

nativeTest('with the addon its primitives serve, all of them', (t, native) => {
  const chosen = choosePrimitives(native);
  for (const name of Object.keys(portablePrimitives) as (keyof Primitives)[])
    t.is(chosen[name], native[name], name);
});

test('the portable primitives agree with themselves', (t) => {
  t.notThrows(() => assertAgreement(portablePrimitives));
});

const right = portablePrimitives;

/** Each differs from the portable primitives in one way. */
const wrong: readonly [title: string, primitives: Partial<Primitives>][] = [
  [
    'a public key that is wrong',
    { publicKey: (out, key) => spoil(out, () => right.publicKey(out, key)) },
  ],
  [
    'a shared secret that is wrong',
    { sharedSecret: (out, a, b) => spoil(out, () => right.sharedSecret(out, a, b)) },
  ],
  [
    'a shared secret that is refused when it should not be',
    { sharedSecret: (out, a, b) => !right.sharedSecret(out, a, b) },
  ],
  ['a hash that is wrong', { hash: (out, a, b) => spoil(out, () => right.hash(out, a, b)) }],
  [
    'a hash that forgets its second piece',
    { hash: (out, a) => right.hash(out, a, new Uint8Array(0)) },
  ],
  [
    'a mac that is wrong',
    { mac: (out, key, input) => spoil(out, () => right.mac(out, key, input)) },
  ],
  [
    'a mac of 16 bytes that is half of one of 32',
    {
      mac(out, key, input) {
        const long = new Uint8Array(32);
        right.mac(long, key, input);
        out.set(long.subarray(0, out.length));
      },
    },
  ],
  [
    'an HKDF that is wrong',
    { hkdf: (ck, input, a, b, c) => spoil(b ?? a, () => right.hkdf(ck, input, a, b, c)) },
  ],
  [
    'an HKDF that is wrong in its third output',
    {
      hkdf: (ck, input, a, b, c) =>
        spoil(c ?? new Uint8Array(1), () => right.hkdf(ck, input, a, b, c)),
    },
  ],
  [
    'a sealed text that is wrong',
    {
      seal: (out, key, nonce, text, ad) => spoil(out, () => right.seal(out, key, nonce, text, ad)),
    },
  ],
  [
    'an opened text that is wrong',
    {
      open: (out, key, nonce, text, ad) => spoil(out, () => right.open(out, key, nonce, text, ad)),
    },
  ],
  ['an opening that refuses nothing', { open: () => true }],
  [
    'a sealed cookie that is wrong',
    {
      xseal: (out, key, nonce, text, ad) =>
        spoil(out, () => right.xseal(out, key, nonce, text, ad)),
    },
  ],
  [
    'an opened cookie that is wrong',
    {
      xopen: (out, key, nonce, text, ad) =>
        spoil(out, () => right.xopen(out, key, nonce, text, ad)),
    },
  ],
  ['an opening of cookies that refuses nothing', { xopen: () => true }],
];

/** Changes one byte of what `compute` writes. */
function spoil<T>(out: Uint8Array, compute: () => T): T {
  const result = compute();
  out[out.length - 1]! ^= 1;
  return result;
}

for (const [title, primitives] of wrong) {
  test(`${title}: the start is stopped`, (t) => {
    t.throws(() => assertAgreement({ ...right, ...primitives }), {
      message: /DATAPLANE_ENGINE=typescript/,
    });
  });
}
