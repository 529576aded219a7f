// The rules of one scope: their numbers, and what a change costs.

import test from 'ava';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import {
  buffersOf,
  type CompiledScope,
  type CompiledTable,
} from '../../../dataplane/filter/compile.ts';
import { ScopeRules } from '../../../dataplane/filter/scope-rules.ts';
import { rule } from '../../support/simulation.ts';

/** Tells what is untold: whose each number became. */
function renamed(scope: ScopeRules): [number: number, id: string | null][] {
  const { numbers, ids } = tell(scope);
  return numbers.map((number, i) => [number, ids[i]!]);
}

function tell(scope: ScopeRules): CompiledScope {
  const untold = scope.untold();
  scope.told();
  return untold;
}

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
  t.deepEqual(renamed(scope), [
    [0, 'a'],
    [1, 'b'],
  ]);
  scope.set('a', [six]);
  t.deepEqual(renamed(scope), []);
  scope.set('a', []);
  t.deepEqual(renamed(scope), [[0, null]]);
  scope.set('c', [drop]);
  scope.set('d', [drop]);
  t.deepEqual(renamed(scope), [
    [0, 'c'],
    [2, 'd'],
  ]);
  scope.set('b', []);
  scope.set('e', [drop]);
  t.deepEqual(renamed(scope), [[1, 'e']]);
});

test('a family that no change touched is not compiled', (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  scope.set('b', [six]);
  tell(scope);
  scope.set('c', [{ ...drop, id: 'c' }]);
  const { ipv4, ipv6 } = tell(scope);
  t.is(ipv4?.pieces.length, 1);
  t.is(ipv6, null);
  scope.set('b', []);
  t.deepEqual(tell(scope).ipv6?.pieces, []);
});

test('what is untold stays so until it was told', (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  const untold = scope.untold();
  t.deepEqual(scope.untold(), untold);
  scope.told();
  t.deepEqual(scope.untold(), { ipv4: null, ipv6: null, numbers: [], ids: [] });
});

test('two ids may share one rule', (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  scope.set('b', [drop]);
  scope.set('a', []);
  const [piece] = tell(scope).ipv4!.pieces as [CompiledTable];
  t.deepEqual([...piece.drops], [1]);
});

test('one who knows nothing is told all that there is, and nothing that was', (t) => {
  const scope = new ScopeRules();
  scope.set('a', [drop]);
  scope.set('b', [six]);
  tell(scope);
  scope.set('a', []);
  scope.forget();
  const all = tell(scope);
  t.is(all.ipv4, null);
  t.is(all.ipv6?.pieces.length, 1);
  t.deepEqual([all.numbers, all.ids], [[1], ['b']]);
  t.deepEqual(scope.untold(), { ipv4: null, ipv6: null, numbers: [], ids: [] });
});

test('one change among ten thousand rules costs little of what all of them cost', (t) => {
  const scope = new ScopeRules();
  const ruleAt = (i: number): RuleConfig =>
    rule(`${i}`, 'drop', `10.${i >> 8}.${i & 255}.0/24`, { type: 'tcp', first: i });
  const sent = (): number =>
    buffersOf(tell(scope)).reduce((sum, { byteLength }) => sum + byteLength, 0);
  for (let i = 0; i < 10_000; i++) scope.set(`${i}`, [ruleAt(i)]);
  const all = sent();
  for (let i = 0; i < 10_000; i += 97) {
    scope.set(`${i}`, i % 2 === 0 ? [] : [ruleAt(20_000 + i)]);
    const bytes = sent();
    t.true(bytes < all / 15, `${bytes} of ${all}`);
  }
});
