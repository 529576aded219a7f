// The packet filter: whether a packet of a device of a scope may go to its destination. The rules
// of the owner are asked first, then those of the owner's groups, then the global ones, then the
// default action. Within a scope the first of these that matches decides: accept with ports, drop
// with ports, accept, drop. All groups of an owner are one scope in this sense. The filter never
// sees an unauthenticated packet, and knows no keys.

import { GLOBAL_SCOPE, groupOfScope, type RuleConfig, type RuleSample } from '../contract.ts';
import { reasons } from '../reasons.ts';
import { type InnerPacket, LATER_FRAGMENT, PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';
import type { CompiledFamily, CompiledScope, CompiledTable } from './compile.ts';
import { Hits } from './hits.ts';
import { KINDS, TCP_ACCEPT, TCP_DROP, UDP_ACCEPT, UDP_DROP } from './ports.ts';

const NO_MATCH = -1;

/** No verdict has it: versions begin with zero. */
const NO_VERSION = -1;

/** In place of a rule: no rule decided. */
export const NO_RULE = -1;

/** Whose rule decided, in the low bits of `matched`: the owner's, everyone's, or a group's. */
const PLACE_BITS = 8;
const PLACE_MASK = (1 << PLACE_BITS) - 1;
const OF_OWNER = 0;
const OF_ALL = 1;
/** The first group of the owner; the others follow in their order. */
const OF_GROUP = 2;

/** The rules in force of one address family, in pieces that follow each other. */
interface Family {
  readonly words: 1 | 4;
  /** First address of each piece; the first one is zero. */
  readonly firsts: Uint32Array;
  readonly pieces: readonly CompiledTable[];
}

/** The rules in force of one scope. The object stays the same while its rules change. */
export interface Scope {
  readonly name: string;
  /** The numbers of the groups that are asked after it, as code units. */
  groups: string;
  ipv4: Family | null;
  ipv6: Family | null;
  /** By rule number. */
  hits: Hits;
  /** How many hold it; without holders and rules it is forgotten. */
  holders: number;
}

/** A change of rules that is only tried. */
export interface TriedRules {
  /** The scopes that change; null: the scope would have no rules. */
  readonly scopes: readonly { readonly name: string; readonly compiled: CompiledScope | null }[];
  /** Left out: the default action stays. */
  readonly defaultAction?: RuleConfig['action'];
}

/** The rules of all scopes, and the default action. */
export class Filter {
  /** The reason for packets that no rule matches; none accepts them. */
  #defaultReason: number;
  readonly #scopes = new Map<string, Scope>();
  /** By number of the group: its rules. */
  #groups: (Scope | undefined)[] = [];
  /** The group that made the last decision among groups, by its place in the text. */
  #place = 0;
  #global: Scope;
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #wallMs = new Float64Array(1);
  #version = 0;
  #matched = NO_RULE;
  /** Hits of rules that were removed since the last sample. */
  #retired: RuleSample[] = [];

  constructor(defaultAction: RuleConfig['action']) {
    this.#defaultReason = defaultReasonOf(defaultAction);
    this.#global = this.hold(GLOBAL_SCOPE);
  }

  /** Returns the scope of that name and holds it until `release`. */
  hold(name: string): Scope {
    const scope = this.#scope(name);
    scope.holders++;
    return scope;
  }

  release(scope: Scope): void {
    scope.holders--;
    this.#forgetUnused(scope);
  }

  /** Sets the groups whose rules are asked after those of a scope, at once. */
  join(scope: Scope, groups: string): void {
    if (scope.groups === groups) return;
    scope.groups = groups;
    this.renew();
  }

  /** Puts changes of a scope in force at once; null removes all its rules. */
  change(name: string, compiled: CompiledScope | null): void {
    const scope = this.#scope(name);
    if (compiled === null) {
      this.#retire(scope.hits.take());
      scope.ipv4 = null;
      scope.ipv6 = null;
      scope.hits = new Hits();
    } else {
      const { numbers, ids } = compiled;
      this.#retire(numbers.map((number, i) => scope.hits.rename(number, ids[i]!)));
      scope.ipv4 = familyAfter(scope.ipv4, compiled.ipv4);
      scope.ipv6 = familyAfter(scope.ipv6, compiled.ipv6);
    }
    this.renew();
    this.#forgetUnused(scope);
  }

  /**
   * The rules after a change that is only tried; this filter stays as it is. No flow has a verdict
   * of the tried one.
   */
  tried({ scopes, defaultAction }: TriedRules): {
    readonly filter: Filter;
    /** The scope of that name after the change, with its groups after it. */
    readonly scopeOf: (name: string, groups: string) => Scope;
  } {
    const filter = new Filter('accept');
    filter.#defaultReason =
      defaultAction === undefined ? this.#defaultReason : defaultReasonOf(defaultAction);
    filter.#version = NO_VERSION;
    filter.#groups = [...this.#groups];
    const changed = new Map<string, Scope>();
    for (const { name, compiled } of scopes) {
      const scope = newScope(name);
      const before = this.#scopes.get(name) ?? scope;
      if (compiled !== null) {
        scope.ipv4 = familyAfter(before.ipv4, compiled.ipv4);
        scope.ipv6 = familyAfter(before.ipv6, compiled.ipv6);
      }
      changed.set(name, scope);
      const number = groupOfScope(name);
      if (number !== null) filter.#groups[number] = scope;
    }
    filter.#global = changed.get(GLOBAL_SCOPE) ?? this.#global;
    const scopeOf = (name: string, groups: string): Scope => {
      const scope = changed.get(name) ?? this.#scopes.get(name) ?? newScope(name);
      return scope.groups === groups ? scope : { ...scope, groups };
    };
    return { filter, scopeOf };
  }

  /** Sets what happens to packets that no rule matches, at once. */
  setDefault(action: RuleConfig['action']): void {
    this.#defaultReason = defaultReasonOf(action);
    this.renew();
  }

  /** Sets the time of the next hits, as Unix time in ms. */
  begin(wallMs: number): void {
    this.#wallMs[0] = wallMs;
  }

  /** Grows with every change that can change a verdict. */
  get version(): number {
    return this.#version;
  }

  /**
   * The rule that made the last decision: its number in its scope, and in the low bits which scope
   * that is; or NO_RULE. Valid while `version` is the same.
   */
  get matched(): number {
    return this.#matched;
  }

  /** Makes all verdicts before this one outdated. */
  renew(): void {
    this.#version = (this.#version + 1) | 0;
  }

  /**
   * Judges a packet of a device and counts nothing; reasons.none accepts it, and `matched` says the
   * rule. Never allocates.
   */
  decide(packet: InnerPacket, scope: Scope): number {
    this.#matched = NO_RULE;
    const own = packet.version === 4 ? scope.ipv4 : scope.ipv6;
    const global = packet.version === 4 ? this.#global.ipv4 : this.#global.ipv6;
    let place = OF_OWNER;
    let match = own === null ? NO_MATCH : decideIn(own, packet);
    if (match === NO_MATCH && scope.groups !== '') {
      match = this.#decideInGroups(packet, scope.groups);
      place = this.#place;
    }
    if (match === NO_MATCH && global !== null) {
      place = OF_ALL;
      match = decideIn(global, packet);
    }
    if (match === NO_MATCH) return this.#defaultReason;
    if (match === UNSAFE_FRAGMENT) return reasons.inner_fragment_unsafe;
    this.#matched = ((match >> CLASS_BITS) << PLACE_BITS) | place;
    return (match & 1) === 0 ? reasons.none : reasons.rule_drop;
  }

  /** Decides in all groups as in one scope: the lowest class decides, of whichever group. */
  #decideInGroups(packet: InnerPacket, groups: string): number {
    let best = NO_MATCH;
    for (let i = 0; i < groups.length; i++) {
      const scope = this.#groups[groups.charCodeAt(i)];
      if (scope === undefined) continue;
      const family = packet.version === 4 ? scope.ipv4 : scope.ipv6;
      const match = family === null ? NO_MATCH : decideIn(family, packet);
      if (match === NO_MATCH) continue;
      if (match === UNSAFE_FRAGMENT) return UNSAFE_FRAGMENT;
      if (best !== NO_MATCH && (match & CLASS_MASK) >= (best & CLASS_MASK)) continue;
      best = match;
      this.#place = Math.min(OF_GROUP + i, PLACE_MASK);
      if ((match & CLASS_MASK) === ACCEPT_PORT) break;
    }
    return best;
  }

  #scopeAt(matched: number, scope: Scope): Scope | undefined {
    const place = matched & PLACE_MASK;
    if (place === OF_OWNER) return scope;
    return place === OF_ALL
      ? this.#global
      : this.#groups[scope.groups.charCodeAt(place - OF_GROUP)];
  }

  /** Counts a packet for a rule that was `matched` under the current version. */
  count(matched: number, packet: InnerPacket, scope: Scope): void {
    if (matched === NO_RULE) return;
    const by = this.#scopeAt(matched, scope);
    by?.hits.count(matched >> PLACE_BITS, packet.length, this.#wallMs);
  }

  /** The id of a rule that was `matched` under the current version. */
  idOf(matched: number, scope: Scope): string | null {
    return this.#scopeAt(matched, scope)?.hits.idOf(matched >> PLACE_BITS) ?? null;
  }

  /**
   * Yields the hits of each rule since the last time, null for a rule or scope without hits. Rules
   * may change between two steps; the hits of what goes are kept for the next time.
   */
  *takeHits(): Generator<RuleSample | null> {
    const retired = this.#retired;
    this.#retired = [];
    yield* retired;
    for (const scope of this.#scopes.values()) {
      yield null;
      yield* scope.hits.take();
    }
  }

  #scope(name: string): Scope {
    let scope = this.#scopes.get(name);
    if (scope === undefined) {
      scope = newScope(name);
      this.#scopes.set(name, scope);
      const number = groupOfScope(name);
      if (number !== null) this.#groups[number] = scope;
    }
    return scope;
  }

  #retire(all: Iterable<RuleSample | null>): void {
    for (const hits of all) if (hits !== null) this.#retired.push(hits);
  }

  #forgetUnused(scope: Scope): void {
    if (scope.holders > 0 || scope.ipv4 !== null || scope.ipv6 !== null) return;
    this.#scopes.delete(scope.name);
    const number = groupOfScope(scope.name);
    if (number !== null) this.#groups[number] = undefined;
  }
}

function newScope(name: string): Scope {
  return { name, groups: '', ipv4: null, ipv6: null, hits: new Hits(), holders: 0 };
}

function defaultReasonOf(action: RuleConfig['action']): number {
  return action === 'accept' ? reasons.none : reasons.default_drop;
}

/** Puts new pieces and unchanged ones in their places; null where no rules are left. */
function familyAfter(before: Family | null, change: CompiledFamily | null): Family | null {
  if (change === null) return before;
  if (change.pieces.length === 0) return null;
  const { words, firsts } = change;
  const pieces = change.pieces.map((piece) =>
    typeof piece === 'number' ? before!.pieces[piece]! : piece,
  );
  return { words, firsts, pieces };
}

/** In place of a match: a later fragment with unknown ports, to a destination with port rules. */
const UNSAFE_FRAGMENT = -2;

/** The classes of rules, in the order in which they are asked; those that drop are odd. */
const ACCEPT_PORT = 0;
const DROP_PORT = 1;
const ACCEPT = 2;
const DROP = 3;
const CLASS_BITS = 2;
const CLASS_MASK = (1 << CLASS_BITS) - 1;

/** The number of the rule that decides, then its class; or NO_MATCH or UNSAFE_FRAGMENT. */
function decideIn(family: Family, packet: InnerPacket): number {
  const table = family.pieces[find(family.firsts, family.words, packet)]!;
  const interval = find(table.starts, family.words, packet);
  const node = table.nodes[interval]!;
  if (node === -1) return NO_MATCH;
  const { protocol } = packet;
  if (table.portNodes[node] !== -1 && mayHavePorts(packet)) {
    if (packet.fragment === LATER_FRAGMENT) return UNSAFE_FRAGMENT;
    const isTcp = protocol === PROTOCOL_TCP;
    const port = packet.destinationPort;
    const accepted = findPort(table, node, isTcp ? TCP_ACCEPT : UDP_ACCEPT, port);
    if (accepted !== NO_MATCH) return (accepted << CLASS_BITS) | ACCEPT_PORT;
    const dropped = findPort(table, node, isTcp ? TCP_DROP : UDP_DROP, port);
    if (dropped !== NO_MATCH) return (dropped << CLASS_BITS) | DROP_PORT;
  }
  const accepted = table.accepts[node]!;
  if (accepted !== -1) return (accepted << CLASS_BITS) | ACCEPT;
  const dropped = table.drops[node]!;
  return dropped !== -1 ? (dropped << CLASS_BITS) | DROP : NO_MATCH;
}

/**
 * Whether a packet can have ports. A later IPv6 fragment does not reliably say its protocol (RFC
 * 8200, 4.5).
 */
function mayHavePorts({ protocol, version, fragment }: InnerPacket): boolean {
  if (protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP) return true;
  return version === 6 && fragment === LATER_FRAGMENT;
}

/** The rule of one kind whose ports contain `port`, in a node or in those around it. */
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

/** The last of some ascending addresses that is not after the destination of a packet. */
function find(addresses: Uint32Array, words: 1 | 4, packet: InnerPacket): number {
  return words === 1 ? find4(addresses, packet.destination0) : find6(addresses, packet);
}

function find4(addresses: Uint32Array, address: number): number {
  const wanted = address >>> 0;
  let low = 0;
  let high = addresses.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (addresses[middle]! <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

function find6(addresses: Uint32Array, packet: InnerPacket): number {
  let low = 0;
  let high = addresses.length >>> 2;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isAtOrBefore(addresses, middle << 2, packet)) low = middle;
    else high = middle;
  }
  return low;
}

function isAtOrBefore(addresses: Uint32Array, at: number, packet: InnerPacket): boolean {
  const word0 = packet.destination0 >>> 0;
  if (addresses[at]! !== word0) return addresses[at]! < word0;
  const word1 = packet.destination1 >>> 0;
  if (addresses[at + 1]! !== word1) return addresses[at + 1]! < word1;
  const word2 = packet.destination2 >>> 0;
  if (addresses[at + 2]! !== word2) return addresses[at + 2]! < word2;
  return addresses[at + 3]! <= packet.destination3 >>> 0;
}
