// The rules of one scope: their numbers, and what a change costs.

import test from 'ava';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { type CompiledScope, type CompiledTable } from '../../../dataplane/filter/compile.ts';
import { type RuleStep, ScopeRules } from '../../../dataplane/filter/scope-rules.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { bytesOf } from '../../support/dataplane/whole-configs.ts';

/** The rules of a scope, with the steps that were not handed over yet. */
class Scope {
  readonly rules = new ScopeRules();
  #steps: RuleStep[] = [];

  /** Returns whether that is a change. */
  set(id: string, rules: readonly RuleConfig[]): boolean {
    const step = this.rules.set(
      id,
      rules.map((one) => ({ ...one, id })),
    );
    if (step !== null) this.#steps.push(step);
    return step !== null;
  }

  ids(): string[] {
    return [...this.rules.rules()].map(({ rule: one }) => one.id).toSorted();
  }

  handOver(): CompiledScope {
    const compiled = this.rules.compile(this.#steps);
    this.rules.handOver();
    this.#steps = [];
    return compiled;
  }

  undo(): void {
    this.rules.undo(this.#steps);
    this.#steps = [];
  }

  /** Whose each number became. */
  renamed(): [number: number, id: string | null][] {
    const { numbers, ids } = this.handOver();
    return numbers.map((number, i) => [number, ids[i]!]);
  }
}

const NOTHING: CompiledScope = { ipv4: null, ipv6: null, numbers: [], ids: [], hosts: new Map() };
const drop = rule('1', 'drop', '10.0.0.0/8');
const six = rule('1', 'accept', 'fd00::/8');

test('what is said again is no change', (t) => {
  const scope = new Scope();
  t.false(scope.set('1', []));
  t.true(scope.set('1', [drop, six]));
  t.false(scope.set('1', [{ ...drop, address: drop.address.slice() }, six]));
  t.true(scope.set('1', [six, drop]));
  t.true(scope.set('1', [drop]));
  t.deepEqual(scope.ids(), ['1']);
  t.true(scope.set('1', []));
  t.true(scope.rules.isEmpty);
});

test("each id has a number, which stays while it has rules and is another one's afterwards", (t) => {
  const scope = new Scope();
  scope.set('a', [drop]);
  scope.set('b', [drop]);
  t.deepEqual(scope.renamed(), [
    [0, 'a'],
    [1, 'b'],
  ]);
  scope.set('a', [six]);
  t.deepEqual(scope.renamed(), []);
  scope.set('a', []);
  t.deepEqual(scope.renamed(), [[0, null]]);
  scope.set('c', [drop]);
  scope.set('d', [drop]);
  t.deepEqual(scope.renamed(), [
    [0, 'c'],
    [2, 'd'],
  ]);
  scope.set('b', []);
  scope.set('e', [drop]);
  t.deepEqual(scope.renamed(), [[1, 'e']]);
});

test('a family that no change touched is not compiled', (t) => {
  const scope = new Scope();
  scope.set('a', [drop]);
  scope.set('b', [six]);
  scope.handOver();
  scope.set('c', [{ ...drop, id: 'c' }]);
  const { ipv4, ipv6 } = scope.handOver();
  t.is(ipv4?.pieces.length, 1);
  t.is(ipv6, null);
  scope.set('b', []);
  t.deepEqual(scope.handOver().ipv6?.pieces, []);
});

test('what was handed over is no change any more', (t) => {
  const scope = new Scope();
  scope.set('a', [drop]);
  t.deepEqual(scope.handOver().numbers, [0]);
  t.deepEqual(scope.handOver(), NOTHING);
});

test('steps that are undone leave rules and numbers as they were', (t) => {
  const scope = new Scope();
  const ports = rule('1', 'drop', '10.0.0.0/8', { type: 'tcp', first: 80, last: 90 });
  scope.set('a', [drop]);
  scope.set('b', [six, ports]);
  scope.set('c', [ports]);
  scope.set('c', []);
  scope.handOver();
  const before = scope.rules.compileAll();
  // A number that is free is given to another, and a new one; a family is emptied.
  scope.set('a', []);
  scope.set('d', [ports]);
  scope.set('e', [drop]);
  scope.set('f', [six]);
  scope.set('b', [drop]);
  scope.set('d', []);
  scope.undo();
  t.deepEqual(scope.ids(), ['a', 'b']);
  const after = scope.rules.compileAll();
  t.deepEqual([after.ipv4, after.ipv6], [before.ipv4, before.ipv6]);
  const byId = ({ numbers, ids }: CompiledScope) =>
    Object.fromEntries(ids.map((id, i) => [id, numbers[i]]));
  t.deepEqual(byId(after), byId(before));
  scope.set('g', [drop]);
  const { numbers, ids } = scope.handOver();
  t.is(ids[0], 'g');
  t.false(before.numbers.includes(numbers[0]!), 'it is the number of nobody else');
});

test('one rule may leave a group and come to another in one change, in any order', (t) => {
  const rules = new ScopeRules(8, true);
  const steps = [rules.set('1', [drop], 5)!];
  rules.compile(steps);
  rules.handOver();
  const moved = [rules.set('1', [drop], 6)!, rules.set('1', [], 5)!];
  t.deepEqual(
    [...rules.rules()].map(({ rule: one, group }) => [one.id, group]),
    [['1', 6]],
  );
  const { ipv4, numbers, ids } = rules.compile(moved);
  const [piece] = ipv4!.pieces as [CompiledTable];
  t.deepEqual([...piece.groups], [6]);
  t.deepEqual(new Set(ids), new Set(['1', null]));
  t.is(new Set(numbers).size, 2);
  rules.undo(moved);
  t.deepEqual(
    [...rules.rules()].map(({ group }) => group),
    [5],
  );
});

test('two ids may share one rule', (t) => {
  const scope = new Scope();
  scope.set('a', [drop]);
  scope.set('b', [drop]);
  scope.set('a', []);
  const [piece] = scope.handOver().ipv4!.pieces as [CompiledTable];
  t.deepEqual([...piece.drops], [1]);
});

test('a worker that has no rules gets all that there are, and nothing that was', (t) => {
  const scope = new Scope();
  scope.set('a', [drop]);
  scope.set('b', [six]);
  scope.handOver();
  scope.set('a', []);
  const all = scope.rules.compileAll();
  t.is(all.ipv4, null);
  t.is(all.ipv6?.pieces.length, 1);
  t.deepEqual([all.numbers, all.ids], [[1], ['b']]);
});

test('one change among ten thousand rules costs little of what all of them cost', (t) => {
  const scope = new Scope();
  const ruleAt = (i: number): RuleConfig =>
    rule(`${i}`, 'drop', `10.${i >> 8}.${i & 255}.0/24`, { type: 'tcp', first: i });
  const sent = (): number => bytesOf(scope.handOver());
  for (let i = 0; i < 10_000; i++) scope.set(`${i}`, [ruleAt(i)]);
  const all = sent();
  for (let i = 0; i < 10_000; i += 97) {
    scope.set(`${i}`, i % 2 === 0 ? [] : [ruleAt(20_000 + i)]);
    const bytes = sent();
    t.true(bytes < all / 15, `${bytes} of ${all}`);
  }
});
