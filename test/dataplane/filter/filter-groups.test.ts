// Rules of groups: asked after those of the owner and before those of everyone, all groups of the
// owner as one scope. With random rules and packets: as a slow twin judges.

import test from 'ava';
import fc from 'fast-check';
import { GLOBAL_SCOPE, groupScope, type RuleConfig } from '../../../dataplane/contract.ts';
import { ConfigInForce } from '../../../dataplane/diff.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { reasonNames } from '../../../dataplane/reasons.ts';
import { tries } from '../../support/dataplane/seed.ts';
import { rule, SEEDED } from '../../support/dataplane/simulation.ts';
import {
  filterOf,
  judgeAndCount,
  OWNER,
  parsed,
  type Rules,
  tcp80,
  tcpTo,
} from '../../support/filter/filtering.ts';
import {
  anyPacket,
  anyRule,
  innerPacket,
  manyRule,
  numbers,
  packetNear,
} from '../../support/filter/random-rules.ts';
import { slowJudge } from '../../support/filter/slow-filter.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';

const WEB = tcpTo('192.0.2.1', 80);

/** How a packet of an owner who is in groups 1 and 2 is judged, and by which rule. */
function judged(rules: Rules, first: RuleConfig[], second: RuleConfig[], packet = WEB): string {
  const { filter, say } = filterOf(rules);
  say(groupScope(1), first);
  say(groupScope(2), second);
  say(groupScope(3), [rule('other', 'drop', '0.0.0.0/0')]);
  const scope = filter.hold(OWNER);
  filter.join(scope, '\u0001\u0002');
  const reason = reasonNames[filter.decide(parsed(packet), scope)];
  return `${reason} ${filter.idOf(filter.matched, scope)}`;
}

test('the rules of groups come after those of the owner and before those of everyone', (t) => {
  const [accept, drop] = (['accept', 'drop'] as const).map((action) =>
    rule(action, action, '192.0.2.0/24'),
  );
  t.is(judged({ own: [accept!] }, [drop!], []), 'none accept');
  t.is(judged({ global: [accept!] }, [drop!], []), 'rule_drop drop');
  t.is(judged({ global: [accept!] }, [], [drop!]), 'rule_drop drop');
  t.is(judged({ global: [accept!], default: 'drop' }, [], []), 'none accept');
  t.is(judged({ default: 'drop' }, [], []), 'default_drop null');
});

test('of the rules of several groups the class decides, and not the group', (t) => {
  const all = '192.0.2.0/24';
  const classes = [
    rule('0', 'accept', all, tcp80),
    rule('1', 'drop', all, tcp80),
    rule('2', 'accept', all),
    rule('3', 'drop', all),
  ];
  for (const [i, one] of classes.entries())
    for (const other of classes.slice(i + 1)) {
      const wanted = `${one.action === 'accept' ? 'none' : 'rule_drop'} ${one.id}`;
      t.is(judged({}, [one], [other]), wanted);
      t.is(judged({}, [other], [one]), wanted);
    }
  t.is(judged({}, [classes[2]!], [{ ...classes[2]!, id: '4' }]), 'none 2');
});

test('who leaves a group is judged without it at once', (t) => {
  const { filter, say } = filterOf({});
  say(groupScope(7), [rule('1', 'drop', '0.0.0.0/0')]);
  const scope = filter.hold(OWNER);
  const judge = (): string => reasonNames[filter.decide(parsed(WEB), scope)]!;
  const versions = [filter.version];
  filter.join(scope, '\u0007');
  versions.push(filter.version);
  t.is(judge(), 'rule_drop');
  filter.join(scope, '');
  versions.push(filter.version);
  t.is(judge(), 'none');
  filter.join(scope, '');
  t.is(filter.version, versions[2]!, 'nothing changed');
  t.is(new Set(versions).size, 3);
});

/** On both sides of what the filter keeps as bits. */
const GROUPS = [0, 7, 29, 30, 61];

/** What a random course of changes does next. */
const anyStep = fc.record({
  scope: fc.constantFrom(OWNER, GLOBAL_SCOPE, ...GROUPS.map((number) => groupScope(number))),
  id: fc.nat(6),
  rules: fc.array(anyRule, { maxLength: 2 }),
  groups: fc.subarray(GROUPS),
  packets: fc.array(anyPacket, { maxLength: 12 }),
  restarts: fc.nat(7).map((one) => one === 0),
});

test('rules and memberships that come and go are judged as by the slow twin', (t) => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(
      fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.constantFrom(1, 2, 8),
      fc.constantFrom('accept' as const, 'drop' as const),
      (steps, pieceMax, defaultAction) => {
        const standing = new ConfigInForce(pieceMax);
        const all = new Map<string, RuleConfig[]>();
        let filter = new Filter(defaultAction);
        let held = filter.hold(OWNER);
        for (const { scope, id, rules, groups, packets, restarts } of steps) {
          const name = `${scope} ${id}`;
          const others = (all.get(scope) ?? []).filter((one) => one.id !== name);
          all.set(scope, [...others, ...rules.map((fields) => ({ ...fields, id: name }))]);
          let { scopes } = standing.replace({ peers: new Map(), rules: all });
          if (restarts) {
            filter = new Filter(defaultAction);
            held = filter.hold(OWNER);
            ({ scopes } = standing.fromNothing());
          }
          for (const { name: changed, compiled } of scopes) filter.change(changed, compiled);
          filter.join(held, String.fromCharCode(...groups));
          const ofGroups = groups.flatMap((number) => all.get(groupScope(number)) ?? []);
          for (const packet of packets) {
            const [own = [], global = []] = [all.get(OWNER), all.get(GLOBAL_SCOPE)];
            const wanted = slowJudge(own, global, defaultAction, packet, ofGroups);
            const reason = reasonNames[judgeAndCount(filter, innerPacket(packet), held)]!;
            const hits = withoutNulls(filter.takeHits());
            const place = wanted.rules[0]?.split(' ')[0]?.replace(/\d/, '') ?? '-';
            seen.set(`${reason} ${place}`, (seen.get(`${reason} ${place}`) ?? 0) + 1);
            const isRight =
              reason === wanted.reason &&
              hits.length === Math.min(1, wanted.rules.length) &&
              hits.every((hit) => wanted.rules.includes(hit.id));
            if (!isRight) return false;
          }
        }
        return true;
      },
    ),
    { ...SEEDED, numRuns: 300 },
  );
  for (const one of ['none #', 'rule_drop #', `none ${OWNER}`, 'none ', 'rule_drop '])
    t.true((seen.get(one) ?? 0) > 50, one);
});

const USERS = 200;
const RULES_OF_ALL = 10_000;
const MANY_PACKETS = tries(15_000, 100_000);
const numberOf = (group: number): number => 3 * group;

test(`${MANY_PACKETS} packets of users in groups with 10,000 rules are judged as by the slow twin`, (t) => {
  const choose = numbers(12);
  const { filter, say } = filterOf({ default: 'accept' });
  const groups = Array.from({ length: 20 }, (_, group) =>
    Array.from({ length: RULES_OF_ALL / 20 }, (_, i) => manyRule(`${group}.${i}`, choose)),
  );
  for (const [i, rules] of groups.entries()) say(groupScope(numberOf(i)), rules);
  const global = Array.from({ length: 50 }, (_, i) => manyRule(`all.${i}`, choose));
  say(GLOBAL_SCOPE, global);
  const users = Array.from({ length: USERS }, (_, i) => {
    const own = Array.from({ length: choose(3) }, (_, n) => manyRule(`own.${n}`, choose));
    const chosen = [...groups.keys()].filter(() => choose(5) === 0);
    const scope = filter.hold(`user ${i}`);
    say(scope.name, own);
    filter.join(scope, String.fromCharCode(...chosen.map(numberOf)));
    return { scope, own, ofGroups: chosen.flatMap((group) => groups[group]!) };
  });
  const wrong: unknown[] = [];
  const seen = new Set<string>();
  for (let i = 0; i < MANY_PACKETS; i++) {
    const { scope, own, ofGroups } = users[choose(USERS)]!;
    const rules = [own, ofGroups, ofGroups, ofGroups, global][choose(5)]!;
    if (rules.length === 0) continue;
    const packet = packetNear(rules[choose(rules.length)]!, choose);
    const wanted = slowJudge(own, global, 'accept', packet, ofGroups);
    const reason = reasonNames[filter.decide(innerPacket(packet), scope)]!;
    const id = filter.idOf(filter.matched, scope);
    const isKnown = id === null ? wanted.rules.length === 0 : wanted.rules.includes(id);
    if (reason !== wanted.reason || !isKnown) wrong.push({ reason, id, wanted, packet });
    seen.add(`${reason} ${id?.replace(/\.\d+/, '').replace(/\d+/, 'group') ?? '-'}`);
  }
  t.deepEqual(wrong.slice(0, 1), []);
  for (const one of ['none group', 'rule_drop group', 'none own', 'none all', 'none -'])
    t.true(seen.has(one), one);
});
