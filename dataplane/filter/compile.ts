// Lays out prefixes and their rules as flat tables that the worker can search without allocating.
// It runs on the main thread; the tables are transferred and put in their places in whole.
//
// Prefixes either nest or are disjoint. Sorted, they cut the address space into intervals, each of
// which has one narrowest prefix. A decision is a binary search for the interval and a walk from
// that prefix to the wider ones around it that have port rules: its cost grows with the logarithm
// of the number of rules and with the depth of nesting, never with the number of rules.

import { KINDS } from './ports.ts';
import { type Bound, portsOf, type Prefix } from './prefixes.ts';

/** One piece of one family of one scope: arrays in one buffer that can be transferred. */
export interface CompiledTable {
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

/** What changed in one family of one scope. */
export interface CompiledFamily {
  /** 1 word of address (IPv4) or 4 (IPv6). */
  readonly words: 1 | 4;
  /** First address of each piece, ascending, `words` numbers each; the first is zero. */
  readonly firsts: Uint32Array;
  /** The pieces; a number stands for the one that had that place before, and is as it was. */
  readonly pieces: readonly (CompiledTable | number)[];
}

/** What changed in one scope; null where a family stays as it was. */
export interface CompiledScope {
  readonly ipv4: CompiledFamily | null;
  readonly ipv6: CompiledFamily | null;
  /** Rule numbers that became a rule's, or nobody's, and whose each is now. */
  readonly numbers: readonly number[];
  readonly ids: readonly (string | null)[];
}

/** The buffers of a compiled scope, for a transfer list. */
export function buffersOf({ ipv4, ipv6 }: CompiledScope): ArrayBuffer[] {
  return [ipv4, ipv6].flatMap((family) =>
    (family?.pieces ?? []).flatMap((piece) =>
      typeof piece === 'number' ? [] : [piece.starts.buffer as ArrayBuffer],
    ),
  );
}

/** Lays out prefixes of `words` words; each must stand before those that it holds. */
export function layOut(prefixes: readonly Prefix[], words: 1 | 4): CompiledTable {
  const intervals = layOutIntervals(prefixes, words);
  const nodes = layOutNodes(prefixes, intervals.parents);
  return inOneBuffer({ ...intervals, ...nodes, ...layOutPorts(prefixes) });
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
): Pick<CompiledTable, 'accepts' | 'drops' | 'portNodes'> {
  const accepts = new Int32Array(prefixes.length);
  const drops = new Int32Array(prefixes.length);
  const portNodes = new Int32Array(prefixes.length);
  for (let i = 0; i < prefixes.length; i++) {
    const parent = parents[i]!;
    accepts[i] = parent === -1 ? -1 : accepts[parent]!;
    drops[i] = parent === -1 ? -1 : drops[parent]!;
    portNodes[i] = parent === -1 ? -1 : portNodes[parent]!;
    for (const { rule, number } of prefixes[i]!.rules)
      if (rule.portType !== null) portNodes[i] = i;
      else if (rule.action === 'accept') accepts[i] = number;
      else drops[i] = number;
  }
  return { accepts, drops, portNodes };
}

/** Lays out the port ranges of all prefixes, one behind the other. */
function layOutPorts(
  prefixes: readonly Prefix[],
): Pick<CompiledTable, 'rangeStarts' | 'portFirsts' | 'portLasts' | 'portRules'> {
  const rangeStarts = new Int32Array(prefixes.length * KINDS + 1);
  const portFirsts: number[] = [];
  const portLasts: number[] = [];
  const portRules: number[] = [];
  for (let i = 0; i < prefixes.length; i++) {
    const { ends, ranges } = portsOf(prefixes[i]!);
    for (let kind = 0; kind < KINDS; kind++)
      rangeStarts[i * KINDS + kind + 1] = portRules.length + ends[kind]!;
    for (const { first, last, rule } of ranges) {
      portFirsts.push(first);
      portLasts.push(last);
      portRules.push(rule);
    }
  }
  return {
    rangeStarts,
    portFirsts: new Uint16Array(portFirsts),
    portLasts: new Uint16Array(portLasts),
    portRules: new Int32Array(portRules),
  };
}
