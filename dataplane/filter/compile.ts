// Turns the rules of one scope into flat tables, one per family, that the worker can search without
// allocating. It runs on the main thread; the tables are transferred and swapped in whole.
//
// Prefixes either nest or are disjoint. Sorted, they cut the address space into intervals, each of
// which has one narrowest prefix. A decision is a binary search for the interval and a walk from
// that prefix to the wider ones around it that have port rules: its cost grows with the logarithm
// of the number of rules and with the depth of nesting, never with the number of rules.

import type { RuleConfig } from '../contract.ts';

/** The four kinds of port rules, in the order in which a node's ranges stand. */
export const TCP_ACCEPT = 0;
export const UDP_ACCEPT = 1;
export const TCP_DROP = 2;
export const UDP_DROP = 3;
const KINDS = 4;

/** One family of one scope. Buffers only, so that it can be transferred. */
export interface CompiledTable {
  /** 1 word of address (IPv4) or 4 (IPv6). */
  readonly words: 1 | 4;
  /** Ids of the rules, by rule number. */
  readonly ruleIds: readonly string[];
  /** First address of each interval, ascending, `words` numbers each. */
  readonly starts: Uint32Array;
  /** Narrowest node of each interval, -1 where no prefix holds it. */
  readonly nodes: Int32Array;
  /** By node: an accept and a drop rule without ports that cover it, -1 for none. */
  readonly accepts: Int32Array;
  readonly drops: Int32Array;
  /** By node: the narrowest node from it outwards that has port rules, -1 for none. */
  readonly portNodes: Int32Array;
  /** By node: the node around it, -1 for none. */
  readonly parents: Int32Array;
  /** By node and kind: where its ranges begin; one more entry marks the end. */
  readonly rangeStarts: Int32Array;
  /** Ranges: first and last port and the rule; within a node and kind ascending and disjoint. */
  readonly portFirsts: Uint16Array;
  readonly portLasts: Uint16Array;
  readonly portRules: Int32Array;
}

/** Both families of one scope; null where a family has no rules. */
export interface CompiledScope {
  readonly ipv4: CompiledTable | null;
  readonly ipv6: CompiledTable | null;
}

/** Compiles the rules of one scope. */
export function compileScope(rules: readonly RuleConfig[]): CompiledScope {
  return {
    ipv4: compileFamily(rules.filter((rule) => rule.address.length === 4)),
    ipv6: compileFamily(rules.filter((rule) => rule.address.length === 16)),
  };
}

/** The buffers of a compiled scope, for a transfer list. */
export function buffersOf(scope: CompiledScope): ArrayBuffer[] {
  return [scope.ipv4, scope.ipv6].flatMap((table) =>
    table === null
      ? []
      : Object.values(table)
          .filter((value) => ArrayBuffer.isView(value))
          .map((value) => value.buffer as ArrayBuffer),
  );
}

/** A prefix with the rules that name exactly it. */
interface Prefix {
  readonly first: bigint;
  readonly last: bigint;
  readonly rules: number[];
  parent: number;
}

function compileFamily(rules: readonly RuleConfig[]): CompiledTable | null {
  const sample = rules[0];
  if (sample === undefined) return null;
  const addressBits = sample.address.length * 8;
  const words = addressBits === 32 ? 1 : 4;
  const prefixes = collectPrefixes(rules, addressBits);
  const intervals = cutIntervals(prefixes, addressBits);
  return {
    words,
    ruleIds: rules.map((rule) => rule.id),
    starts: packStarts(intervals, words),
    nodes: Int32Array.from(intervals, (interval) => interval.node),
    ...compileNodes(rules, prefixes),
  };
}

/** Distinct prefixes, wider before narrower, and so each parent before its children. */
function collectPrefixes(rules: readonly RuleConfig[], addressBits: number): Prefix[] {
  const byRange = new Map<string, Prefix>();
  for (const [number, rule] of rules.entries()) {
    const hostBits = BigInt(addressBits - rule.prefixBits);
    const first = (addressValue(rule.address) >> hostBits) << hostBits;
    const last = first + (1n << hostBits) - 1n;
    const key = `${first}-${last}`;
    const prefix = byRange.get(key);
    if (prefix === undefined) byRange.set(key, { first, last, rules: [number], parent: -1 });
    else prefix.rules.push(number);
  }
  const prefixes = [...byRange.values()].sort((a, b) =>
    a.first === b.first ? compare(b.last, a.last) : compare(a.first, b.first),
  );
  const around: number[] = [];
  for (const [i, prefix] of prefixes.entries()) {
    while (around.length > 0 && prefixes[around.at(-1)!]!.last < prefix.first) around.pop();
    prefix.parent = around.at(-1) ?? -1;
    around.push(i);
  }
  return prefixes;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function addressValue(address: Uint8Array): bigint {
  let value = 0n;
  for (const byte of address) value = (value << 8n) | BigInt(byte);
  return value;
}

interface Interval {
  readonly start: bigint;
  readonly node: number;
}

/** Cuts the whole address space where prefixes begin and end. */
function cutIntervals(prefixes: readonly Prefix[], addressBits: number): Interval[] {
  const intervals: Interval[] = [{ start: 0n, node: -1 }];
  const open: number[] = [];
  const begin = (start: bigint, node: number): void => {
    if (intervals.at(-1)!.start === start) intervals.pop();
    intervals.push({ start, node });
  };
  const closeBefore = (limit: bigint): void => {
    while (open.length > 0 && prefixes[open.at(-1)!]!.last < limit) {
      const { last } = prefixes[open.pop()!]!;
      begin(last + 1n, open.at(-1) ?? -1);
    }
  };
  for (const [i, prefix] of prefixes.entries()) {
    closeBefore(prefix.first);
    begin(prefix.first, i);
    open.push(i);
  }
  const end = 1n << BigInt(addressBits);
  closeBefore(end);
  return intervals.filter((interval) => interval.start < end);
}

function packStarts(intervals: readonly Interval[], words: 1 | 4): Uint32Array {
  const starts = new Uint32Array(intervals.length * words);
  for (const [i, { start }] of intervals.entries()) {
    for (let word = 0; word < words; word++) {
      const shift = BigInt(32 * (words - 1 - word));
      starts[i * words + word] = Number((start >> shift) & 0xffff_ffffn);
    }
  }
  return starts;
}

type CompiledNodes = Omit<CompiledTable, 'words' | 'ruleIds' | 'starts' | 'nodes'>;

function compileNodes(rules: readonly RuleConfig[], prefixes: readonly Prefix[]): CompiledNodes {
  const accepts = new Int32Array(prefixes.length).fill(-1);
  const drops = new Int32Array(prefixes.length).fill(-1);
  const portNodes = new Int32Array(prefixes.length).fill(-1);
  const rangeStarts = new Int32Array(prefixes.length * KINDS + 1);
  const ranges: Range[] = [];
  for (const [i, prefix] of prefixes.entries()) {
    if (prefix.parent !== -1) {
      accepts[i] = accepts[prefix.parent]!;
      drops[i] = drops[prefix.parent]!;
      portNodes[i] = portNodes[prefix.parent]!;
    }
    for (const number of prefix.rules) {
      const rule = rules[number]!;
      if (rule.portType !== null) portNodes[i] = i;
      else if (rule.action === 'accept') accepts[i] = number;
      else drops[i] = number;
    }
    for (let kind = 0; kind < KINDS; kind++) {
      rangeStarts[i * KINDS + kind] = ranges.length;
      const ofKind = prefix.rules.filter((number) => kindOf(rules[number]!) === kind);
      ranges.push(...disjointRanges(rules, ofKind));
    }
  }
  rangeStarts[prefixes.length * KINDS] = ranges.length;
  return {
    accepts,
    drops,
    portNodes,
    parents: Int32Array.from(prefixes, (prefix) => prefix.parent),
    rangeStarts,
    portFirsts: Uint16Array.from(ranges, (range) => range.first),
    portLasts: Uint16Array.from(ranges, (range) => range.last),
    portRules: Int32Array.from(ranges, (range) => range.rule),
  };
}

function kindOf(rule: RuleConfig): number {
  if (rule.portType === null) return -1;
  if (rule.action === 'accept') return rule.portType === 'tcp' ? TCP_ACCEPT : UDP_ACCEPT;
  return rule.portType === 'tcp' ? TCP_DROP : UDP_DROP;
}

interface Range {
  first: number;
  last: number;
  rule: number;
}

/** Port ranges of some rules, ascending; where two overlap, the one that begins first has it. */
function disjointRanges(rules: readonly RuleConfig[], numbers: readonly number[]): Range[] {
  const sorted = numbers
    .map((rule) => ({ first: rules[rule]!.portFirst, last: rules[rule]!.portLast, rule }))
    .sort((a, b) => a.first - b.first || b.last - a.last);
  const ranges: Range[] = [];
  let next = 0;
  for (const range of sorted) {
    const first = Math.max(range.first, next);
    if (first > range.last) continue;
    ranges.push({ first, last: range.last, rule: range.rule });
    next = range.last + 1;
  }
  return ranges;
}
