// Turns the rules of one scope into flat tables, one per family, that the worker can search without
// allocating. It runs on the main thread; the tables are transferred and swapped in whole.
//
// Prefixes either nest or are disjoint. Sorted, they cut the address space into intervals, each of
// which has one narrowest prefix. A decision is a binary search for the interval and a walk from
// that prefix to the wider ones around it that have port rules: its cost grows with the logarithm
// of the number of rules and with the depth of nesting, never with the number of rules.
//
// What costs time is understanding a rule: its prefix, its bounds, its ports. That is done once and
// kept; after a change the tables are laid out anew from what is kept, some 0.1 µs for each rule.

import type { RuleConfig } from '../contract.ts';
import { sameBytes } from '../wire/bytes.ts';

/** The four kinds of port rules, in the order in which a node's ranges stand. */
export const TCP_ACCEPT = 0;
export const UDP_ACCEPT = 1;
export const TCP_DROP = 2;
export const UDP_DROP = 3;
const KINDS = 4;

/** One family of one scope: plain data, and arrays in one buffer that can be transferred. */
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

/** The buffers of a compiled scope, for a transfer list. */
export function buffersOf(scope: CompiledScope): ArrayBuffer[] {
  return [scope.ipv4, scope.ipv6].flatMap((table) =>
    table === null ? [] : [table.starts.buffer as ArrayBuffer],
  );
}

const NO_RULES: readonly RuleConfig[] = [];

/** The rules of one scope, understood and kept, so that a change costs little more than itself. */
export class ScopeRules {
  readonly #rules = new Map<string, readonly RuleConfig[]>();
  readonly #ipv4 = new PrefixSet();
  readonly #ipv6 = new PrefixSet();

  /** Ids of the rules. */
  get ids(): Iterable<string> {
    return this.#rules.keys();
  }

  get isEmpty(): boolean {
    return this.#rules.size === 0;
  }

  /** Says what has an id: no rule, one, or several. Returns whether that is a change. */
  set(id: string, rules: readonly RuleConfig[]): boolean {
    const present = this.#rules.get(id) ?? NO_RULES;
    if (sameRules(present, rules)) return false;
    for (const rule of present) this.#familyOf(rule).remove(rule);
    for (const rule of rules) this.#familyOf(rule).add(rule);
    if (rules.length === 0) this.#rules.delete(id);
    else this.#rules.set(id, rules);
    return true;
  }

  /** Lays out the tables; those of an earlier call stay what they are. */
  compile(): CompiledScope {
    return { ipv4: layOut(this.#ipv4.sorted(), 1), ipv6: layOut(this.#ipv6.sorted(), 4) };
  }

  #familyOf(rule: RuleConfig): PrefixSet {
    return rule.address.length === 4 ? this.#ipv4 : this.#ipv6;
  }
}

function sameRules(a: readonly RuleConfig[], b: readonly RuleConfig[]): boolean {
  return a === b || (a.length === b.length && a.every((rule, i) => sameRule(rule, b[i]!)));
}

function sameRule(a: RuleConfig, b: RuleConfig): boolean {
  return (
    a.id === b.id &&
    a.action === b.action &&
    a.prefixBits === b.prefixBits &&
    a.portType === b.portType &&
    a.portFirst === b.portFirst &&
    a.portLast === b.portLast &&
    sameBytes(a.address, b.address)
  );
}

// ---- prefixes ------------------------------------------------------------------------------

/** An address, as text that sorts like the number that it is, and as words. */
interface Bound {
  readonly hex: string;
  readonly words: readonly number[];
}

/** A prefix with the rules that name exactly it. */
interface Prefix {
  /** Sorts by first address, then wider before narrower. */
  readonly order: string;
  readonly first: Bound;
  readonly lastHex: string;
  /** The address behind the last; null at the end of the address space. */
  readonly next: Bound | null;
  readonly rules: RuleConfig[];
  /** Its ports as they are laid out; null when its rules have changed since. */
  ports: Ports | null;
}

/** The prefixes of one family, in the order in which they are laid out. */
class PrefixSet {
  readonly #byOrder = new Map<string, Prefix>();
  #sorted: Prefix[] = [];
  /** Prefixes that are not in their place among the sorted ones yet. */
  #added: Prefix[] = [];
  #hasEmpty = false;

  add(rule: RuleConfig): void {
    const order = orderOf(rule);
    let prefix = this.#byOrder.get(order);
    if (prefix === undefined) {
      prefix = prefixOf(rule, order);
      this.#byOrder.set(order, prefix);
      this.#added.push(prefix);
    }
    prefix.rules.push(rule);
    prefix.ports = null;
  }

  remove(rule: RuleConfig): void {
    const prefix = this.#byOrder.get(orderOf(rule))!;
    prefix.rules.splice(prefix.rules.indexOf(rule), 1);
    prefix.ports = null;
    if (prefix.rules.length > 0) return;
    this.#byOrder.delete(prefix.order);
    this.#hasEmpty = true;
  }

  /** Wider ones before narrower ones, and so each parent before its children. */
  sorted(): readonly Prefix[] {
    if (this.#hasEmpty) this.#sorted = this.#sorted.filter(isUsed);
    // One run of sorted ones, then a few: such an array is sorted with few comparisons.
    if (this.#added.length > 0)
      this.#sorted = [...this.#sorted, ...this.#added.filter(isUsed).sort(byOrder)].sort(byOrder);
    this.#hasEmpty = false;
    this.#added = [];
    return this.#sorted;
  }
}

function isUsed(prefix: Prefix): boolean {
  return prefix.rules.length > 0;
}

function byOrder(a: Prefix, b: Prefix): number {
  return a.order < b.order ? -1 : a.order > b.order ? 1 : 0;
}

function orderOf({ address, prefixBits }: RuleConfig): string {
  return hexOf(withHostBits(address, prefixBits, 0)) + prefixBits.toString(16).padStart(2, '0');
}

function prefixOf({ address, prefixBits }: RuleConfig, order: string): Prefix {
  const last = withHostBits(address, prefixBits, 0xff);
  const next = successorOf(last);
  return {
    order,
    first: boundOf(withHostBits(address, prefixBits, 0)),
    lastHex: hexOf(last),
    next: next === null ? null : boundOf(next),
    rules: [],
    ports: null,
  };
}

/** An address with all its host bits 0, or all 1. */
function withHostBits(address: Uint8Array, prefixBits: number, hostByte: 0 | 0xff): Uint8Array {
  const bytes = address.slice();
  const partial = prefixBits >> 3;
  if (partial === bytes.length) return bytes;
  const hostMask = 0xff >> (prefixBits & 7);
  bytes[partial] = (bytes[partial]! & ~hostMask) | (hostByte & hostMask);
  return bytes.fill(hostByte, partial + 1);
}

function successorOf(address: Uint8Array): Uint8Array | null {
  const next = address.slice();
  for (let i = next.length - 1; i >= 0; i--) {
    next[i]! += 1;
    if (next[i] !== 0) return next;
  }
  return null;
}

function boundOf(address: Uint8Array): Bound {
  const view = new DataView(address.buffer, address.byteOffset, address.byteLength);
  const words = Array.from({ length: address.length / 4 }, (_, i) => view.getUint32(4 * i));
  return { hex: hexOf(address), words };
}

function hexOf(address: Uint8Array): string {
  return Buffer.from(address.buffer, address.byteOffset, address.length).toString('hex');
}

// ---- ports ---------------------------------------------------------------------------------

interface Range {
  readonly first: number;
  readonly last: number;
  /** Place of the rule among those of its prefix. */
  readonly rule: number;
}

/** The port ranges of one prefix, kind after kind. */
interface Ports {
  readonly ranges: readonly Range[];
  /** By kind: how many ranges there are up to and with it. */
  readonly ends: readonly number[];
}

const NO_PORTS: Ports = { ranges: [], ends: [0, 0, 0, 0] };

function portsOf(rules: readonly RuleConfig[]): Ports {
  if (rules.every((rule) => rule.portType === null)) return NO_PORTS;
  const ranges: Range[] = [];
  const ends: number[] = [];
  for (let kind = 0; kind < KINDS; kind++) {
    ranges.push(...disjointRanges(rules, kind));
    ends.push(ranges.length);
  }
  return { ranges, ends };
}

function kindOf(rule: RuleConfig): number {
  if (rule.portType === null) return -1;
  if (rule.action === 'accept') return rule.portType === 'tcp' ? TCP_ACCEPT : UDP_ACCEPT;
  return rule.portType === 'tcp' ? TCP_DROP : UDP_DROP;
}

/** Port ranges of one kind, ascending; where two overlap, the one that begins first has it. */
function disjointRanges(rules: readonly RuleConfig[], kind: number): Range[] {
  const sorted = rules
    .map((rule, place) => ({ kind: kindOf(rule), rule, place }))
    .filter((one) => one.kind === kind)
    .map(({ rule, place }) => ({ first: rule.portFirst, last: rule.portLast, rule: place }))
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

// ---- tables --------------------------------------------------------------------------------

function layOut(prefixes: readonly Prefix[], words: 1 | 4): CompiledTable | null {
  if (prefixes.length === 0) return null;
  const intervals = layOutIntervals(prefixes, words);
  const nodes = layOutNodes(prefixes, intervals.parents);
  return inOneBuffer({ words, ...intervals, ...nodes, ...layOutPorts(prefixes) });
}

type TableArray = Uint32Array | Int32Array | Uint16Array;

/**
 * Moves the arrays of a table into one buffer, for each that is transferred costs the worker some
 * hundred bytes beside the heap, which only a collection of old objects gives back.
 */
function inOneBuffer(table: CompiledTable): CompiledTable {
  const arrays = Object.values(table).filter((value) => ArrayBuffer.isView(value));
  const buffer = new ArrayBuffer(arrays.reduce((sum, array) => sum + alignedBytes(array), 0));
  let at = 0;
  const move = <T extends TableArray>(array: T): T => {
    const Type = array.constructor as new (buffer: ArrayBuffer, at: number, length: number) => T;
    const moved = new Type(buffer, at, array.length);
    moved.set(array);
    at += alignedBytes(array);
    return moved;
  };
  return {
    words: table.words,
    ruleIds: table.ruleIds,
    starts: move(table.starts),
    nodes: move(table.nodes),
    accepts: move(table.accepts),
    drops: move(table.drops),
    portNodes: move(table.portNodes),
    parents: move(table.parents),
    rangeStarts: move(table.rangeStarts),
    portFirsts: move(table.portFirsts),
    portLasts: move(table.portLasts),
    portRules: move(table.portRules),
  };
}

/** Bytes of an array, up to where the next may begin. */
function alignedBytes({ byteLength }: ArrayBufferView): number {
  return (byteLength + 3) & ~3;
}

/** Cuts the whole address space where prefixes begin and end. Says which prefix is around which. */
function layOutIntervals(
  prefixes: readonly Prefix[],
  words: 1 | 4,
): Pick<CompiledTable, 'starts' | 'nodes' | 'parents'> {
  const starts = new Uint32Array((2 * prefixes.length + 1) * words);
  const nodes = new Int32Array(2 * prefixes.length + 1).fill(-1);
  const parents = new Int32Array(prefixes.length);
  let count = 1;
  let lastStart = ''.padStart(words * 8, '0');
  /** The narrowest prefix that is open, and so its parents; -1 outside all. */
  let open = -1;
  const begin = (start: Bound): void => {
    if (lastStart === start.hex) count--;
    for (let word = 0; word < words; word++) starts[count * words + word] = start.words[word]!;
    nodes[count] = open;
    count++;
    lastStart = start.hex;
  };
  const close = (): void => {
    const { next } = prefixes[open]!;
    open = parents[open]!;
    if (next !== null) begin(next);
  };
  for (let i = 0; i < prefixes.length; i++) {
    const { first } = prefixes[i]!;
    while (open !== -1 && prefixes[open]!.lastHex < first.hex) close();
    parents[i] = open;
    open = i;
    begin(first);
  }
  while (open !== -1) close();
  return { starts: starts.slice(0, count * words), nodes: nodes.slice(0, count), parents };
}

/** Lays out what each prefix decides; an accept, a drop and ports around it hold in it too. */
function layOutNodes(
  prefixes: readonly Prefix[],
  parents: Int32Array,
): Pick<CompiledTable, 'ruleIds' | 'accepts' | 'drops' | 'portNodes'> {
  const ruleIds: string[] = [];
  const accepts = new Int32Array(prefixes.length);
  const drops = new Int32Array(prefixes.length);
  const portNodes = new Int32Array(prefixes.length);
  for (let i = 0; i < prefixes.length; i++) {
    const parent = parents[i]!;
    accepts[i] = parent === -1 ? -1 : accepts[parent]!;
    drops[i] = parent === -1 ? -1 : drops[parent]!;
    portNodes[i] = parent === -1 ? -1 : portNodes[parent]!;
    const { rules } = prefixes[i]!;
    for (let place = 0; place < rules.length; place++) {
      const { id, action, portType } = rules[place]!;
      if (portType !== null) portNodes[i] = i;
      else if (action === 'accept') accepts[i] = ruleIds.length;
      else drops[i] = ruleIds.length;
      ruleIds.push(id);
    }
  }
  return { ruleIds, accepts, drops, portNodes };
}

/** Lays out the port ranges of all prefixes, one behind the other. */
function layOutPorts(
  prefixes: readonly Prefix[],
): Pick<CompiledTable, 'rangeStarts' | 'portFirsts' | 'portLasts' | 'portRules'> {
  const rangeStarts = new Int32Array(prefixes.length * KINDS + 1);
  const portFirsts: number[] = [];
  const portLasts: number[] = [];
  const portRules: number[] = [];
  let ruleNumber = 0;
  for (let i = 0; i < prefixes.length; i++) {
    const prefix = prefixes[i]!;
    const { ends, ranges } = (prefix.ports ??= portsOf(prefix.rules));
    for (let kind = 0; kind < KINDS; kind++)
      rangeStarts[i * KINDS + kind + 1] = portRules.length + ends[kind]!;
    for (let place = 0; place < ranges.length; place++) {
      const { first, last, rule } = ranges[place]!;
      portFirsts.push(first);
      portLasts.push(last);
      portRules.push(ruleNumber + rule);
    }
    ruleNumber += prefix.rules.length;
  }
  return {
    rangeStarts,
    portFirsts: new Uint16Array(portFirsts),
    portLasts: new Uint16Array(portLasts),
    portRules: new Int32Array(portRules),
  };
}
