// Staged rules: they decide nothing, and it is counted what they would decide. With random rules
// and packets: as a slow twin says, which asks all rules as if they were enforced.

import test from 'ava';
import {
  GLOBAL_SCOPE,
  groupScope,
  type RuleConfig,
  stagedScope,
} from '../../../dataplane/contract.ts';
import { type Filter, NO_RULE, type Scope } from '../../../dataplane/filter/filter.ts';
import { reasonNames } from '../../../dataplane/reasons.ts';
import type { InnerPacket } from '../../../dataplane/wire/ip.ts';
import { echoRequest } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { filterOf, icmp, OWNER, parsed, tcp80, tcpTo } from '../../support/filter/filtering.ts';
import { innerPacket, manyRule, numbers, packetNear } from '../../support/filter/random-rules.ts';
import {
  slowJudge,
  type SlowPacket,
  type SlowRules,
  slowStaged,
} from '../../support/filter/slow-filter.ts';
import { Bench } from '../../support/filter/tracking.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';

const WEB = tcpTo('192.0.2.1', 80);
const ALL = '192.0.2.0/24';
const GROUP = groupScope(1);

/** How the packets of an owner in group 1 are judged, by which rule, and by which staged one. */
function judged(rules: Readonly<Record<string, readonly RuleConfig[]>>, packet = WEB): string {
  const { filter, say } = filterOf({});
  for (const [name, ofScope] of Object.entries(rules)) say(name, ofScope);
  const scope = filter.hold(OWNER);
  filter.join(scope, '\u0001');
  return verdictOf(filter, scope, parsed(packet));
}

function verdictOf(filter: Filter, scope: Scope, packet: InnerPacket): string {
  const reason = reasonNames[filter.decide(packet, scope)];
  return `${reason} ${filter.idOf(filter.matched, scope)} ${filter.stagedIdOf(filter.staged, scope)}`;
}

const PLACES = [OWNER, GROUP, GLOBAL_SCOPE];

test('a staged rule would decide where its place is asked before that of the rule that decides', (t) => {
  for (const [i, place] of PLACES.entries())
    for (const [j, stagedPlace] of PLACES.entries()) {
      const rules = {
        [place]: [rule('enforced', 'accept', ALL)],
        [stagedScope(stagedPlace)]: [rule('staged', 'drop', ALL)],
      };
      t.is(judged(rules), `none enforced ${j < i ? 'staged' : 'null'}`, `${i} ${j}`);
    }
  for (const place of PLACES)
    t.is(judged({ [stagedScope(place)]: [rule('staged', 'drop', ALL)] }), 'none null staged');
});

test('in the same place the class decides, and of one class the rule that is enforced', (t) => {
  const classes = [
    rule('0', 'accept', ALL, tcp80),
    rule('1', 'drop', ALL, tcp80),
    rule('2', 'accept', ALL),
    rule('3', 'drop', ALL),
  ];
  for (const place of PLACES)
    for (const [i, enforced] of classes.entries())
      for (const [j, one] of classes.entries()) {
        const rules = { [place]: [enforced], [stagedScope(place)]: [{ ...one, id: 'staged' }] };
        const verdict = enforced.action === 'accept' ? 'none' : 'rule_drop';
        t.is(judged(rules), `${verdict} ${i} ${j < i ? 'staged' : 'null'}`);
      }
});

test('of several staged rules the one is named that would decide', (t) => {
  const rules = {
    [stagedScope(OWNER)]: [rule('icmp', 'drop', ALL, icmp)],
    [stagedScope(GROUP)]: [rule('port', 'accept', ALL, tcp80), rule('all', 'drop', ALL)],
    [stagedScope(GLOBAL_SCOPE)]: [rule('last', 'drop', '0.0.0.0/0')],
  };
  t.is(judged(rules), 'none null port');
  t.is(judged(rules, tcpTo('192.0.2.1', 81)), 'none null all');
  t.is(judged(rules, echoRequest('10.0.0.2', '192.0.2.1')), 'none null icmp');
  t.is(judged(rules, tcpTo('198.51.100.1', 80)), 'none null last');
});

test('staged rules that come and go leave nothing behind', (t) => {
  const { filter, say } = filterOf({});
  const scope = filter.hold(OWNER);
  const versions = new Set([filter.version]);
  for (let i = 0; i < 3; i++)
    for (const [rules, wanted] of [
      [[rule('1', 'drop', ALL)], 'none null 1'],
      [[], 'none null null'],
    ] as const) {
      say(stagedScope(OWNER), rules);
      versions.add(filter.version);
      t.is(verdictOf(filter, scope, parsed(WEB)), wanted);
    }
  t.is(versions.size, 7, 'flows are judged again');
  say(stagedScope('of somebody else'), [rule('2', 'drop', ALL)]);
  t.is(verdictOf(filter, scope, parsed(WEB)), 'none null null');
});

test('packets of a flow count for the staged rule, answers do not, and both pass', (t) => {
  const bench = new Bench();
  const hits = (): unknown[] =>
    withoutNulls(bench.filter.takeHits()).map(({ id, packets }): [string, number] => [id, packets]);
  const opening = tcpTo('192.0.2.1', 80);
  bench.rules(stagedScope('0'), rule('staged', 'drop', ALL));
  t.deepEqual(bench.all(opening, opening), ['none', 'none']);
  t.like(bench.decide(opening), { by: 'default', rule: null, staged: 'staged', flow: 'continues' });
  t.deepEqual(hits(), [['staged', 2]]);
  bench.rules('0', rule('enforced', 'accept', ALL, tcp80));
  t.is(bench.judge(opening), 'none');
  t.deepEqual(hits(), [['enforced', 1]], 'the flow is judged again');
  bench.rules('0', rule('enforced', 'accept', ALL));
  bench.rules(stagedScope('0'), rule('staged', 'drop', ALL, tcp80));
  t.is(bench.judge(opening), 'none');
  t.deepEqual(hits(), [
    ['enforced', 1],
    ['staged', 1],
  ]);
  bench.rules(stagedScope('0'));
  t.like(bench.decide(opening), { rule: 'enforced', staged: null });
  t.is(bench.judge(opening), 'none');
  t.deepEqual(hits(), [['enforced', 1]]);
  bench.rules('0', rule('staged', 'drop', ALL, tcp80));
  t.is(bench.judge(opening), 'rule_drop', 'once it is enforced, it ends the flow');
});

const USERS = 40;
const GROUPS = 8;
const RULES = 60;
const PACKETS = 100_000;

/** Rules of one scope. */
interface Pool {
  readonly name: string;
  enforced: RuleConfig[];
  staged: RuleConfig[];
}

test('100,000 packets pass as without the staged rules, which count what the slow twin says', (t) => {
  const choose = numbers(13);
  const [world, without] = [filterOf({ default: 'accept' }), filterOf({ default: 'accept' })];
  const pools: Pool[] = [];
  /** Gives a scope new rules, as rules change and their times come and go. */
  const renew = (pool: Pool): void => {
    const some = (kind: string): RuleConfig[] =>
      Array.from({ length: choose(RULES) }, (_, i) => {
        const one = manyRule(`${pool.name}.${kind}.${i}`, choose);
        // A few are wide, so that rules of all scopes meet.
        return choose(20) === 0 ? { ...one, prefixBits: one.address.length * 8 - 22 } : one;
      });
    pool.enforced = some('enforced');
    pool.staged = choose(3) === 0 ? [] : some('staged');
    world.say(pool.name, pool.enforced);
    world.say(stagedScope(pool.name), pool.staged);
    without.say(pool.name, pool.enforced);
  };
  const poolOf = (name: string): Pool => {
    const pool = { name, enforced: [], staged: [] };
    pools.push(pool);
    renew(pool);
    return pool;
  };
  const global = poolOf(GLOBAL_SCOPE);
  const groups = Array.from({ length: GROUPS }, (_, number) => poolOf(groupScope(number)));
  const users = Array.from({ length: USERS }, (_, i) => {
    const own = poolOf(`user ${i}`);
    const ofUser = groups.map((_, number) => number).filter(() => choose(3) === 0);
    const held = [world, without].map(({ filter }) => filter.hold(own.name)) as [Scope, Scope];
    world.filter.join(held[0], String.fromCharCode(...ofUser));
    without.filter.join(held[1], String.fromCharCode(...ofUser));
    return { own, groups: ofUser.map((number) => groups[number]!), held };
  });
  const wrong: unknown[] = [];
  const seen = new Map<string, number>();
  const counts = new Map<string, number>();
  for (let i = 0; i < PACKETS; i++) {
    if (i % 1_000 === 999) {
      const hits = new Map<string, number>();
      for (const { id, packets } of withoutNulls(world.filter.takeHits()))
        hits.set(id, (hits.get(id) ?? 0) + packets);
      t.deepEqual(Object.fromEntries(hits), Object.fromEntries(counts));
      counts.clear();
    }
    if (i % 1_000 === 0) renew(pools[choose(pools.length)]!);
    const user = users[choose(USERS)]!;
    const [own, all] = [user.own, [user.own, ...user.groups, global]];
    const near = all[choose(all.length)]!;
    const rules = [...near.enforced, ...near.staged];
    if (rules.length === 0) continue;
    const packet: SlowPacket = packetNear(rules[choose(rules.length)]!, choose);
    const rulesOf = (kind: 'enforced' | 'staged'): SlowRules => ({
      own: own[kind],
      ofGroups: user.groups.flatMap((group) => group[kind]),
      global: global[kind],
    });
    const enforced = rulesOf('enforced');
    const wanted = slowJudge(enforced.own, enforced.global, 'accept', packet, enforced.ofGroups);
    const staged = slowStaged(enforced, rulesOf('staged'), 'accept', packet);
    const inner = innerPacket(packet);
    const { filter } = world;
    const [scope, scopeWithout] = user.held;
    const reason = reasonNames[filter.decide(inner, scope)]!;
    const decided = filter.idOf(filter.matched, scope);
    if (filter.staged !== NO_RULE) filter.countStaged(filter.staged, inner, scope);
    const counted = filter.staged === NO_RULE ? null : filter.stagedIdOf(filter.staged, scope);
    if (counted !== null) counts.set(counted, (counts.get(counted) ?? 0) + 1);
    const alone = reasonNames[without.filter.decide(inner, scopeWithout)]!;
    const ruleAlone = without.filter.idOf(without.filter.matched, scopeWithout);
    const isRight =
      reason === wanted.reason &&
      reason === alone &&
      decided === ruleAlone &&
      (counted === null ? staged.length === 0 : staged.includes(counted));
    if (!isRight)
      wrong.push({ reason, decided, wanted, alone, ruleAlone, counted, staged, packet });
    const what = `${reason} ${staged.length > 0}`;
    seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  t.deepEqual(wrong.slice(0, 1), []);
  for (const what of ['none true', 'rule_drop true', 'none false', 'rule_drop false'])
    t.true((seen.get(what) ?? 0) > 1_000, what);
});
