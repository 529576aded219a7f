// The packet filter: verdict tables for what the rules mean, a slow twin for everything else.

import test from 'ava';
import fc from 'fast-check';
import { GLOBAL_SCOPE, type RuleConfig, type RuleSample } from '../../../dataplane/contract.ts';
import { Standing } from '../../../dataplane/diff.ts';
import { rulesFor } from '../../support/standing.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { PIECE_MAX } from '../../../dataplane/filter/pieces.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import {
  FIRST_FRAGMENT,
  InnerPacket,
  LATER_FRAGMENT,
  parseInner,
  WHOLE,
} from '../../../dataplane/wire/ip.ts';
import { bytesPerCall } from '../../support/native.ts';
import {
  address,
  echoRequest,
  fragmentHeader,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/packets.ts';
import { rule, SEEDED } from '../../support/simulation.ts';
import { addressValue, slowJudge, type SlowPacket } from '../../support/slow-filter.ts';
import { told } from '../../support/told.ts';
import { chance } from '../../support/world-test.ts';

const OWNER = 'owner';

function parsed(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  const reason = parseInner(viewOf(bytes), 0, bytes.length, packet);
  if (reason !== reasons.none) throw new Error(reasonNames[reason]);
  return packet;
}

interface Rules {
  own?: readonly RuleConfig[];
  global?: readonly RuleConfig[];
  default?: 'accept' | 'drop';
}

/** A filter with these rules in force, and how it judges a packet of the owner. */
function filterOf(
  rules: Rules,
  pieceMax?: number,
): {
  filter: Filter;
  say: ReturnType<typeof rulesFor>;
  judge: (bytes: Uint8Array, at?: number) => ReasonName;
} {
  const filter = new Filter(rules.default ?? 'accept');
  const scope = filter.hold(OWNER);
  const say = rulesFor(filter, pieceMax);
  say(OWNER, rules.own ?? []);
  say(GLOBAL_SCOPE, rules.global ?? []);
  return {
    filter,
    say,
    judge: (bytes, at = 0) => {
      filter.begin(at);
      return reasonNames[filter.judge(parsed(bytes), scope)]!;
    },
  };
}

function from(destination: string): string {
  return destination.includes(':') ? 'fd00::2' : '10.0.0.2';
}

function udpTo(destination: string, destinationPort = 53): Uint8Array {
  return udp({ source: from(destination), destination, destinationPort });
}

function tcpTo(destination: string, destinationPort = 80): Uint8Array {
  return tcp({ source: from(destination), destination, destinationPort });
}

function pingTo(destination: string): Uint8Array {
  return echoRequest(from(destination), destination);
}

const tcp80 = { type: 'tcp', first: 80 } as const;
const tcp80to90 = { type: 'tcp', first: 80, last: 90 } as const;
const udp53 = { type: 'udp', first: 53 } as const;

test('another default is in force at once, and makes all verdicts old', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'accept', '10.0.0.0/8')] });
  const both = (): ReasonName[] => [judge(udpTo('192.0.2.1')), judge(udpTo('10.0.0.1'))];
  t.deepEqual(both(), ['none', 'none']);
  const { version } = filter;
  filter.setDefault('drop');
  t.true(filter.version > version);
  t.deepEqual(both(), ['default_drop', 'none']);
  filter.setDefault('accept');
  t.deepEqual(both(), ['none', 'none']);
});

// ---- verdicts --------------------------------------------------------------------------------

type Row = readonly [why: string, rules: Rules, packet: Uint8Array, wanted: ReasonName];

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

const ports: readonly Row[] = [
  [
    'the first port of a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 80),
    'rule_drop',
  ],
  [
    'the last port of a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 90),
    'rule_drop',
  ],
  [
    'one port before a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 79),
    'none',
  ],
  [
    'one port behind a range',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80to90)] },
    tcpTo('192.0.2.1', 91),
    'none',
  ],
  [
    'port 0',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 0 })] },
    tcpTo('192.0.2.1', 0),
    'rule_drop',
  ],
  [
    'port 65,535',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 65_535 })] },
    tcpTo('192.0.2.1', 65_535),
    'rule_drop',
  ],
  [
    'all ports',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'udp', first: 0, last: 65_535 })] },
    udpTo('192.0.2.1', 9),
    'rule_drop',
  ],
  [
    'a TCP rule and a UDP packet',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 53 })] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'a UDP rule and a TCP packet',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'udp', first: 80 })] },
    tcpTo('192.0.2.1'),
    'none',
  ],
  [
    'it is the destination port that counts',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'udp', first: 4_000 })] },
    udpTo('192.0.2.1'),
    'none',
  ],
  [
    'a port rule and a ping',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 0, last: 65_535 })] },
    pingTo('192.0.2.1'),
    'none',
  ],
  [
    'an accept with ports does not accept a ping',
    { own: [rule('1', 'accept', '0.0.0.0/0', tcp80)], default: 'drop' },
    pingTo('192.0.2.1'),
    'default_drop',
  ],
  [
    'a rule without ports and a ping',
    { own: [rule('1', 'drop', '0.0.0.0/0')] },
    pingTo('192.0.2.1'),
    'rule_drop',
  ],
  [
    'a rule without ports and a ping over IPv6',
    { own: [rule('1', 'drop', '::/0')] },
    pingTo('2001:db8::1'),
    'rule_drop',
  ],
  [
    'another protocol, GRE',
    { own: [rule('1', 'drop', '0.0.0.0/0')] },
    ip({ source: '10.0.0.2', destination: '192.0.2.1', protocol: 47, payload: new Uint8Array(8) }),
    'rule_drop',
  ],
  [
    'SCTP has no ports that we know',
    { own: [rule('1', 'drop', '0.0.0.0/0', { type: 'tcp', first: 0, last: 65_535 })] },
    ip({
      source: '10.0.0.2',
      destination: '192.0.2.1',
      protocol: 132,
      payload: new Uint8Array(16),
    }),
    'none',
  ],
  [
    'ports over IPv6',
    { own: [rule('1', 'drop', '2001:db8::/32', tcp80)] },
    tcpTo('2001:db8::1'),
    'rule_drop',
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

const plainFragment = ip({
  source: '10.0.0.2',
  destination: '192.0.2.1',
  protocol: 17,
  payload: new Uint8Array(16),
  fragment: 8,
});
const pingFragment = ip({
  source: '10.0.0.2',
  destination: '192.0.2.1',
  protocol: 1,
  payload: new Uint8Array(16),
  fragment: 8,
});
const firstFragment = udp({
  source: '10.0.0.2',
  destination: '192.0.2.1',
  destinationPort: 53,
  fragment: 0x2000,
});
const fragment6 = udp({
  source: 'fd00::2',
  destination: '2001:db8::1',
  extensions: [fragmentHeader(4, false)],
});

const fragments: readonly Row[] = [
  [
    'a first fragment shows its ports',
    { own: [rule('1', 'drop', '0.0.0.0/0', udp53)] },
    firstFragment,
    'rule_drop',
  ],
  [
    'a first fragment whose ports no rule names',
    { own: [rule('1', 'drop', '0.0.0.0/0', tcp80)] },
    firstFragment,
    'none',
  ],
  [
    'a later fragment where a port rule covers its destination',
    { own: [rule('1', 'accept', '192.0.2.0/24', udp53)] },
    plainFragment,
    'inner_fragment_unsafe',
  ],
  [
    'a later fragment where a port rule of the other protocol does',
    { own: [rule('1', 'accept', '192.0.2.0/24', tcp80)] },
    plainFragment,
    'inner_fragment_unsafe',
  ],
  [
    'a later fragment where a wider port rule does',
    { own: [rule('1', 'drop', '0.0.0.0/0', udp53), rule('2', 'accept', '192.0.2.0/24')] },
    plainFragment,
    'inner_fragment_unsafe',
  ],
  [
    'a later fragment where a global port rule does',
    { global: [rule('1', 'drop', '192.0.2.0/24', udp53)] },
    plainFragment,
    'inner_fragment_unsafe',
  ],
  [
    'a later fragment where only another destination has port rules',
    { own: [rule('1', 'drop', '10.0.0.0/8', udp53)] },
    plainFragment,
    'none',
  ],
  [
    'a later fragment and an accept without ports',
    { own: [rule('1', 'accept', '192.0.2.0/24')], default: 'drop' },
    plainFragment,
    'none',
  ],
  [
    'a later fragment and a drop without ports',
    { own: [rule('1', 'drop', '192.0.2.0/24')] },
    plainFragment,
    'rule_drop',
  ],
  [
    'a later fragment of ICMP needs no ports',
    { own: [rule('1', 'drop', '192.0.2.0/24', udp53)] },
    pingFragment,
    'none',
  ],
  [
    'a later IPv6 fragment where a port rule covers its destination',
    { own: [rule('1', 'accept', '::/0', udp53)] },
    fragment6,
    'inner_fragment_unsafe',
  ],
  [
    'a later IPv6 fragment among IPv4 port rules',
    { own: [rule('1', 'accept', '0.0.0.0/0', udp53)] },
    fragment6,
    'none',
  ],
];

for (const [title, rows] of Object.entries({
  defaults,
  precedence,
  ranges,
  ports,
  nested,
  fragments,
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
  t.is(filter.judge(parsed(udpTo('192.0.2.1')), mine), reasons.none);
  t.is(filter.judge(parsed(udpTo('192.0.2.1')), yours), reasons.rule_drop);
});

// ---- a slow twin -----------------------------------------------------------------------------

function innerPacket(packet: SlowPacket): InnerPacket {
  const inner = new InnerPacket();
  const word = (shift: bigint): number => Number(BigInt.asIntN(32, packet.destination >> shift));
  inner.version = packet.version;
  inner.length = 100;
  inner.protocol = packet.protocol;
  inner.fragment = packet.fragment;
  inner.destinationPort = packet.port;
  if (packet.version === 4) inner.destination0 = word(0n);
  else {
    inner.destination0 = word(96n);
    inner.destination1 = word(64n);
    inner.destination2 = word(32n);
    inner.destination3 = word(0n);
  }
  return inner;
}

/** Addresses that are close together, so that random ranges nest and random packets hit them. */
function crowdedAddress(length: 4 | 16): fc.Arbitrary<Uint8Array> {
  const byte = fc.constantFrom(0, 1, 0x7f, 0x80, 0xff);
  return fc.tuple(byte, byte, byte, fc.nat(255)).map(([a, b, c, d]) => {
    const bytes = new Uint8Array(length).fill(a);
    bytes.set([b, c, d], length - 3);
    return bytes;
  });
}

const anyAddress = fc.oneof(crowdedAddress(4), crowdedAddress(16));
const anyPort = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(65_534, 65_535));

const anyRule = fc
  .record({
    action: fc.constantFrom('accept' as const, 'drop' as const),
    address: anyAddress,
    bits: fc.oneof(fc.nat(128), fc.constantFrom(0, 8, 24, 30, 31, 32, 96, 120, 127, 128)),
    portType: fc.constantFrom(null, null, 'tcp' as const, 'udp' as const),
    ports: fc.tuple(anyPort, anyPort),
  })
  .map((fields): Omit<RuleConfig, 'id'> => ({
    action: fields.action,
    address: fields.address,
    prefixBits: Math.min(fields.bits, fields.address.length * 8),
    portType: fields.portType,
    portFirst: Math.min(...fields.ports),
    portLast: Math.max(...fields.ports),
  }));

function anyRules(prefix: string, maxLength: number): fc.Arbitrary<RuleConfig[]> {
  return fc
    .array(anyRule, { maxLength, size: 'max' })
    .map((list) => list.map((fields, i) => ({ id: `${prefix}${i}`, ...fields })));
}

const anyPacket: fc.Arbitrary<SlowPacket> = fc
  .record({
    destination: anyAddress,
    protocol: fc.constantFrom(1, 6, 6, 17, 17, 58, 47),
    port: anyPort,
    fragment: fc.constantFrom(WHOLE, WHOLE, WHOLE, FIRST_FRAGMENT, LATER_FRAGMENT),
  })
  .map(({ destination, ...rest }) => ({
    ...rest,
    version: destination.length === 4 ? (4 as const) : (6 as const),
    destination: addressValue(destination),
  }));

for (const [title, maxRules, numRuns] of [
  ['a few rules', 12, 400],
  ['several hundred rules', 400, 12],
] as const) {
  test(`${title} judge any packets as the slow twin does, and count the rule that decided`, (t) => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        anyRules('own', maxRules),
        anyRules('global', maxRules),
        fc.constantFrom('accept' as const, 'drop' as const),
        fc.array(anyPacket, { minLength: 60, maxLength: 60 }),
        fc.constantFrom(1, 2, 3, 8, PIECE_MAX),
        (own, global, defaultAction, packets, pieceMax) => {
          const { filter } = filterOf({ own, global, default: defaultAction }, pieceMax);
          const scope = filter.hold(OWNER);
          for (const packet of packets) {
            const reason = reasonNames[filter.judge(innerPacket(packet), scope)]!;
            const wanted = slowJudge(own, global, defaultAction, packet);
            seen.add(reason);
            if (reason !== wanted.reason) return false;
            const hits = told(filter.takeHits());
            if (hits.length !== Math.min(1, wanted.rules.length)) return false;
            if (hits.some((hit) => !wanted.rules.includes(hit.id))) return false;
          }
          return true;
        },
      ),
      { ...SEEDED, numRuns },
    );
    // Among several hundred random rules there is one for everything.
    t.is(seen.delete('default_drop'), maxRules < 100);
    t.deepEqual([...seen].sort(), ['inner_fragment_unsafe', 'none', 'rule_drop']);
  });
}

/** What a random course of changes does next. */
const anyStep = fc.record({
  scope: fc.constantFrom(OWNER, OWNER, GLOBAL_SCOPE),
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'),
  rules: fc.array(anyRule, { maxLength: 2 }),
  packets: fc.array(anyPacket, { maxLength: 12 }),
  /** Before the packets, who was told of all changes so far ends, and another one begins. */
  restarts: fc.nat(7).map((one) => one === 0),
  /** Hits are taken after the packets; otherwise they wait while rules change. */
  takes: fc.boolean(),
});

test('rules that come and go are judged as by the slow twin, and hits are told of those that did it', (t) => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.constantFrom(1, 2, 3, 8),
      (steps, pieceMax) => {
        const standing = new Standing(pieceMax);
        const all = { [OWNER]: [] as RuleConfig[], [GLOBAL_SCOPE]: [] as RuleConfig[] };
        let filter = new Filter('accept');
        let held = filter.hold(OWNER);
        /** Of each hit that was not taken yet: who may have done it. */
        let hits: (readonly string[])[] = [];
        for (const { scope, id, rules, packets, restarts, takes } of steps) {
          all[scope] = all[scope]!.filter((one) => one.id !== id);
          all[scope].push(...rules.map((fields) => ({ ...fields, id })));
          let { scopes } = standing.replace({
            peers: new Map(),
            rules: new Map(Object.entries(all)),
          });
          if (restarts) {
            filter = new Filter('accept');
            held = filter.hold(OWNER);
            hits = [];
            ({ scopes } = standing.fromNothing());
          }
          for (const { name, compiled } of scopes) filter.change(name, compiled);
          for (const packet of packets) {
            const wanted = slowJudge(all[OWNER]!, all[GLOBAL_SCOPE]!, 'accept', packet);
            const reason = reasonNames[filter.judge(innerPacket(packet), held)]!;
            if (reason !== wanted.reason) return false;
            if (wanted.rules.length > 0) hits.push(wanted.rules);
            seen.add(`${reason} ${Math.min(1, wanted.rules.length)}`);
          }
          if (!takes) continue;
          const taken = Map.groupBy(told(filter.takeHits()), (hit) => hit.id);
          let sum = 0;
          for (const [rule, samples] of taken) {
            const packetsOf = samples.reduce((count, one) => count + one.packets, 0);
            if (packetsOf > hits.filter((ids) => ids.includes(rule)).length) return false;
            sum += packetsOf;
          }
          if (sum !== hits.length) return false;
          hits = [];
        }
        return true;
      },
    ),
    { ...SEEDED, numRuns: 500 },
  );
  t.deepEqual([...seen].sort(), ['inner_fragment_unsafe 0', 'none 0', 'none 1', 'rule_drop 1']);
});

const MANY_RULES = 10_000;
const MANY_PACKETS = 2_000;

/** Whole numbers below a bound, from the seed; each number begins others. */
function numbers(number: number): (below: number) => number {
  const random = chance(number);
  const word = new DataView(new ArrayBuffer(4));
  return (below) => {
    random(new Uint8Array(word.buffer));
    return word.getUint32(0) % below;
  };
}

type Choose = ReturnType<typeof numbers>;

/** Bits of a prefix's host part: most prefixes are small, a few hold hundreds of others. */
const MANY_HOST_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 12];

/** A rule of either family, in so little space that rules nest and both scopes meet. */
function manyRule(id: string, choose: Choose): RuleConfig {
  const bytes = choose(2) === 0 ? address('10.0.0.0') : address('fd00::');
  const last = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4);
  last.setUint32(0, last.getUint32(0) + choose(1 << 22));
  const portFirst = choose(65_536);
  return {
    id,
    action: choose(2) === 0 ? 'accept' : 'drop',
    address: bytes,
    prefixBits: bytes.length * 8 - MANY_HOST_BITS[choose(MANY_HOST_BITS.length)]!,
    portType: ([null, 'tcp', 'udp'] as const)[choose(3)]!,
    portFirst,
    portLast: Math.min(65_535, portFirst + choose(2) * choose(20_000)),
  };
}

/** A packet to the first or last address or port of a rule, inside it, or one beside it. */
function packetNear(near: RuleConfig, choose: Choose): SlowPacket {
  const size = 1n << BigInt(near.address.length * 8 - near.prefixBits);
  const first = (addressValue(near.address) / size) * size;
  const last = first + size - 1n;
  const inside = first + BigInt(choose(Number(size)));
  const { portFirst, portLast } = near;
  const ports = [portFirst - 1, portFirst, portFirst, portLast, portLast, portLast + 1];
  return {
    version: near.address.length === 4 ? 4 : 6,
    destination: [first - 1n, first, inside, inside, last, last + 1n][choose(6)]!,
    protocol: [1, 6, 6, 6, 17, 17, 17, 58][choose(8)]!,
    port: Math.min(65_535, Math.max(0, ports[choose(6)]!)),
    fragment: [WHOLE, WHOLE, WHOLE, WHOLE, FIRST_FRAGMENT, LATER_FRAGMENT][choose(6)]!,
  };
}

for (const action of ['accept', 'drop'] as const)
  test(`10,000 rules in each scope judge packets near them as the slow twin does, ${action} by default`, (t) => {
    const choose = numbers(action === 'accept' ? 10 : 11);
    const rules = (prefix: string): RuleConfig[] =>
      Array.from({ length: MANY_RULES }, (_, i) => manyRule(`${prefix}${i}`, choose));
    const [own, global] = [rules('own'), rules('global')];
    const { filter } = filterOf({ own, global, default: action });
    const scope = filter.hold(OWNER);
    const seen = new Set<string>();
    const wrong: unknown[] = [];
    for (let i = 0; i < MANY_PACKETS; i++) {
      const near = [own, global][choose(2)]![choose(MANY_RULES)]!;
      const packet = packetNear(near, choose);
      const wanted = slowJudge(own, global, action, packet);
      const reason = reasonNames[filter.judge(innerPacket(packet), scope)]!;
      const hits = told(filter.takeHits()).map(({ id }) => id);
      const isRight =
        reason === wanted.reason &&
        hits.length === Math.min(1, wanted.rules.length) &&
        hits.every((id) => wanted.rules.includes(id));
      if (!isRight) wrong.push({ reason, hits, wanted, packet, near });
      // Of several rules that say the same any one may be counted; of one, that one.
      if (wanted.rules.length <= 1) seen.add(`${reason} ${hits[0]?.replace(/\d+/, '') ?? '-'}`);
    }
    t.deepEqual(wrong.slice(0, 1), []);
    t.deepEqual([...seen].sort(), [
      ...(action === 'drop' ? ['default_drop -'] : []),
      'inner_fragment_unsafe -',
      ...(action === 'accept' ? ['none -'] : []),
      'none global',
      'none own',
      'rule_drop global',
      'rule_drop own',
    ]);
  });

// ---- counters --------------------------------------------------------------------------------

test('a rule counts packets, bytes and its last hit', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'drop', '0.0.0.0/0')] });
  judge(udpTo('192.0.2.1'), 1_000);
  judge(tcpTo('192.0.2.1'), 2_000);
  t.deepEqual(told(filter.takeHits()), [{ id: '1', packets: 2, bytes: 28 + 40, lastHitMs: 2_000 }]);
});

test('a sample takes the hits, so that the next one begins at zero', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'accept', '0.0.0.0/0')] });
  judge(udpTo('192.0.2.1'), 1);
  told(filter.takeHits());
  t.deepEqual(told(filter.takeHits()), []);
  judge(udpTo('192.0.2.1'), 7);
  t.deepEqual(told(filter.takeHits()), [{ id: '1', packets: 1, bytes: 28, lastHitMs: 7 }]);
});

test('only the rule that decided is hit, of the owner or global', (t) => {
  const { filter, judge } = filterOf({
    own: [rule('own', 'accept', '10.0.0.0/8')],
    global: [rule('global', 'drop', '0.0.0.0/0'), rule('six', 'drop', '::/0')],
  });
  judge(udpTo('10.0.0.9'));
  judge(udpTo('192.0.2.1'));
  judge(udpTo('192.0.2.1'));
  const hits = told(filter.takeHits()).map(({ id, packets }) => `${id} ${packets}`);
  t.deepEqual(hits.sort(), ['global 2', 'own 1']);
});

test('the default and an unsafe fragment hit no rule', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'drop', '192.0.2.0/24', udp53)] });
  judge(plainFragment);
  judge(udpTo('203.0.113.1'));
  t.deepEqual(told(filter.takeHits()), []);
});

test('hits that were counted before a change are not lost by it', (t) => {
  const { filter, judge, say } = filterOf({ own: [rule('1', 'drop', '0.0.0.0/0')] });
  judge(udpTo('192.0.2.1'), 5);
  say(OWNER, []);
  t.deepEqual(told(filter.takeHits()), [{ id: '1', packets: 1, bytes: 28, lastHitMs: 5 }]);
  t.deepEqual(told(filter.takeHits()), []);
});

test('a rule that stays while its neighbours change loses no hit and counts none twice', (t) => {
  const stays = rule('stays', 'drop', '0.0.0.0/0');
  const { filter, judge, say } = filterOf({ own: [stays] });
  const total = (samples: readonly RuleSample[]): number =>
    samples.reduce((sum, { packets }) => sum + packets, 0);
  judge(udpTo('192.0.2.1'));
  say(OWNER, [stays, rule('2', 'drop', '::/0')]);
  judge(udpTo('192.0.2.1'));
  t.is(total(told(filter.takeHits())), 2);
  t.is(total(told(filter.takeHits())), 0);
});

// ---- change ----------------------------------------------------------------------------------

test('rules that are swapped hold from the next packet on, for those who hold the scope already', (t) => {
  const { judge, say } = filterOf({});
  t.is(judge(udpTo('192.0.2.1')), 'none');
  say(OWNER, [rule('1', 'drop', '0.0.0.0/0')]);
  t.is(judge(udpTo('192.0.2.1')), 'rule_drop');
  say(OWNER, [rule('1', 'accept', '0.0.0.0/0')]);
  t.is(judge(udpTo('192.0.2.1')), 'none');
  say(OWNER, [rule('1', 'drop', '0.0.0.0/0')]);
  say(OWNER, []);
  t.is(judge(udpTo('192.0.2.1')), 'none');
});

test('rules may come before their owner has any device', (t) => {
  const filter = new Filter('accept');
  rulesFor(filter)('later', [rule('1', 'drop', '0.0.0.0/0')]);
  t.is(filter.judge(parsed(udpTo('192.0.2.1')), filter.hold('later')), reasons.rule_drop);
});

test("an owner's last device may go and another come, the rules stay", (t) => {
  const filter = new Filter('accept');
  rulesFor(filter)(OWNER, [rule('1', 'drop', '0.0.0.0/0')]);
  filter.release(filter.hold(OWNER));
  t.is(filter.judge(parsed(udpTo('192.0.2.1')), filter.hold(OWNER)), reasons.rule_drop);
});

test('a scope that is held stays the same object when its rules go and come', (t) => {
  const filter = new Filter('accept');
  const held = filter.hold(OWNER);
  const say = rulesFor(filter);
  say(OWNER, [rule('1', 'drop', '0.0.0.0/0')]);
  say(OWNER, []);
  t.is(filter.hold(OWNER), held);
});

test('a scope without rules and devices is forgotten', (t) => {
  const filter = new Filter('accept');
  const first = filter.hold(OWNER);
  filter.release(first);
  t.not(filter.hold(OWNER), first);
});

test('a device in the global scope is judged by the global rules', (t) => {
  const filter = new Filter('accept');
  rulesFor(filter)(GLOBAL_SCOPE, [rule('1', 'drop', '0.0.0.0/0')]);
  const scope = filter.hold(GLOBAL_SCOPE);
  t.is(filter.judge(parsed(udpTo('192.0.2.1')), scope), reasons.rule_drop);
  filter.release(scope);
  t.is(filter.judge(parsed(udpTo('192.0.2.1')), filter.hold('x')), reasons.rule_drop);
});

// ---- cost ------------------------------------------------------------------------------------

test('a decision among a thousand rules allocates nothing', (t) => {
  const rules = Array.from({ length: 1_000 }, (_, i) => [
    rule(`a${i}`, 'accept', `10.${i >> 8}.${i & 255}.0/24`, { type: 'tcp', first: i }),
    rule(`b${i}`, 'drop', `fd00:${i.toString(16)}::/32`),
  ]).flat();
  const { filter } = filterOf({ own: rules, global: [rule('g', 'drop', '0.0.0.0/0')] });
  const scope = filter.hold(OWNER);
  const packets = [tcpTo('10.1.7.9', 263), udpTo('fd00:77::1'), pingTo('192.0.2.1')].map(parsed);
  t.true(
    bytesPerCall(() => {
      for (const packet of packets) filter.judge(packet, scope);
    }) < 1,
  );
});

test('a decision reads hardly more of 10,000 rules than of 10', (t) => {
  const readsAmong = (count: number): number => {
    const rules = Array.from({ length: count }, (_, i) =>
      rule(`${i}`, 'accept', `10.${i >> 8}.${i & 255}.0/24`, { type: 'tcp', first: i }),
    );
    const { filter } = filterOf({ own: rules });
    const scope = filter.hold(OWNER);
    let reads = 0;
    const counted = (object: object): void => {
      for (const [name, array] of Object.entries(object))
        if (ArrayBuffer.isView(array))
          Object.assign(object, {
            [name]: new Proxy(array, {
              get(target, key) {
                reads += key === 'length' ? 0 : 1;
                return Reflect.get(target, key, target) as unknown;
              },
            }),
          });
    };
    counted(scope.ipv4!);
    scope.ipv4!.pieces.forEach(counted);
    t.is(filter.judge(parsed(tcpTo('10.0.5.5', 5)), scope), reasons.none);
    return reads;
  };
  const few = readsAmong(10);
  t.true(few > 3, `${few}`);
  // The logarithm of the number of intervals grows from 4 or 5 to 14 or 15.
  t.true(readsAmong(10_000) <= few + 11, `${readsAmong(10_000)} after ${few}`);
});

test('bytes of an address are its words', (t) => {
  t.is(addressValue(address('1.2.3.4')), 0x01020304n);
});
