// Cryptokey routing: which peer has an address. Tables for the cases, and a slow list for
// comparison.

import test from 'ava';
import fc from 'fast-check';
import { AllowedIps } from '../../../dataplane/wireguard/allowed-ips.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { address, viewOf } from '../../support/dataplane/packets.ts';
import { randomBytes, SEEDED } from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

function lookUp<T>(trie: AllowedIps<T>, bytes: Uint8Array): T | null {
  const view = viewOf(bytes);
  return bytes.length === 4
    ? trie.lookUp4(view.getInt32(0))
    : trie.lookUp6(view.getInt32(0), view.getInt32(4), view.getInt32(8), view.getInt32(12));
}

/** A trie of prefixes written as "10.0.0.0/8". */
function trieOf(prefixes: Readonly<Record<string, string>>): AllowedIps<string> {
  const trie = new AllowedIps<string>();
  for (const [prefix, value] of Object.entries(prefixes)) insert(trie, prefix, value);
  return trie;
}

function insert(trie: AllowedIps<string>, prefix: string, value: string): void {
  const [text, bits] = prefix.split('/') as [string, string];
  trie.insert(address(text), Number(bits), value);
}

function remove(trie: AllowedIps<string>, prefix: string, value: string): void {
  const [text, bits] = prefix.split('/') as [string, string];
  trie.remove(address(text), Number(bits), value);
}

// The prefixes of wireguard-linux, src/selftest/allowedips.c, in our words.
const kernel = trieOf({
  '192.168.4.0/24': 'a',
  '192.168.4.4/32': 'b',
  '192.168.0.0/16': 'c',
  '192.95.5.64/27': 'd',
  '192.95.5.65/27': 'c',
  '0.0.0.0/0': 'e',
  '64.15.112.0/20': 'g',
  '64.15.123.211/25': 'h',
  '10.0.0.0/25': 'a',
  '10.0.0.128/25': 'b',
  '10.1.0.0/30': 'a',
  '10.1.0.4/30': 'b',
  '10.1.0.8/29': 'c',
  '10.1.0.16/29': 'd',
  '2607:5300:6006:b0::c05f:543/128': 'd',
  '2607:5300:6006:b0::/64': 'c',
  '::/0': 'e',
  '2404:6800:4004:800::/96': 'g',
  '2404:6800:4004:806::1006/126': 'f',
});

const lookUps: readonly [text: string, wanted: string][] = [
  ['192.168.4.20', 'a'],
  ['192.168.4.0', 'a'],
  ['192.168.4.4', 'b'],
  ['192.168.200.182', 'c'],
  ['192.95.5.68', 'c'],
  ['192.95.5.96', 'e'],
  ['64.15.116.26', 'g'],
  ['64.15.127.3', 'g'],
  ['64.15.123.128', 'h'],
  ['64.15.123.127', 'g'],
  ['10.0.0.52', 'a'],
  ['10.0.0.220', 'b'],
  ['10.1.0.2', 'a'],
  ['10.1.0.6', 'b'],
  ['10.1.0.10', 'c'],
  ['10.1.0.20', 'd'],
  ['255.255.255.255', 'e'],
  ['0.0.0.0', 'e'],
  ['2607:5300:6006:b0::c05f:543', 'd'],
  ['2607:5300:6006:b0:0:1:c02e:1ee', 'c'],
  ['2607:5300:6006:b1:0:1:c02e:1ee', 'e'],
  ['2404:6800:4004:806::1006', 'f'],
  ['2404:6800:4004:806::1007', 'f'],
  ['2404:6800:4004:806::1008', 'e'],
  ['2404:6800:4004:800::1234', 'g'],
  ['2404:6800:4004:800:0:1::', 'e'],
  ['::1', 'e'],
  ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'e'],
];

for (const [text, wanted] of lookUps) {
  test(`among nested prefixes ${text} belongs to ${wanted}`, (t) => {
    t.is(lookUp(kernel, address(text)), wanted);
  });
}

test('an empty trie finds nobody', (t) => {
  const trie = new AllowedIps<string>();
  t.is(lookUp(trie, address('0.0.0.0')), null);
  t.is(lookUp(trie, address('::')), null);
});

test('an IPv4 prefix never holds an IPv6 address, nor the reverse', (t) => {
  const trie = trieOf({ '0.0.0.0/0': 'four' });
  t.is(lookUp(trie, address('::')), null);
  t.is(lookUp(trie, address('::ffff:10.0.0.1')), null);
  const other = trieOf({ '::/0': 'six', '::ffff:0:0/96': 'mapped' });
  t.is(lookUp(other, address('10.0.0.1')), null);
});

test('host bits of a prefix do not count', (t) => {
  const trie = trieOf({ '10.1.2.3/8': 'x', '2001:db8::ffff/32': 'y' });
  t.is(lookUp(trie, address('10.255.0.0')), 'x');
  t.is(lookUp(trie, address('2001:db8:1::')), 'y');
  remove(trie, '10.9.9.9/8', 'x');
  t.is(lookUp(trie, address('10.255.0.0')), null);
});

// docs/bugs-of-others.md#bug-10: source by the longest prefix.
test('the longest prefix wins, in whatever order they came', (t) => {
  const prefixes = ['0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/16', '10.0.0.0/24', '10.0.0.0/32'];
  for (const order of [prefixes, [...prefixes].reverse()]) {
    const trie = new AllowedIps<string>();
    for (const prefix of order) insert(trie, prefix, prefix);
    t.is(lookUp(trie, address('10.0.0.0')), '10.0.0.0/32');
    t.is(lookUp(trie, address('10.0.0.1')), '10.0.0.0/24');
    t.is(lookUp(trie, address('10.0.1.1')), '10.0.0.0/16');
    t.is(lookUp(trie, address('10.1.1.1')), '10.0.0.0/8');
    t.is(lookUp(trie, address('11.1.1.1')), '0.0.0.0/0');
  }
});

test('a prefix that is given to another peer is taken from the first', (t) => {
  const trie = trieOf({ '10.0.0.2/32': 'old' });
  insert(trie, '10.0.0.2/32', 'new');
  t.is(lookUp(trie, address('10.0.0.2')), 'new');
});

test('a peer that lost a prefix cannot take it from the peer that has it', (t) => {
  const trie = trieOf({ '10.0.0.2/32': 'old' });
  insert(trie, '10.0.0.2/32', 'new');
  remove(trie, '10.0.0.2/32', 'old');
  t.is(lookUp(trie, address('10.0.0.2')), 'new');
});

test('removing a prefix gives its addresses to the prefix around it', (t) => {
  const trie = trieOf({ '10.0.0.0/8': 'wide', '10.0.0.2/32': 'narrow' });
  remove(trie, '10.0.0.2/32', 'narrow');
  t.is(lookUp(trie, address('10.0.0.2')), 'wide');
});

test('removing a prefix does not change those inside and beside it', (t) => {
  const trie = trieOf({
    '10.0.0.0/8': 'x',
    '10.0.0.0/24': 'y',
    '10.128.0.0/24': 'z',
    '11.0.0.0/8': 'w',
  });
  remove(trie, '10.0.0.0/8', 'x');
  t.is(lookUp(trie, address('10.0.0.9')), 'y');
  t.is(lookUp(trie, address('10.128.0.9')), 'z');
  t.is(lookUp(trie, address('10.64.0.9')), null);
  t.is(lookUp(trie, address('11.0.0.9')), 'w');
});

test('removing a prefix that was never there changes nothing', (t) => {
  const trie = trieOf({ '10.0.0.0/8': 'x' });
  for (const prefix of ['10.0.0.0/9', '10.0.0.0/7', '11.0.0.0/8', '0.0.0.0/0'])
    remove(trie, prefix, 'x');
  t.is(lookUp(trie, address('10.0.0.1')), 'x');
});

test('neighbours that differ in the last bit are distinguished, at every bit', (t) => {
  for (let bit = 0; bit < 128; bit++) {
    const trie = new AllowedIps<string>();
    const [zero, one] = [new Uint8Array(16), new Uint8Array(16)];
    one[bit >> 3]! |= 0x80 >> (bit & 7);
    trie.insert(zero, 128, 'zero');
    trie.insert(one, 128, 'one');
    t.is(lookUp(trie, zero), 'zero', `${bit}`);
    t.is(lookUp(trie, one), 'one', `${bit}`);
  }
});

test('a prefix of every length holds exactly its addresses', (t) => {
  const ones = new Uint8Array(16).fill(0xff);
  for (let bits = 0; bits <= 128; bits++) {
    const trie = new AllowedIps<string>();
    trie.insert(ones, bits, 'x');
    t.is(lookUp(trie, ones), 'x');
    if (bits === 0) continue;
    const outside = ones.slice();
    outside[(bits - 1) >> 3]! ^= 0x80 >> ((bits - 1) & 7);
    t.is(lookUp(trie, outside), null, `${bits}`);
  }
});

// ---- a slow list -----------------------------------------------------------------------------

interface Entry {
  bytes: Uint8Array;
  bits: number;
  value: number;
}

/** A list that is searched from beginning to end. */
class SlowAllowedIps {
  #entries: Entry[] = [];

  insert(bytes: Uint8Array, bits: number, value: number): void {
    this.#entries = this.#entries.filter((entry) => !this.#isSame(entry, bytes, bits));
    this.#entries.push({ bytes, bits, value });
  }

  remove(bytes: Uint8Array, bits: number, value: number): void {
    this.#entries = this.#entries.filter(
      (entry) => !(this.#isSame(entry, bytes, bits) && entry.value === value),
    );
  }

  lookUp(bytes: Uint8Array): number | null {
    const holding = this.#entries
      .filter((entry) => isInside(bytes, entry.bytes, entry.bits))
      .sort((a, b) => b.bits - a.bits);
    return holding[0]?.value ?? null;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  #isSame(entry: Entry, bytes: Uint8Array, bits: number): boolean {
    return entry.bits === bits && isInside(bytes, entry.bytes, bits);
  }
}

function isInside(bytes: Uint8Array, prefix: Uint8Array, bits: number): boolean {
  if (bytes.length !== prefix.length) return false;
  for (let bit = 0; bit < bits; bit++) {
    const difference = bytes[bit >> 3]! ^ prefix[bit >> 3]!;
    if ((difference & (0x80 >> (bit & 7))) !== 0) return false;
  }
  return true;
}

/** Addresses that share long prefixes, so that tries grow deep and fork often. */
function crowded(length: 4 | 16): fc.Arbitrary<Uint8Array> {
  const byte = fc.constantFrom(0, 1, 0x80, 0xff);
  return fc.array(byte, { minLength: length, maxLength: length }).map((list) => {
    const bytes = Uint8Array.from(list);
    for (let i = 1; i < length - 2; i++) bytes[i] = bytes[0]!;
    return bytes;
  });
}

const operation = fc.oneof(crowded(4), crowded(16)).chain((bytes) =>
  fc.record({
    kind: fc.constantFrom('insert', 'insert', 'remove'),
    bytes: fc.constant(bytes),
    bits: fc.oneof(fc.nat(bytes.length * 8), fc.constantFrom(0, bytes.length * 8)),
    value: fc.nat(3),
  }),
);

test('after any insertions and removals the answers equal those of the slow list', (t) => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60, size: 'max' }), (operations) => {
      const [trie, twin] = [new AllowedIps<number>(), new SlowAllowedIps()];
      const probes = operations.flatMap(({ bytes }) => [bytes, bytes.map((byte) => byte ^ 1)]);
      const agree = (): boolean =>
        probes.every((probe) => lookUp(trie, probe) === twin.lookUp(probe));
      for (const { kind, bytes, bits, value } of operations) {
        if (kind === 'insert') {
          trie.insert(bytes, bits, value);
          twin.insert(bytes, bits, value);
        } else {
          trie.remove(bytes, bits, value);
          twin.remove(bytes, bits, value);
        }
      }
      if (!agree()) return false;
      for (const { bytes, bits, value } of twin.entries) {
        trie.remove(bytes, bits, value);
        twin.remove(bytes, bits, value);
        if (!agree()) return false;
      }
      return probes.every((probe) => lookUp(trie, probe) === null);
    }),
    { ...SEEDED, numRuns: 300 },
  );
  t.pass();
});

test('ten thousand devices are found, and no longer found when removed', (t) => {
  const random = chance(6);
  const trie = new AllowedIps<number>();
  const devices = Array.from({ length: 10_000 }, () => [
    randomBytes(random, 4),
    randomBytes(random, 16),
  ]).flat();
  for (const [i, bytes] of devices.entries()) trie.insert(bytes, bytes.length * 8, i);
  t.true(devices.every((bytes, i) => lookUp(trie, bytes) === i));
  for (const [i, bytes] of devices.entries()) trie.remove(bytes, bytes.length * 8, i);
  t.true(devices.every((bytes) => lookUp(trie, bytes) === null));
});

test('a look-up allocates nothing', (t) => {
  const random = chance(7);
  const trie = new AllowedIps<object>();
  const value = {};
  for (let i = 0; i < 1_000; i++) {
    trie.insert(randomBytes(random, 4), 32, value);
    trie.insert(randomBytes(random, 16), 128, value);
  }
  let word = 1;
  t.true(
    bytesPerCall(() => {
      word = (Math.imul(word, 1_103_515_245) + 12_345) | 0;
      trie.lookUp4(word);
      trie.lookUp6(word, word, word, word);
    }) < 1,
  );
});
