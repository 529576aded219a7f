// Pieces: what is laid out anew after a change, and what is not. That verdicts are right whatever
// changed is shown against the slow twin in filter.test.ts.

import test from 'ava';
import { type CompiledTable, layOut } from '../../../dataplane/filter/compile.ts';
import { Pieces } from '../../../dataplane/filter/pieces.ts';
import type { NumberedRule } from '../../../dataplane/filter/ports.ts';
import { rule } from '../../support/dataplane/simulation.ts';

function drop(destination: string, number: number): NumberedRule {
  return { rule: rule('1', 'drop', destination), number, group: 0 };
}

/** Eight networks, 10.0.0.0/24 to 10.7.0.0/24, in pieces of two. */
function eight(): { pieces: Pieces; rules: NumberedRule[] } {
  const pieces = new Pieces(1, 3, layOut);
  const rules = Array.from({ length: 8 }, (_, i) => drop(`10.${i}.0.0/24`, i));
  for (const one of rules) pieces.add(one);
  return { pieces, rules };
}

/** A piece as the place that it had, or the rules that its table drops by, by number. */
function shape(piece: CompiledTable | number): number | number[] {
  return typeof piece === 'number' ? piece : [...piece.drops];
}

/** What changed, as shapes; null where nothing did. */
function changed(pieces: Pieces): (number | number[])[] | null {
  const compiled = pieces.compile();
  pieces.handOver();
  return compiled?.pieces.map(shape) ?? null;
}

function firsts(pieces: Pieces): string[] {
  return [...pieces.compileAll()!.firsts].map((word) => word.toString(16));
}

test('nothing is compiled where nothing is, nor twice', (t) => {
  t.is(changed(new Pieces(4, 3, layOut)), null);
  const { pieces } = eight();
  t.not(changed(pieces), null);
  t.is(changed(pieces), null);
});

test('many prefixes are in pieces that follow each other, from the first address on', (t) => {
  const { pieces } = eight();
  t.deepEqual(changed(pieces), [
    [0, 1],
    [2, 3],
    [4, 5],
    [6, 7],
  ]);
  t.deepEqual(firsts(pieces), ['0', 'a020000', 'a040000', 'a060000']);
});

test('a rule that comes lays out the piece that it falls in', (t) => {
  const { pieces } = eight();
  changed(pieces);
  pieces.add(drop('10.3.7.0/24', 8));
  t.deepEqual(changed(pieces), [0, [2, 3, 8], 2, 3]);
  pieces.add(drop('10.3.7.0/24', 9));
  t.deepEqual(changed(pieces), [0, [2, 3, 9], 2, 3]);
});

test('a rule that goes lays out the piece that it was in', (t) => {
  const { pieces, rules } = eight();
  changed(pieces);
  pieces.remove(rules[5]!);
  t.deepEqual(changed(pieces), [0, 1, [4], 3]);
});

test('a piece that has become too big is split, and those behind it keep their tables', (t) => {
  const { pieces } = eight();
  changed(pieces);
  pieces.add(drop('10.2.1.0/24', 8));
  pieces.add(drop('10.2.2.0/24', 9));
  t.deepEqual(changed(pieces), [0, [2, 8], [9, 3], 2, 3]);
  pieces.add(drop('10.7.1.0/24', 10));
  t.deepEqual(changed(pieces), [0, 1, 2, 3, [6, 7, 10]]);
});

test('a prefix that reaches over several pieces lays out those, and no others', (t) => {
  const { pieces } = eight();
  changed(pieces);
  const wide = drop('10.2.0.0/14', 8);
  pieces.add(wide);
  // It begins where 10.0.0.0/24 does, which is in the first piece, and ends before 10.4.0.0.
  t.deepEqual(changed(pieces), [[8, 0, 1], [8, 2, 3], 2, 3]);
  pieces.remove(wide);
  t.deepEqual(changed(pieces), [[0, 1], [2, 3], 2, 3]);
  pieces.add(drop('0.0.0.0/0', 9));
  t.deepEqual(changed(pieces), [
    [9, 0, 1],
    [9, 2, 3],
    [9, 4, 5],
    [9, 6, 7],
  ]);
});

test('a prefix whose last address is the first one of a piece reaches into it', (t) => {
  const pieces = new Pieces(1, 1, layOut);
  pieces.add(drop('10.0.0.0/31', 0));
  pieces.add(drop('10.0.0.1', 1));
  t.deepEqual(changed(pieces), [[0], [0, 1]]);
  pieces.add(drop('10.0.0.0/30', 2));
  t.deepEqual(changed(pieces), [[2], [2, 0], [2, 0, 1]]);
});

test('pieces that have become small are joined, and those around them keep their tables', (t) => {
  const { pieces, rules } = eight();
  changed(pieces);
  pieces.remove(rules[2]!);
  t.deepEqual(changed(pieces), [0, [3], 2, 3]);
  // One prefix and none are half of what a piece may have.
  pieces.remove(rules[5]!);
  pieces.remove(rules[4]!);
  t.deepEqual(changed(pieces), [0, [3], 3]);
  t.deepEqual(firsts(pieces), ['0', 'a020000', 'a060000']);
  pieces.add(drop('10.5.0.0/24', 5));
  t.deepEqual(changed(pieces), [0, [3, 5], 2]);
});

test('the first piece stays the first, whatever goes', (t) => {
  const { pieces, rules } = eight();
  for (const one of rules.slice(0, 7)) pieces.remove(one);
  t.deepEqual(changed(pieces), [[7]]);
  t.deepEqual(firsts(pieces), ['0']);
  pieces.add(drop('10.0.0.0/24', 0));
  t.deepEqual(changed(pieces), [[0, 7]]);
});

test('what many rules leave behind when they go is not many pieces', (t) => {
  const pieces = new Pieces(1, 8, layOut);
  const rules = Array.from({ length: 4_096 }, (_, i) => drop(`10.0.${i >> 8}.${i & 255}`, i));
  for (const one of rules) pieces.add(one);
  t.true(changed(pieces)!.length >= 512);
  for (const one of rules) if (one.number % 64 !== 5) pieces.remove(one);
  // Two neighbours have more than four of what is left.
  t.true(changed(pieces)!.length <= (2 * 64) / 4);
});

test('where the last prefix has gone nothing is left', (t) => {
  const { pieces, rules } = eight();
  changed(pieces);
  for (const one of rules) pieces.remove(one);
  t.deepEqual(changed(pieces), []);
  pieces.add(drop('10.0.0.0/24', 3));
  t.deepEqual(changed(pieces), [[3]]);
});

test('a worker that has none gets all of them, and the next change is one from there', (t) => {
  const { pieces, rules } = eight();
  const all = changed(pieces);
  t.deepEqual(pieces.compileAll()?.pieces.map(shape), all);
  pieces.handOverAll();
  t.is(changed(pieces), null);
  pieces.remove(rules[7]!);
  t.deepEqual(changed(pieces), [0, 1, 2, [6]]);
  t.is(new Pieces(1, 3, layOut).compileAll(), null);
});

test('where workers have different pieces, the next change brings all of them', (t) => {
  const { pieces, rules } = eight();
  const all = changed(pieces);
  pieces.remove(rules[5]!);
  pieces.add(rules[5]!);
  // One worker has what was handed over; one that begins now gets the pieces as they are.
  t.deepEqual(pieces.compileAll()?.pieces.map(shape), all);
  pieces.handOverAll();
  pieces.remove(rules[7]!);
  t.deepEqual(changed(pieces), [[0, 1], [2, 3], [4, 5], [6]]);
});

test('what was compiled and not handed over is compiled again', (t) => {
  const { pieces, rules } = eight();
  changed(pieces);
  pieces.remove(rules[5]!);
  t.deepEqual(pieces.compile(), pieces.compile());
  for (const one of [...rules.slice(0, 5), ...rules.slice(6)]) pieces.remove(one);
  t.deepEqual(pieces.compile()?.pieces, []);
  t.deepEqual(changed(pieces), []);
  t.is(changed(pieces), null);
});
