// What decided a verdict: the rule, the default action or nothing, and who opened the flow. That an
// explanation agrees with what becomes of a packet: ../path/explain.test.ts.

import test from 'ava';
import type { Decision } from '../../../dataplane/filter/decision.ts';
import { NO_PEER } from '../../../dataplane/filter/flow-verdict.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import {
  Bench,
  connection,
  device,
  dropAll,
  exchange,
  host,
  other,
  SYN,
} from '../../support/filter/tracking.ts';

const { ask, answer } = exchange(device, host);
const toOther = exchange(device, other);

const states: readonly [title: string, make: () => [Bench, Uint8Array], Decision][] = [
  [
    'no rule matches',
    () => [new Bench(), ask],
    { by: 'default', rule: null, staged: null, flow: 'opens', opener: 0 },
  ],
  [
    'the default action drops',
    () => [new Bench({ default: 'drop' }), ask],
    { by: 'default', rule: null, staged: null, flow: 'none', opener: 0 },
  ],
  [
    'a rule of the owner accepts',
    () => [ruled('0', rule('own', 'accept', host)), ask],
    { by: 'rule', rule: 'own', staged: null, flow: 'opens', opener: 0 },
  ],
  [
    'a rule for everyone drops',
    () => [ruled('', rule('all', 'drop', host)), ask],
    { by: 'rule', rule: 'all', staged: null, flow: 'none', opener: 0 },
  ],
  [
    'a flow goes on by the rule that admitted it',
    () => [judged(ruled('0', rule('own', 'accept', host)), ask), ask],
    { by: 'rule', rule: 'own', staged: null, flow: 'continues', opener: 0 },
  ],
  [
    'the answer belongs to the flow of the device',
    () => [judged(ruled('0', rule('own', 'accept', host)), ask), answer],
    { by: 'rule', rule: 'own', staged: null, flow: 'continues', opener: 0 },
  ],
  [
    'the rules have changed since the flow was judged',
    () => {
      const bench = judged(new Bench(), ask);
      bench.rules('0', rule('new', 'drop', host));
      return [bench, ask];
    },
    { by: 'rule', rule: 'new', staged: null, flow: 'continues', opener: 0 },
  ],
  [
    'rules are not asked about what comes from behind the TUN',
    () => [ruled('0', ...dropAll), answer],
    { by: 'nothing', rule: null, staged: null, flow: 'opens', opener: NO_PEER },
  ],
  [
    'a device may answer it',
    () => [judged(ruled('0', ...dropAll), answer), ask],
    { by: 'nothing', rule: null, staged: null, flow: 'continues', opener: NO_PEER },
  ],
  [
    'the answer of another device goes by the rules of the first one',
    () => [judged(ruled('1', ...dropAll), toOther.ask), toOther.answer],
    { by: 'default', rule: null, staged: null, flow: 'continues', opener: 0 },
  ],
  [
    'the other device may have opened the flow',
    () => {
      const bench = new Bench();
      bench.restart();
      bench.rules('1', rule('theirs', 'drop', device));
      return [bench, toOther.ask];
    },
    { by: 'rule', rule: null, staged: null, flow: 'opens', opener: 0 },
  ],
  [
    'a connection request in the direction of answers is judged by the rules',
    () => {
      const { ask: request } = connection(host, device);
      const bench = judged(new Bench(), request(SYN));
      bench.rules('0', rule('own', 'drop', host));
      return [bench, connection(host, device).answer(SYN)];
    },
    { by: 'rule', rule: 'own', staged: null, flow: 'none', opener: 0 },
  ],
];

function ruled(scope: string, ...rules: readonly ReturnType<typeof rule>[]): Bench {
  const bench = new Bench();
  bench.rules(scope, ...rules);
  return bench;
}

function judged(bench: Bench, packet: Uint8Array): Bench {
  bench.judge(packet);
  return bench;
}

for (const [title, make, expected] of states)
  test(title, (t) => {
    const [bench, packet] = make();
    t.deepEqual(bench.decide(packet), expected);
    t.deepEqual(bench.decide(packet), expected, 'asking changes nothing');
  });
