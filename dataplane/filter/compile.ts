// Compiles prefixes and their rules to flat tables, which the workers search without allocating. It
// runs on the main thread. Tables are in memory that all workers share, are never changed, and are
// put in place as a whole.
//
// Two prefixes are disjoint, or one contains the other. Sorted, they divide the address space into
// intervals; each interval has one longest prefix. A decision is a binary search for the interval,
// and then a walk from its prefix to the shorter ones around it that have port rules. The cost
// grows with the logarithm of the number of rules and with the depth of nesting.
//
// The rules of all groups are in one table. There each prefix has an entry for each group that has
// rules for it, and a decision walks all prefixes around the address. So it hardly matters how many
// groups there are and in how many a user is.

import { KINDS } from './ports.ts';
import { type Bound, type Part, partsOf, type Prefix } from './prefixes.ts';

/**
 * The table of one piece of one address family of one scope. All arrays are in one buffer. Node: a
 * prefix. In a table of groups `accepts`, `drops` and `rangeStarts` are by entry, and say what that
 * prefix alone decides.
 */
export interface CompiledTable {
  /** First address of each interval, ascending, `words` numbers each. */
  readonly starts: Uint32Array;
  /** By interval: the node of its longest prefix, -1 where no prefix contains it. */
  readonly nodes: Int32Array;
  /** By node: an accept rule without ports that covers it, -1 for none. */
  readonly accepts: Int32Array;
  /** By node: a drop rule without ports that covers it, -1 for none. */
  readonly drops: Int32Array;
  /** By node: the nearest node with port rules, from it to the shorter prefixes; -1 for none. */
  readonly portNodes: Int32Array;
  /** By node: the next shorter prefix that contains it, -1 for none. */
  readonly parents: Int32Array;
  /** By node: where its entries begin, one more marks the end; empty in a table without groups. */
  readonly entryStarts: Int32Array;
  /** By entry: the number of its group, ascending within a node. */
  readonly groups: Uint16Array;
  /** By node and kind: where its ranges begin; one more entry marks the end. */
  readonly rangeStarts: Int32Array;
  /** First port of each range. Within a node and kind, ranges are ascending and disjoint. */
  readonly portFirsts: Uint16Array;
  /** Last port of each range. */
  readonly portLasts: Uint16Array;
  /** The rule of each range. */
  readonly portRules: Int32Array;
}

/** What changed in one family of one scope. */
export interface CompiledFamily {
  /** 1 word of address (IPv4) or 4 (IPv6). */
  readonly words: 1 | 4;
  /** First address of each piece, ascending, `words` numbers each; the first is zero. */
  readonly firsts: Uint32Array;
  /** The pieces. A number stands for the piece that had that place before; it has not changed. */
  readonly pieces: readonly (CompiledTable | number)[];
}

/** What changed in one scope; null where a family stays as it was. */
export interface CompiledScope {
  readonly ipv4: CompiledFamily | null;
  readonly ipv6: CompiledFamily | null;
  /** Rule numbers that changed their rule; `ids` says the rule of each, null for none. */
  readonly numbers: readonly number[];
  readonly ids: readonly (string | null)[];
  /** By rule number, of those that changed: whether the rule names one address. */
  readonly hosts: ReadonlyMap<number, boolean>;
}

/** Compiles prefixes of `words` words; a prefix must come before those that it contains. */
export type LayOut = (prefixes: readonly Prefix[], words: 1 | 4) => CompiledTable;

/** Compiles the prefixes of a scope that is not of groups. */
export const layOut: LayOut = (prefixes, words) => {
  const intervals = layOutIntervals(prefixes, words);
  const nodes = layOutNodes(prefixes, intervals.parents);
  const ports = layOutPorts(prefixes.flatMap((prefix) => partsOf(prefix)));
  return inOneBuffer({ ...intervals, ...nodes, ...ports, ...NO_ENTRIES });
};

const NO_ENTRIES = { entryStarts: new Int32Array(0), groups: new Uint16Array(0) };

/** Compiles the prefixes of the rules of all groups. */
export const layOutGroups: LayOut = (prefixes, words) => {
  const parts = prefixes.flatMap((prefix) => partsOf(prefix));
  const entryStarts = new Int32Array(prefixes.length + 1);
  for (const [i, prefix] of prefixes.entries())
    entryStarts[i + 1] = entryStarts[i]! + partsOf(prefix).length;
  const accepts = new Int32Array(parts.length).fill(-1);
  const drops = new Int32Array(parts.length).fill(-1);
  for (const [i, { rules }] of parts.entries())
    for (const { rule, number } of rules)
      if (rule.portType === null) (rule.action === 'accept' ? accepts : drops)[i] = number;
  return inOneBuffer({
    ...layOutIntervals(prefixes, words),
    accepts,
    drops,
    portNodes: new Int32Array(0),
    entryStarts,
    groups: Uint16Array.from(parts, ({ group }) => group),
    ...layOutPorts(parts),
  });
};

type TableArray = Uint32Array | Int32Array | Uint16Array;

/**
 * Moves the arrays of a table into one buffer, which all workers read. Each buffer costs a worker
 * some hundred bytes outside the heap until V8 collects old objects.
 */
function inOneBuffer(table: CompiledTable): CompiledTable {
  const arrays = Object.values(table).filter((value) => ArrayBuffer.isView(value));
  const buffer = new SharedArrayBuffer(arrays.reduce((sum, array) => sum + alignedBytes(array), 0));
  let at = 0;
  const move = <T extends TableArray>(array: T): T => {
    const Type = array.constructor as new (
      buffer: SharedArrayBuffer,
      at: number,
      length: number,
    ) => T;
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
    entryStarts: move(table.entryStarts),
    groups: move(table.groups),
    rangeStarts: move(table.rangeStarts),
    portFirsts: move(table.portFirsts),
    portLasts: move(table.portLasts),
    portRules: move(table.portRules),
  };
}

/** Bytes of an array, rounded up to where the next one can begin. */
function alignedBytes({ byteLength }: ArrayBufferView): number {
  return (byteLength + 3) & ~3;
}

/**
 * Divides the address space where prefixes begin and end; `parents` says which prefix is around
 * which.
 */
function layOutIntervals(
  prefixes: readonly Prefix[],
  words: 1 | 4,
): Pick<CompiledTable, 'starts' | 'nodes' | 'parents'> {
  const starts = new Uint32Array((2 * prefixes.length + 1) * words);
  const nodes = new Int32Array(2 * prefixes.length + 1).fill(-1);
  const parents = new Int32Array(prefixes.length);
  let count = 1;
  let lastStart = ''.padStart(words * 8, '0');
  /** The longest prefix that has begun and not ended; -1 for none. */
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

/** Compiles what each prefix decides; the rules of the prefixes around it apply in it too. */
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

/** Compiles port ranges, one part after the other. */
function layOutPorts(
  parts: readonly Part[],
): Pick<CompiledTable, 'rangeStarts' | 'portFirsts' | 'portLasts' | 'portRules'> {
  const rangeStarts = new Int32Array(parts.length * KINDS + 1);
  const portFirsts: number[] = [];
  const portLasts: number[] = [];
  const portRules: number[] = [];
  for (let i = 0; i < parts.length; i++) {
    const { ends, ranges } = parts[i]!.ports;
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
