// The packet filter while rules change: what its counters say, whom a change concerns, and that a
// verdict allocates nothing and costs the same with many rules.

import test from 'ava';
import { GLOBAL_SCOPE, type RuleSample } from '../../../dataplane/contract.ts';
import { rulesFor } from '../../support/dataplane/whole-configs.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { type ReasonName, reasons } from '../../../dataplane/reasons.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { address } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { addressValue } from '../../support/filter/slow-filter.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';
import {
  judgeAndCount,
  OWNER,
  filterOf,
  parsed,
  pingTo,
  tcpTo,
  udp53,
  udpTo,
} from '../../support/filter/filtering.ts';

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

// ---- counters --------------------------------------------------------------------------------

test('a rule counts packets, bytes and its last hit', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'drop', '0.0.0.0/0')] });
  judge(udpTo('192.0.2.1'), 1_000);
  judge(tcpTo('192.0.2.1'), 2_000);
  t.deepEqual(withoutNulls(filter.takeHits()), [
    { id: '1', packets: 2, bytes: 28 + 40, lastHitMs: 2_000 },
  ]);
});

test('a sample takes the hits, so that the next one begins at zero', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'accept', '0.0.0.0/0')] });
  judge(udpTo('192.0.2.1'), 1);
  withoutNulls(filter.takeHits());
  t.deepEqual(withoutNulls(filter.takeHits()), []);
  judge(udpTo('192.0.2.1'), 7);
  t.deepEqual(withoutNulls(filter.takeHits()), [{ id: '1', packets: 1, bytes: 28, lastHitMs: 7 }]);
});

test('only the rule that decided is hit, of the owner or global', (t) => {
  const { filter, judge } = filterOf({
    own: [rule('own', 'accept', '10.0.0.0/8')],
    global: [rule('global', 'drop', '0.0.0.0/0'), rule('six', 'drop', '::/0')],
  });
  judge(udpTo('10.0.0.9'));
  judge(udpTo('192.0.2.1'));
  judge(udpTo('192.0.2.1'));
  const hits = withoutNulls(filter.takeHits()).map(({ id, packets }) => `${id} ${packets}`);
  t.deepEqual(hits.sort(), ['global 2', 'own 1']);
});

test('the default hits no rule', (t) => {
  const { filter, judge } = filterOf({ own: [rule('1', 'drop', '192.0.2.0/24', udp53)] });
  judge(udpTo('203.0.113.1'));
  t.deepEqual(withoutNulls(filter.takeHits()), []);
});

test('hits that were counted before a change are not lost by it', (t) => {
  const { filter, judge, say } = filterOf({ own: [rule('1', 'drop', '0.0.0.0/0')] });
  judge(udpTo('192.0.2.1'), 5);
  say(OWNER, []);
  t.deepEqual(withoutNulls(filter.takeHits()), [{ id: '1', packets: 1, bytes: 28, lastHitMs: 5 }]);
  t.deepEqual(withoutNulls(filter.takeHits()), []);
});

test('a rule that stays while its neighbours change loses no hit and counts none twice', (t) => {
  const stays = rule('stays', 'drop', '0.0.0.0/0');
  const { filter, judge, say } = filterOf({ own: [stays] });
  const total = (samples: readonly RuleSample[]): number =>
    samples.reduce((sum, { packets }) => sum + packets, 0);
  judge(udpTo('192.0.2.1'));
  say(OWNER, [stays, rule('2', 'drop', '::/0')]);
  judge(udpTo('192.0.2.1'));
  t.is(total(withoutNulls(filter.takeHits())), 2);
  t.is(total(withoutNulls(filter.takeHits())), 0);
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
  t.is(judgeAndCount(filter, parsed(udpTo('192.0.2.1')), filter.hold('later')), reasons.rule_drop);
});

test("an owner's last device may go and another come, the rules stay", (t) => {
  const filter = new Filter('accept');
  rulesFor(filter)(OWNER, [rule('1', 'drop', '0.0.0.0/0')]);
  filter.release(filter.hold(OWNER));
  t.is(judgeAndCount(filter, parsed(udpTo('192.0.2.1')), filter.hold(OWNER)), reasons.rule_drop);
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
  t.is(judgeAndCount(filter, parsed(udpTo('192.0.2.1')), scope), reasons.rule_drop);
  filter.release(scope);
  t.is(judgeAndCount(filter, parsed(udpTo('192.0.2.1')), filter.hold('x')), reasons.rule_drop);
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
      for (const packet of packets) judgeAndCount(filter, packet, scope);
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
    t.is(judgeAndCount(filter, parsed(tcpTo('10.0.5.5', 5)), scope), reasons.none);
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
