// The packet filter against a slow twin: random rules, random packets, random changes.

import test from 'ava';
import fc from 'fast-check';
import { GLOBAL_SCOPE, type RuleConfig } from '../../../dataplane/contract.ts';
import { ConfigInForce } from '../../../dataplane/diff.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { PIECE_MAX } from '../../../dataplane/filter/pieces.ts';
import { reasonNames } from '../../../dataplane/reasons.ts';
import { tries } from '../../support/dataplane/seed.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import {
  anyPacket,
  anyRule,
  anyRules,
  innerPacket,
  manyRule,
  numbers,
  packetNear,
} from '../../support/filter/random-rules.ts';
import { slowJudge } from '../../support/filter/slow-filter.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';
import { judgeAndCount, OWNER, filterOf } from '../../support/filter/filtering.ts';

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
    t.deepEqual([...seen].sort(), ['none', 'rule_drop']);
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
  t.deepEqual([...seen].sort(), ['none 0', 'none 1', 'rule_drop 1']);
});

const MANY_RULES = 10_000;
const MANY_PACKETS = tries(500, 2_000);

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
      ...(action === 'accept' ? ['none -'] : []),
      'none global',
      'none own',
      'rule_drop global',
      'rule_drop own',
    ]);
  });
