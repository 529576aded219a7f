// The packet filter: verdict tables for what the rules mean.

import test from 'ava';
import { rulesFor } from '../../support/dataplane/whole-configs.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import {
  judgeAndCount,
  type Row,
  filterOf,
  parsed,
  ports,
  tcp80,
  tcp80to90,
  tcpTo,
  udp53,
  udpTo,
} from '../../support/filter/filtering.ts';

// ---- verdicts --------------------------------------------------------------------------------

const defaults: readonly Row[] = [
  ['no rule, accept by default', {}, udpTo('192.0.2.1'), 'none'],
  ['no rule, drop by default', { default: 'drop' }, udpTo('192.0.2.1'), 'default_drop'],
  [
    'no rule matches, drop by default',
    { own: [rule('1', 'accept', '10.0.0.0/8')], default: 'drop' },
    udpTo('192.0.2.1'),
    'default_drop',
  ],
  [
    'an accept rule, drop by default',
    { own: [rule('1', 'accept', '192.0.2.0/24')], default: 'drop' },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'an empty set of rules',
    { own: [], global: [], default: 'drop' },
    udpTo('192.0.2.1'),
    'default_drop',
  ],
];

const precedence: readonly Row[] = [
  [
    'accept beats drop for the same range',
    { own: [rule('d', 'drop', '192.0.2.0/24'), rule('a', 'accept', '192.0.2.0/24')] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'a wide accept beats a narrow drop',
    { own: [rule('d', 'drop', '192.0.2.1'), rule('a', 'accept', '0.0.0.0/0')] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'drop with ports beats accept',
    { own: [rule('a', 'accept', '192.0.2.0/24'), rule('d', 'drop', '192.0.2.0/24', tcp80)] },
    tcpTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'a wide drop with ports beats a narrow accept',
    { own: [rule('a', 'accept', '192.0.2.1'), rule('d', 'drop', '0.0.0.0/0', tcp80)] },
    tcpTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'accept with ports beats drop with ports',
    { own: [rule('d', 'drop', '192.0.2.0/24', tcp80), rule('a', 'accept', '192.0.2.0/24', tcp80)] },
    tcpTo('192.0.2.1'),
    'none',
  ],
  [
    'a wide accept with ports beats a narrow drop with ports',
    { own: [rule('d', 'drop', '192.0.2.1', tcp80), rule('a', 'accept', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1'),
    'none',
  ],
  [
    'accept with ports beats drop',
    { own: [rule('d', 'drop', '0.0.0.0/0'), rule('a', 'accept', '0.0.0.0/0', tcp80)] },
    tcpTo('192.0.2.1'),
    'none',
  ],
  [
    'accept with ports leaves other ports to drop',
    { own: [rule('d', 'drop', '0.0.0.0/0'), rule('a', 'accept', '0.0.0.0/0', tcp80)] },
    tcpTo('192.0.2.1', 81),
    'rule_drop',
  ],
  [
    'drop with ports leaves other ports to accept',
    {
      own: [rule('d', 'drop', '0.0.0.0/0', tcp80), rule('a', 'accept', '0.0.0.0/0')],
      default: 'drop',
    },
    tcpTo('192.0.2.1', 81),
    'none',
  ],
  [
    'the owner comes before the global rules',
    { own: [rule('1', 'accept', '192.0.2.0/24')], global: [rule('2', 'drop', '192.0.2.0/24')] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'the owner comes before, also with the weaker kind',
    { own: [rule('1', 'drop', '0.0.0.0/0')], global: [rule('2', 'accept', '192.0.2.1', udp53)] },
    udpTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'what the owner does not decide the global rules do',
    { own: [rule('1', 'accept', '10.0.0.0/8')], global: [rule('2', 'drop', '192.0.2.0/24')] },
    udpTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    "the owner's ports do not match, the global rule does",
    {
      own: [rule('1', 'accept', '192.0.2.0/24', tcp80)],
      global: [rule('2', 'drop', '192.0.2.0/24')],
    },
    tcpTo('192.0.2.1', 22),
    'rule_drop',
  ],
];

const ranges: readonly Row[] = [
  [
    'host bits of a destination do not count',
    { own: [rule('1', 'drop', '192.0.2.77/24')] },
    udpTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'host bits of IPv6 do not count',
    { own: [rule('1', 'drop', '2001:db8::dead/32')] },
    udpTo('2001:db8:1::1'),
    'rule_drop',
  ],
  [
    'the first address of a range',
    { own: [rule('1', 'drop', '192.0.2.64/26')] },
    udpTo('192.0.2.64'),
    'rule_drop',
  ],
  [
    'the last address of a range',
    { own: [rule('1', 'drop', '192.0.2.64/26')] },
    udpTo('192.0.2.127'),
    'rule_drop',
  ],
  [
    'one before a range',
    { own: [rule('1', 'drop', '192.0.2.64/26')] },
    udpTo('192.0.2.63'),
    'none',
  ],
  [
    'one behind a range',
    { own: [rule('1', 'drop', '192.0.2.64/26')] },
    udpTo('192.0.2.128'),
    'none',
  ],
  ['one address', { own: [rule('1', 'drop', '192.0.2.1')] }, udpTo('192.0.2.1'), 'rule_drop'],
  ['beside one address', { own: [rule('1', 'drop', '192.0.2.1')] }, udpTo('192.0.2.2'), 'none'],
  [
    'the last address there is',
    { own: [rule('1', 'drop', '255.255.255.254/31')] },
    udpTo('255.255.255.254'),
    'rule_drop',
  ],
  [
    'the last IPv6 address of a range',
    { own: [rule('1', 'drop', '2001:db8::/32')] },
    udpTo('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'),
    'rule_drop',
  ],
  [
    'one behind an IPv6 range',
    { own: [rule('1', 'drop', '2001:db8::/32')] },
    udpTo('2001:db9::'),
    'none',
  ],
  [
    'the lower half of a range that ends inside a word',
    { own: [rule('1', 'drop', '2001:db8:0:8000::/49')] },
    udpTo('2001:db8::1'),
    'none',
  ],
  [
    'the upper half of a range that ends inside a word',
    { own: [rule('1', 'drop', '2001:db8:0:8000::/49')] },
    udpTo('2001:db8:0:8000::1'),
    'rule_drop',
  ],
  [
    'the other half of an IPv6 range',
    { own: [rule('1', 'drop', '2001:db8:8000::/33')] },
    udpTo('2001:db8::1'),
    'none',
  ],
  [
    '0.0.0.0/0 is all IPv4',
    { own: [rule('1', 'drop', '0.0.0.0/0')] },
    udpTo('203.0.113.9'),
    'rule_drop',
  ],
  ['0.0.0.0/0 is no IPv6', { own: [rule('1', 'drop', '0.0.0.0/0')] }, udpTo('2001:db8::1'), 'none'],
  ['::/0 is all IPv6', { own: [rule('1', 'drop', '::/0')] }, udpTo('2001:db8::1'), 'rule_drop'],
  ['::/0 is no IPv4', { own: [rule('1', 'drop', '::/0')] }, udpTo('203.0.113.9'), 'none'],
  [
    'a v4-mapped range is no IPv4',
    { own: [rule('1', 'drop', '::ffff:0:0/96')] },
    udpTo('203.0.113.9'),
    'none',
  ],
  [
    'an accept of all IPv4 says nothing of IPv6',
    { own: [rule('1', 'accept', '0.0.0.0/0')], default: 'drop' },
    udpTo('2001:db8::1'),
    'default_drop',
  ],
];

const nested: readonly Row[] = [
  [
    'a port rule of a wider range holds inside a narrower one',
    {
      own: [
        rule('1', 'drop', '10.0.0.0/8', tcp80),
        rule('2', 'accept', '10.1.0.0/16', { type: 'tcp', first: 443 }),
      ],
    },
    tcpTo('10.1.0.1'),
    'rule_drop',
  ],
  [
    'over two levels',
    {
      own: [
        rule('1', 'drop', '0.0.0.0/0', tcp80),
        rule('2', 'accept', '10.0.0.0/8'),
        rule('3', 'accept', '10.1.0.0/16', { type: 'tcp', first: 443 }),
      ],
    },
    tcpTo('10.1.0.1'),
    'rule_drop',
  ],
  [
    'a narrower range does not hold outside',
    {
      own: [
        rule('1', 'drop', '10.1.0.0/16', tcp80),
        rule('2', 'accept', '10.0.0.0/8', { type: 'tcp', first: 443 }),
      ],
      default: 'accept',
    },
    tcpTo('10.2.0.1'),
    'none',
  ],
  [
    'after a narrower range the wider one goes on',
    { own: [rule('1', 'drop', '10.0.0.0/8'), rule('2', 'drop', '10.1.0.0/16')] },
    udpTo('10.2.0.0'),
    'rule_drop',
  ],
  [
    'between two narrower ranges the wider one holds',
    {
      own: [
        rule('1', 'drop', '10.0.0.0/8'),
        rule('2', 'accept', '10.1.0.0/16'),
        rule('3', 'accept', '10.3.0.0/16'),
      ],
    },
    udpTo('10.2.255.255'),
    'rule_drop',
  ],
  [
    'a drop inside an accept that is only for ports',
    { own: [rule('1', 'accept', '10.0.0.0/8', tcp80), rule('2', 'drop', '10.1.0.0/16')] },
    tcpTo('10.1.0.1', 81),
    'rule_drop',
  ],
];

for (const [title, rows] of Object.entries({
  defaults,
  precedence,
  ranges,
  ports,
  nested,
})) {
  for (const [why, rules, packet, wanted] of rows) {
    test(`${title}: ${why}: ${wanted}`, (t) => {
      t.is(filterOf(rules).judge(packet), wanted);
    });
  }
}

test('the order of rules does not matter', (t) => {
  const rules = [
    rule('1', 'accept', '0.0.0.0/0', tcp80),
    rule('2', 'drop', '10.0.0.0/8', tcp80to90),
    rule('3', 'accept', '10.0.0.0/8'),
    rule('4', 'drop', '0.0.0.0/0'),
  ];
  const packets = ['10.0.0.1', '11.0.0.1'].flatMap((to) =>
    [79, 80, 85, 91].map((port) => tcpTo(to, port)),
  );
  const wanted = packets.map((packet) => filterOf({ own: rules }).judge(packet));
  for (let shift = 1; shift < rules.length; shift++) {
    const turned = [...rules.slice(shift), ...rules.slice(0, shift)].reverse();
    const { judge } = filterOf({ own: turned });
    t.deepEqual(
      packets.map((packet) => judge(packet)),
      wanted,
    );
  }
});

test('one owner is not judged by the rules of another', (t) => {
  const filter = new Filter('accept');
  const [mine, yours] = [filter.hold('mine'), filter.hold('yours')];
  rulesFor(filter)('yours', [rule('1', 'drop', '0.0.0.0/0')]);
  t.is(judgeAndCount(filter, parsed(udpTo('192.0.2.1')), mine), reasons.none);
  t.is(judgeAndCount(filter, parsed(udpTo('192.0.2.1')), yours), reasons.rule_drop);
});
