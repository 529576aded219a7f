// The port ranges of one prefix: by kind, disjoint, and each port keeps a rule that names it.

import test from 'ava';
import fc from 'fast-check';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import {
  ICMP_ACCEPT,
  ICMP_DROP,
  KINDS,
  type NumberedRule,
  type Ports,
  rangesOf,
  TCP_ACCEPT,
  TCP_DROP,
  UDP_ACCEPT,
  UDP_DROP,
} from '../../../dataplane/filter/ports.ts';
import { rule, SEEDED } from '../../support/dataplane/simulation.ts';

function numbered(...rules: RuleConfig[]): NumberedRule[] {
  return rules.map((one, i) => ({ rule: one, number: 10 + i, group: 0 }));
}

function ranges({ ranges: list }: Ports): [first: number, last: number, rule: number][] {
  return list.map(({ first, last, rule: number }) => [first, last, number]);
}

const PREFIX = '10.0.0.0/8';
const tcp = (first: number, last = first): RuleConfig =>
  rule('1', 'drop', PREFIX, { type: 'tcp', first, last });

test('the kinds of port rules are the places of their ranges', (t) => {
  const kinds = [TCP_ACCEPT, UDP_ACCEPT, ICMP_ACCEPT, TCP_DROP, UDP_DROP, ICMP_DROP];
  t.deepEqual(kinds, [0, 1, 2, 3, 4, 5]);
  t.is(KINDS, 6);
});

test('rules without ports have no ranges', (t) => {
  t.deepEqual(rangesOf(numbered(rule('1', 'drop', PREFIX))), {
    ranges: [],
    ends: [0, 0, 0, 0, 0, 0],
  });
});

test('each kind has its ranges, one kind behind the other', (t) => {
  const ports = rangesOf(
    numbered(
      rule('1', 'drop', PREFIX, { type: 'udp', first: 1 }),
      rule('2', 'accept', PREFIX, { type: 'tcp', first: 2 }),
      rule('3', 'accept', PREFIX),
      rule('4', 'accept', PREFIX, { type: 'udp', first: 4 }),
      rule('5', 'accept', PREFIX, { type: 'tcp', first: 5 }),
      rule('6', 'drop', PREFIX, { type: 'icmp', first: 6 }),
      rule('7', 'accept', PREFIX, { type: 'icmp', first: 7 }),
    ),
  );
  t.deepEqual(ranges(ports), [
    [2, 2, 11],
    [5, 5, 14],
    [4, 4, 13],
    [0, 65_535, 16],
    [1, 1, 10],
    [0, 65_535, 15],
  ]);
  t.deepEqual(ports.ends, [2, 3, 4, 4, 5, 6]);
});

test('ranges that overlap are made disjoint, and each port keeps a rule', (t) => {
  const ports = rangesOf(numbered(tcp(10, 30), tcp(20, 40), tcp(12, 15), tcp(41)));
  t.deepEqual(ranges(ports), [
    [10, 30, 10],
    [31, 40, 11],
    [41, 41, 13],
  ]);
});

test('the highest port is a port', (t) => {
  t.deepEqual(ranges(rangesOf(numbered(tcp(0, 65_535), tcp(65_535)))), [[0, 65_535, 10]]);
});

test('whatever overlaps: ascending, disjoint, and no port is lost, won or given to a stranger', (t) => {
  const port = fc.integer({ min: 0, max: 30 });
  const some = fc.array(fc.tuple(port, port), { maxLength: 12 });
  fc.assert(
    fc.property(some, (pairs) => {
      const rules = pairs.map(([a, b]) => tcp(Math.min(a, b), Math.max(a, b)));
      const found = ranges(rangesOf(numbered(...rules)));
      for (const [i, [first, last]] of found.entries())
        t.true(first <= last && (i === 0 || found[i - 1]![1] < first));
      for (let one = 0; one <= 31; one++) {
        const owner = found.find(([first, last]) => first <= one && one <= last)?.[2];
        const named = rules.flatMap(({ portFirst, portLast }, i) =>
          portFirst <= one && one <= portLast ? [10 + i] : [],
        );
        if (owner === undefined) t.deepEqual(named, []);
        else t.true(named.includes(owner));
      }
    }),
    SEEDED,
  );
});
