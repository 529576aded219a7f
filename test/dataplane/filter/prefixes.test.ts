// Prefixes: their bounds and their order, against whole numbers.

import test from 'ava';
import fc from 'fast-check';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { orderOf, partsOf, type Prefix, prefixOf } from '../../../dataplane/filter/prefixes.ts';
import { rule, SEEDED } from '../../support/dataplane/simulation.ts';
import { addressValue } from '../../support/filter/slow-filter.ts';

function prefix(config: RuleConfig): Prefix {
  return prefixOf(config, orderOf(config));
}

test('a prefix has its first and last address and the one behind it', (t) => {
  const { first, lastHex, next } = prefix(rule('1', 'drop', '10.1.2.3/12'));
  t.deepEqual(first, { hex: '0a000000', words: [0x0a000000] });
  t.is(lastHex, '0a0fffff');
  t.deepEqual(next, { hex: '0a100000', words: [0x0a100000] });
});

test('behind the last address there is none', (t) => {
  for (const destination of ['0.0.0.0/0', '255.255.255.255', '::/0', 'ffff::/16'])
    t.is(prefix(rule('1', 'drop', destination)).next, null, destination);
});

test('host bits make no other prefix, its length does', (t) => {
  const order = (destination: string): string => orderOf(rule('1', 'drop', destination));
  t.is(order('10.1.2.3/8'), order('10.0.0.0/8'));
  t.not(order('10.0.0.0/8'), order('10.0.0.0/9'));
});

const anyRule = fc
  .tuple(fc.constantFrom(4, 16), fc.nat(128))
  .chain(([length, bits]) =>
    fc.tuple(
      fc.uint8Array({ minLength: length, maxLength: length }),
      fc.constant(Math.min(bits, length * 8)),
    ),
  )
  .map(([address, prefixBits]) => ({ ...rule('1', 'drop', '0.0.0.0/0'), address, prefixBits }));

test('the bounds are those of whole numbers', (t) => {
  fc.assert(
    fc.property(anyRule, (config) => {
      const bits = BigInt(config.address.length * 8);
      const size = 1n << (bits - BigInt(config.prefixBits));
      const firstValue = (addressValue(config.address) / size) * size;
      const { first, lastHex, next } = prefix(config);
      const hex = (value: bigint): string => value.toString(16).padStart(Number(bits / 4n), '0');
      t.is(first.hex, hex(firstValue));
      t.is(first.words.map((word) => word.toString(16).padStart(8, '0')).join(''), hex(firstValue));
      t.is(lastHex, hex(firstValue + size - 1n));
      t.is(next?.hex, firstValue + size === 1n << bits ? undefined : hex(firstValue + size));
    }),
    SEEDED,
  );
});

test('they sort by first address, then wider before narrower', (t) => {
  const sorted = ['0.0.0.0/0', '9.0.0.0/8', '10.0.0.0/8', '10.0.0.0/16', '10.0.0.0', '10.0.0.1'];
  const orders = sorted.map((destination) => orderOf(rule('1', 'drop', destination)));
  t.deepEqual(orders.toSorted(), orders);
});

test('rules are put together by group once, until they change', (t) => {
  const one = prefix(rule('1', 'drop', '10.0.0.0/8'));
  const web = rule('1', 'drop', '10.0.0.0/8', { type: 'tcp', first: 80 });
  for (const [number, group] of [9, 2, 9].entries()) one.rules.push({ rule: web, number, group });
  const parts = partsOf(one);
  t.deepEqual(
    parts.map(({ group, rules, ports }) => [group, rules.length, ports.ranges]),
    [
      [2, 1, [{ first: 80, last: 80, rule: 1 }]],
      [9, 2, [{ first: 80, last: 80, rule: 0 }]],
    ],
  );
  t.is(partsOf(one), parts);
  one.parts = null;
  t.not(partsOf(one), parts);
});
