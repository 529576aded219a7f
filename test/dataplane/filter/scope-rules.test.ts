// The rules of one scope: their numbers, and what a change costs.

import test from 'ava';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { buffersOf } from '../../../dataplane/filter/compile.ts';
import { ScopeRules } from '../../../dataplane/filter/scope-rules.ts';
import { rule } from '../../support/simulation.ts';

const drop = rule('1', 'drop', '10.0.0.0/8');
const six = rule('1', 'accept', 'fd00::/8');

test('what is said again is no change', (t) => {
  const scope = new ScopeRules();
  t.false(scope.set('1', []));
  t.true(scope.set('1', [drop, six]));
  t.false(scope.set('1', [{ ...drop, address: drop.address.slice() }, six]));
  t.true(scope.set('1', [six, drop]));
  t.true(scope.set('1', [drop]));
  t.deepEqual([...scope.ids], ['1']);
  t.true(scope.set('1', []));
  t.true(scope.isEmpty);
});

test("each id has a number, which stays while it has rules and is another one's afterwards", (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  scope.set('b', [drop]);
  t.deepEqual(scope.compile().ids, [
    [0, 'a'],
    [1, 'b'],
  ]);
  scope.set('a', [six]);
  t.deepEqual(scope.compile().ids, []);
  scope.set('a', []);
  t.deepEqual(scope.compile().ids, [[0, null]]);
  scope.set('c', [drop]);
  scope.set('d', [drop]);
  t.deepEqual(scope.compile().ids, [
    [0, 'c'],
    [2, 'd'],
  ]);
  scope.set('b', []);
  scope.set('e', [drop]);
  t.deepEqual(scope.compile().ids, [[1, 'e']]);
});

test('a family that no change touched is not compiled', (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  scope.set('b', [six]);
  scope.compile();
  scope.set('c', [{ ...drop, id: 'c' }]);
  const { ipv4, ipv6 } = scope.compile();
  t.is(ipv4?.pieces.length, 1);
  t.is(ipv6, null);
  scope.set('b', []);
  t.deepEqual(scope.compile().ipv6?.pieces, []);
});

test('one who knows nothing is told all that there is, and nothing that was', (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  scope.set('b', [six]);
  scope.compile();
  scope.set('a', []);
  const all = scope.compileAll();
  t.is(all.ipv4, null);
  t.is(all.ipv6?.pieces.length, 1);
  t.deepEqual(all.ids, [[1, 'b']]);
  t.deepEqual(scope.compile(), { ipv4: null, ipv6: null, ids: [] });
});

test('one change among ten thousand rules costs little of what all of them cost', (t) => {
  const scope = new ScopeRules();
  const ruleAt = (i: number): RuleConfig =>
    rule(`${i}`, 'drop', `10.${i >> 8}.${i & 255}.0/24`, { type: 'tcp', first: i });
  const sent = (): number =>
    buffersOf(scope.compile()).reduce((sum, { byteLength }) => sum + byteLength, 0);
  for (let i = 0; i < 10_000; i++) scope.set(`${i}`, [ruleAt(i)]);
  const all = sent();
  for (let i = 0; i < 10_000; i += 97) {
    scope.set(`${i}`, i % 2 === 0 ? [] : [ruleAt(20_000 + i)]);
    const bytes = sent();
    t.true(bytes < all / 15, `${bytes} of ${all}`);
  }
});
