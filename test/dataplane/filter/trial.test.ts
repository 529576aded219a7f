// Verdicts after a change that is only tried. In random courses: ../path/effect.test.ts.

import test from 'ava';
import { groupScope, GROUPS_SCOPE, type RuleConfig } from '../../../dataplane/contract.ts';
import type { FilterTrial, TriedByFilter, TriedSlot } from '../../../dataplane/filter/trial.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { tcp, udp, viewOf } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { compileScope } from '../../support/dataplane/whole-configs.ts';
import { Bench } from '../../support/filter/tracking.ts';

const far = { destination: '192.0.2.1', sourcePort: 40, destinationPort: 53 };
const ofZero = udp({ source: '10.0.0.2', ...far });
const ofOne = udp({ source: '10.0.0.3', ...far });

function trialOf(bench: Bench, change: Partial<TriedByFilter>): FilterTrial {
  bench.tracker.setTime(bench.now, 0);
  return bench.tracker.tried({ peers: new Map(), scopes: [], ...change });
}

/** A change of the rules of one scope, to these. */
function rulesOf(name: string, ...rules: RuleConfig[]): Pick<TriedByFilter, 'scopes'> {
  return { scopes: [{ name, compiled: rules.length === 0 ? null : compileScope(rules) }] };
}

function read(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  parseInner(viewOf(bytes), 0, bytes.length, packet);
  return packet;
}

const [STAYS, ALL] = [
  { losesIpv4: false, losesIpv6: false, groups: '' },
  { losesIpv4: true, losesIpv6: true, groups: '' },
] as const;

test('a flow ends by the rules of its opener after the change, and by no others', (t) => {
  const bench = new Bench();
  bench.all(ofZero, ofOne);
  const [zero, one] = [1, 2];
  const drop = rule('1', 'drop', '192.0.2.0/24');
  const ends = (change: Partial<TriedByFilter>): boolean[] => {
    const trial = trialOf(bench, change);
    return [trial.ends(zero), trial.ends(one)];
  };
  t.deepEqual(ends({}), [false, false]);
  t.deepEqual(ends(rulesOf('0', drop)), [true, false]);
  t.deepEqual(ends(rulesOf('', drop)), [true, true]);
  t.deepEqual(ends(rulesOf('other', drop)), [false, false]);
  t.deepEqual(ends({ defaultAction: 'drop' }), [true, true]);
  t.deepEqual(ends({ ...rulesOf('0', rule('1', 'accept', '192.0.2.1')), defaultAction: 'drop' }), [
    false,
    true,
  ]);
});

test('a flow ends where an address of either side goes', (t) => {
  const bench = new Bench();
  bench.all(ofZero, udp({ ...far, source: '10.0.0.3', destination: '10.0.0.2' }));
  const ends = (slot: number, lost: Omit<TriedSlot, 'scope'>): boolean[] => {
    const trial = trialOf(bench, { peers: new Map([[slot, { ...lost, scope: `${slot}` }]]) });
    return [trial.ends(1), trial.ends(2)];
  };
  t.deepEqual(ends(0, ALL), [true, true]);
  t.deepEqual(ends(0, { ...STAYS, losesIpv6: true }), [false, false]);
  t.deepEqual(ends(1, ALL), [false, true]);
  t.deepEqual(ends(2, ALL), [false, false]);
});

test('a device that moves is judged by the rules of its new owner', (t) => {
  const bench = new Bench();
  bench.rules('1', rule('1', 'drop', '192.0.2.0/24'));
  bench.judge(ofZero);
  const to = (scope: string): boolean =>
    trialOf(bench, { peers: new Map([[0, { ...STAYS, scope }]]) }).ends(1);
  t.deepEqual(['0', '1', 'nobody'].map(to), [false, true, false]);
});

test('a device whose owner gets other groups is judged by the rules of those', (t) => {
  const bench = new Bench();
  bench.rules(groupScope(3), rule('1', 'drop', '192.0.2.0/24'));
  bench.judge(ofZero);
  const ends = (change: Partial<TriedByFilter>): boolean => trialOf(bench, change).ends(1);
  const [none, third] = ['', '\u0003'].map((groups) => ({
    peers: new Map([[0, { ...STAYS, scope: '0', groups }]]),
  }));
  t.deepEqual([ends({}), ends(none!), ends(third!)], [false, false, true]);
  t.false(ends({ ...third, ...rulesOf(GROUPS_SCOPE) }), 'the group loses its rule');
  bench.tracker.join(0, '\u0003');
  t.deepEqual([ends({}), ends(none!), ends(third!)], [true, false, true]);
  t.false(ends(rulesOf(GROUPS_SCOPE)));
  t.true(trialOf(bench, none!).lets(read(ofZero), 0));
});

test('a packet is let pass where the rules of now refuse it and those of then do not', (t) => {
  const bench = new Bench();
  bench.rules('', rule('1', 'drop', '192.0.2.0/24'));
  const packet = read(ofZero);
  t.false(trialOf(bench, {}).lets(packet, 0));
  t.true(trialOf(bench, rulesOf('')).lets(packet, 0));
  const accepts = rulesOf('0', rule('2', 'accept', '192.0.2.1', { type: 'udp', first: 53 }));
  t.true(trialOf(bench, accepts).lets(packet, 0));
  t.false(trialOf(bench, accepts).lets(packet, 1), 'a rule of another user');
  const web = read(tcp({ source: '10.0.0.2', ...far, destinationPort: 80 }));
  t.false(trialOf(bench, accepts).lets(web, 0));
  const gone = { peers: new Map([[0, { ...ALL, scope: null }]]) };
  t.false(trialOf(bench, { ...accepts, ...gone }).lets(packet, 0), 'the device is removed');
  t.false(trialOf(bench, rulesOf('')).lets(packet, 7), 'no such device');
  bench.rules('');
  t.false(trialOf(bench, accepts).lets(packet, 0), 'it passes already');
});

test('the rules in force stay as they are', (t) => {
  const bench = new Bench();
  bench.rules('0', rule('1', 'drop', '192.0.2.0/24'));
  trialOf(bench, { ...rulesOf('0'), defaultAction: 'drop' });
  t.deepEqual(bench.all(ofZero, ofOne), ['rule_drop', 'none']);
});
