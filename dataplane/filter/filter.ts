// The packet filter: may this packet, from a device of this scope, go to its destination? The
// owner's rules are asked first, then the global ones, then the default. Within a scope the first
// of these that matches decides: accept with ports, drop with ports, accept, drop. It never sees an
// unauthenticated packet, and knows no keys.

import { GLOBAL_SCOPE, type RuleSample } from '../contract.ts';
import { reasons } from '../reasons.ts';
import { type InnerPacket, LATER_FRAGMENT, PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';
import {
  type CompiledScope,
  type CompiledTable,
  TCP_ACCEPT,
  TCP_DROP,
  UDP_ACCEPT,
  UDP_DROP,
} from './compile.ts';

const KINDS = 4;
const NO_MATCH = -1;

/** In the place of a rule: none did it. */
export const NO_RULE = -1;

/** A table in force, with the hits of its rules. */
interface LiveTable {
  readonly compiled: CompiledTable;
  readonly packets: Float64Array;
  readonly bytes: Float64Array;
  readonly lastHitMs: Float64Array;
}

/** The rules of one scope as they are in force. Stays the same object while its rules change. */
export interface Scope {
  readonly name: string;
  ipv4: LiveTable | null;
  ipv6: LiveTable | null;
  /** Holders that asked for it; without any, and without rules, it is forgotten. */
  holders: number;
}

/** All scopes. */
export class Filter {
  /** What happens to a packet that no rule matches: a reason, or none to accept it. */
  readonly #defaultReason: number;
  readonly #scopes = new Map<string, Scope>();
  readonly #global: Scope;
  /** In an array, because a number in a field, or handed on, may be allocated anew. */
  readonly #wallMs = new Float64Array(1);
  #version = 0;
  #matched = NO_RULE;
  /** Hits of tables that were replaced since the last sample. */
  #retired: RuleSample[] = [];

  constructor(defaultAction: 'accept' | 'drop') {
    this.#defaultReason = defaultAction === 'accept' ? reasons.none : reasons.default_drop;
    this.#global = this.hold(GLOBAL_SCOPE);
  }

  /** The scope of that name, to be judged by; give it back with `release`. */
  hold(name: string): Scope {
    const scope = this.#scope(name);
    scope.holders++;
    return scope;
  }

  release(scope: Scope): void {
    scope.holders--;
    this.#forgetUnused(scope);
  }

  /** Puts new rules of a scope in force at once; null takes all its rules away. */
  swap(name: string, compiled: CompiledScope | null): void {
    const scope = this.#scope(name);
    for (const hits of hitsOf(scope)) if (hits !== null) this.#retired.push(hits);
    scope.ipv4 = compiled?.ipv4 ? liveTable(compiled.ipv4) : null;
    scope.ipv6 = compiled?.ipv6 ? liveTable(compiled.ipv6) : null;
    this.renew();
    this.#forgetUnused(scope);
  }

  /** Sets the Unix time in ms at which what follows is hit. */
  begin(wallMs: number): void {
    this.#wallMs[0] = wallMs;
  }

  /** Grows with every change that may change a verdict. */
  get version(): number {
    return this.#version;
  }

  /** The rule that the last decision was made by, to be counted under that version; or NO_RULE. */
  get matched(): number {
    return this.#matched;
  }

  /** Makes all verdicts so far those of an older version. */
  renew(): void {
    this.#version = (this.#version + 1) | 0;
  }

  /** Judges a packet from a device; reasons.none accepts it. Never allocates. */
  judge(packet: InnerPacket, scope: Scope): number {
    const reason = this.decide(packet, scope);
    this.count(this.#matched, packet, scope);
    return reason;
  }

  /** The same, counting nothing. */
  decide(packet: InnerPacket, scope: Scope): number {
    this.#matched = NO_RULE;
    const own = packet.version === 4 ? scope.ipv4 : scope.ipv6;
    const global = packet.version === 4 ? this.#global.ipv4 : this.#global.ipv6;
    let isGlobal = 0;
    let match = own === null ? NO_MATCH : decide(own.compiled, packet);
    if (match === NO_MATCH && global !== null) {
      isGlobal = 1;
      match = decide(global.compiled, packet);
    }
    if (match === NO_MATCH) return this.#defaultReason;
    if (match === UNSAFE_FRAGMENT) return reasons.inner_fragment_unsafe;
    this.#matched = (match & ~1) | isGlobal;
    return (match & 1) === 0 ? reasons.none : reasons.rule_drop;
  }

  /** Counts a packet for a rule that was `matched` under the version in force. */
  count(matched: number, packet: InnerPacket, scope: Scope): void {
    if (matched === NO_RULE) return;
    const by = (matched & 1) === 1 ? this.#global : scope;
    const table = (packet.version === 4 ? by.ipv4 : by.ipv6)!;
    const rule = matched >> 1;
    table.packets[rule]! += 1;
    table.bytes[rule]! += packet.length;
    table.lastHitMs[rule] = this.#wallMs[0]!;
  }

  /**
   * Takes the hits since the last time; of a rule, or a scope, that has none null. Rules may change
   * between two of them: what that replaces leaves its hits to the next time.
   */
  *takeHits(): Generator<RuleSample | null> {
    const retired = this.#retired;
    this.#retired = [];
    yield* retired;
    for (const scope of this.#scopes.values()) {
      yield null;
      yield* hitsOf(scope);
    }
  }

  #scope(name: string): Scope {
    let scope = this.#scopes.get(name);
    if (scope === undefined) {
      scope = { name, ipv4: null, ipv6: null, holders: 0 };
      this.#scopes.set(name, scope);
    }
    return scope;
  }

  #forgetUnused(scope: Scope): void {
    if (scope.holders === 0 && scope.ipv4 === null && scope.ipv6 === null)
      this.#scopes.delete(scope.name);
  }
}

function liveTable(compiled: CompiledTable): LiveTable {
  const count = compiled.ruleIds.length;
  return {
    compiled,
    packets: new Float64Array(count),
    bytes: new Float64Array(count),
    lastHitMs: new Float64Array(count),
  };
}

/** The hits of a scope's rules, which are zero afterwards; null for each that has none. */
function* hitsOf(scope: Scope): Generator<RuleSample | null> {
  for (const table of [scope.ipv4, scope.ipv6]) {
    if (table === null) continue;
    for (const [rule, id] of table.compiled.ruleIds.entries()) yield takeHitsOf(table, rule, id);
  }
}

function takeHitsOf(table: LiveTable, rule: number, id: string): RuleSample | null {
  const packets = table.packets[rule]!;
  if (packets === 0) return null;
  const hits = { id, packets, bytes: table.bytes[rule]!, lastHitMs: table.lastHitMs[rule]! };
  table.packets[rule] = 0;
  table.bytes[rule] = 0;
  return hits;
}

/** A later fragment whose ports nobody saw, bound for where ports matter. */
const UNSAFE_FRAGMENT = -2;

/** Twice the number of the rule that decides, plus one if it drops; or NO_MATCH. */
function decide(table: CompiledTable, packet: InnerPacket): number {
  const interval =
    table.words === 1
      ? findInterval4(table.starts, packet.destination0)
      : findInterval6(table.starts, packet);
  const node = table.nodes[interval]!;
  if (node === -1) return NO_MATCH;
  const { protocol } = packet;
  if (table.portNodes[node] !== -1 && (protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP)) {
    if (packet.fragment === LATER_FRAGMENT) return UNSAFE_FRAGMENT;
    const isTcp = protocol === PROTOCOL_TCP;
    const port = packet.destinationPort;
    const accepted = findPort(table, node, isTcp ? TCP_ACCEPT : UDP_ACCEPT, port);
    if (accepted !== NO_MATCH) return accepted << 1;
    const dropped = findPort(table, node, isTcp ? TCP_DROP : UDP_DROP, port);
    if (dropped !== NO_MATCH) return (dropped << 1) | 1;
  }
  const accepted = table.accepts[node]!;
  if (accepted !== -1) return accepted << 1;
  const dropped = table.drops[node]!;
  return dropped !== -1 ? (dropped << 1) | 1 : NO_MATCH;
}

/** The rule of one kind whose ports hold `port`, in a node or in those around it. */
function findPort(table: CompiledTable, from: number, kind: number, port: number): number {
  let node = table.portNodes[from]!;
  while (node !== -1) {
    let low = table.rangeStarts[node * KINDS + kind]!;
    let high = table.rangeStarts[node * KINDS + kind + 1]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (table.portLasts[middle]! < port) low = middle + 1;
      else high = middle;
    }
    if (low < table.rangeStarts[node * KINDS + kind + 1]! && table.portFirsts[low]! <= port)
      return table.portRules[low]!;
    const parent = table.parents[node]!;
    node = parent === -1 ? -1 : table.portNodes[parent]!;
  }
  return NO_MATCH;
}

/** The last interval that begins at or before an address. */
function findInterval4(starts: Uint32Array, address: number): number {
  const wanted = address >>> 0;
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

function findInterval6(starts: Uint32Array, packet: InnerPacket): number {
  let low = 0;
  let high = starts.length >>> 2;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isAtOrBefore(starts, middle << 2, packet)) low = middle;
    else high = middle;
  }
  return low;
}

function isAtOrBefore(starts: Uint32Array, at: number, packet: InnerPacket): boolean {
  const word0 = packet.destination0 >>> 0;
  if (starts[at]! !== word0) return starts[at]! < word0;
  const word1 = packet.destination1 >>> 0;
  if (starts[at + 1]! !== word1) return starts[at + 1]! < word1;
  const word2 = packet.destination2 >>> 0;
  if (starts[at + 2]! !== word2) return starts[at + 2]! < word2;
  return starts[at + 3]! <= packet.destination3 >>> 0;
}
