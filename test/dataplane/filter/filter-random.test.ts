// The packet filter against a slow twin: random rules, random packets, random changes.

import test from 'ava';
import fc from 'fast-check';
import { GLOBAL_SCOPE, type RuleConfig } from '../../../dataplane/contract.ts';
import { ConfigInForce } from '../../../dataplane/diff.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { PIECE_MAX } from '../../../dataplane/filter/pieces.ts';
import { reasonNames } from '../../../dataplane/reasons.ts';
import { FIRST_FRAGMENT, InnerPacket, LATER_FRAGMENT, WHOLE } from '../../../dataplane/wire/ip.ts';
import { address } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import { addressValue, slowJudge, type SlowPacket } from '../../support/filter/slow-filter.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import { judgeAndCount, OWNER, filterOf } from '../../support/filter/filtering.ts';

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
            const reason = reasonNames[judgeAndCount(filter, innerPacket(packet), scope)]!;
            const wanted = slowJudge(own, global, defaultAction, packet);
            seen.add(reason);
            if (reason !== wanted.reason) return false;
            const hits = withoutNulls(filter.takeHits());
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
  /** Before the packets, the filter that heard of all changes so far ends, and another begins. */
  restarts: fc.nat(7).map((one) => one === 0),
  /** Hits are taken after the packets; otherwise they wait while rules change. */
  takes: fc.boolean(),
});

test('rules that come and go are judged as by the slow twin, and hits are reported of those that did it', (t) => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.constantFrom(1, 2, 3, 8),
      (steps, pieceMax) => {
        const standing = new ConfigInForce(pieceMax);
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
            const reason = reasonNames[judgeAndCount(filter, innerPacket(packet), held)]!;
            if (reason !== wanted.reason) return false;
            if (wanted.rules.length > 0) hits.push(wanted.rules);
            seen.add(`${reason} ${Math.min(1, wanted.rules.length)}`);
          }
          if (!takes) continue;
          const taken = Map.groupBy(withoutNulls(filter.takeHits()), (hit) => hit.id);
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
      const reason = reasonNames[judgeAndCount(filter, innerPacket(packet), scope)]!;
      const hits = withoutNulls(filter.takeHits()).map(({ id }) => id);
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
