// Compiled tables: their shape, and that they survive the way to the worker.

import process from 'node:process';
import test from 'ava';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { type CompiledFamily, type CompiledTable } from '../../../dataplane/filter/compile.ts';
import { bytesOf, compileScope } from '../../support/dataplane/whole-configs.ts';
import { rule } from '../../support/dataplane/simulation.ts';

/** The only piece of a family. */
function only(family: CompiledFamily | null): CompiledTable {
  const [piece, ...others] = family!.pieces;
  if (typeof piece !== 'object' || others.length > 0) throw new Error('not one piece');
  return piece;
}

/** Rules are numbered in the order in which they come. */
function ipv4(...rules: RuleConfig[]): CompiledTable {
  return only(compileScope(rules).ipv4);
}

test('a scope without rules has no table', (t) => {
  t.deepEqual(compileScope([]), { ipv4: null, ipv6: null, numbers: [], ids: [], hosts: new Map() });
});

test('each family has its own table, or none', (t) => {
  const four = compileScope([rule('1', 'drop', '10.0.0.0/8')]);
  t.is(four.ipv6, null);
  t.is(four.ipv4!.words, 1);
  const six = compileScope([rule('1', 'drop', 'fd00::/8')]);
  t.is(six.ipv4, null);
  t.is(six.ipv6!.words, 4);
});

test('intervals begin at the first address and ascend', (t) => {
  const table = ipv4(
    rule('1', 'drop', '10.0.0.0/8'),
    rule('2', 'drop', '10.128.0.0/9'),
    rule('3', 'drop', '255.255.255.255'),
    rule('4', 'drop', '0.0.0.0'),
  );
  t.is(table.starts[0], 0);
  t.deepEqual(
    [...table.starts],
    [...new Set(table.starts)].sort((a, b) => a - b),
  );
  t.is(table.nodes.length, table.starts.length);
});

test('one prefix cuts the space into three, at most', (t) => {
  t.deepEqual([...ipv4(rule('1', 'drop', '10.0.0.0/8')).starts], [0, 0x0a000000, 0x0b000000]);
  t.deepEqual([...ipv4(rule('1', 'drop', '0.0.0.0/0')).starts], [0]);
  t.deepEqual([...ipv4(rule('1', 'drop', '128.0.0.0/1')).starts], [0, 0x80000000]);
  t.deepEqual([...ipv4(rule('1', 'drop', '255.255.255.255')).starts], [0, 0xffffffff]);
});

test('an IPv6 interval begins with four words', (t) => {
  const table = only(compileScope([rule('1', 'drop', '2001:db8:1:2:3:4:5:6')]).ipv6);
  t.deepEqual(
    [...table.starts].map((word) => word.toString(16)),
    [
      '0',
      '0',
      '0',
      '0',
      '20010db8',
      '10002',
      '30004',
      '50006',
      '20010db8',
      '10002',
      '30004',
      '50007',
    ],
  );
});

test('a prefix of all IPv6 leaves one interval', (t) => {
  t.deepEqual([...only(compileScope([rule('1', 'drop', '::/0')]).ipv6).starts], [0, 0, 0, 0]);
});

test('rules with the same prefix share a node, host bits or not', (t) => {
  const table = ipv4(rule('1', 'drop', '10.1.2.3/8'), rule('2', 'accept', '10.9.9.9/8'));
  t.is(table.accepts.length, 1);
  t.deepEqual([table.drops[0], table.accepts[0]], [0, 1]);
});

test('a node inherits the accept and the drop around it', (t) => {
  const table = ipv4(rule('wide', 'accept', '10.0.0.0/8'), rule('narrow', 'drop', '10.1.0.0/16'));
  const narrow = table.nodes[[...table.starts].indexOf(0x0a010000)]!;
  t.deepEqual([table.accepts[narrow], table.drops[narrow]], [0, 1]);
});

test('a node points over nodes without ports to the next one that has them', (t) => {
  const table = ipv4(
    rule('ports', 'drop', '10.0.0.0/8', { type: 'tcp', first: 1 }),
    rule('plain', 'accept', '10.1.0.0/16'),
  );
  const at = (start: number): number => table.nodes[[...table.starts].indexOf(start)]!;
  t.is(table.portNodes[at(0x0a010000)], at(0x0a000000));
  t.is(table.portNodes[at(0x0a000000)], at(0x0a000000));
});

test('ports stand node by node, with the numbers of their rules', (t) => {
  const table = ipv4(
    rule('plain', 'drop', '10.0.0.0/8'),
    rule('narrow', 'drop', '10.1.0.0/16', { type: 'udp', first: 53 }),
    rule('wide', 'accept', '10.0.0.0/8', { type: 'tcp', first: 80, last: 90 }),
  );
  t.deepEqual([...table.rangeStarts], [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]);
  t.deepEqual([...table.portFirsts], [80, 53]);
  t.deepEqual([...table.portLasts], [90, 53]);
  t.deepEqual([...table.portRules], [2, 1]);
});

test('a compiled scope is sent without a copy: its tables are in shared memory', (t) => {
  const compiled = compileScope([
    rule('1', 'drop', '10.0.0.0/8', { type: 'tcp', first: 80, last: 90 }),
    rule('2', 'accept', 'fd00::/8'),
  ]);
  const arrived = structuredClone(compiled);
  t.deepEqual(arrived, compiled);
  for (const family of ['ipv4', 'ipv6'] as const) {
    const [here, there] = [compiled, arrived].map((one) => one[family]!.pieces[0] as CompiledTable);
    t.true(here!.starts.buffer instanceof SharedArrayBuffer);
    t.is(new Set(Object.values(here!).map(({ buffer }) => buffer as unknown)).size, 1);
    here!.starts[0] = 7;
    t.is(there!.starts[0], 7);
  }
});

test('tables of ten thousand rules are small, and soon compiled', (t) => {
  const rules = Array.from({ length: 10_000 }, (_, i) =>
    rule(`${i}`, i % 2 === 0 ? 'accept' : 'drop', `10.${i >> 8}.${i & 255}.0/24`, {
      type: 'tcp',
      first: i,
    }),
  );
  const began = process.threadCpuUsage();
  const bytes = bytesOf(compileScope(rules));
  const { user } = process.threadCpuUsage(began);
  // Generous, because machines differ; it is some 60 ms on a slow one.
  t.true(user < 2_000_000, `${user} µs`);
  t.true(bytes < 10_000 * 64, `${bytes}`);
});
