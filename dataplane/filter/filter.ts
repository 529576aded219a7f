// The packet filter: whether a packet of a device of a scope may go to its destination. The rules
// of the owner are asked first, then those of the owner's groups, then the global ones, then the
// default action. Within a scope the first of these that matches decides: accept with ports, drop
// with ports, accept, drop. All groups of an owner are one scope in this sense. The filter never
// sees an unauthenticated packet, and knows no keys.

import {
  besideScope,
  GLOBAL_SCOPE,
  GROUPS_SCOPE,
  type RuleConfig,
  type RuleSample,
} from '../contract.ts';
import { reasons } from '../reasons.ts';
import type { InnerPacket } from '../wire/ip.ts';
import type { CompiledFamily, CompiledScope } from './compile.ts';
import { Hits } from './hits.ts';
import {
  classOf,
  decideIn,
  decideInGroups,
  dropsBy,
  type Family,
  groupBits,
  type Memberships,
  NO_MATCH,
  ruleOf,
} from './match.ts';

/** A version that no verdict has: versions begin with zero. */
const NO_VERSION = -1;

/** In place of a rule: no rule decided. */
export const NO_RULE = -1;

/** Whose rule decided, in the low bits of `matched`: the owner's, a group's, or everyone's. */
const PLACE_BITS = 2;
const PLACE_MASK = (1 << PLACE_BITS) - 1;
const OF_OWNER = 0;
const OF_GROUP = 1;
const OF_ALL = 2;

/**
 * The rules in force of one scope, and the groups whose rules are asked after them. The object
 * stays the same while its rules change.
 */
export interface Scope extends Memberships {
  readonly name: string;
  ipv4: Family | null;
  ipv6: Family | null;
  /** By rule number. */
  hits: Hits;
  /** The numbers of the rules whose destination is one address. */
  hosts: Set<number>;
  /** The staged rules beside it, which decide nothing; null: there are none. */
  staged: Scope | null;
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
  /** The rules of all groups. */
  #groups: Scope;
  #global: Scope;
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #wallMs = new Float64Array(1);
  #version = 0;
  #matched = NO_RULE;
  /** How many scopes have staged rules beside them. */
  #stagedScopes = 0;
  #staged = NO_RULE;
  /** Hits of rules that were removed since the last sample. */
  #retired: RuleSample[] = [];

  constructor(defaultAction: RuleConfig['action']) {
    this.#defaultReason = defaultReasonOf(defaultAction);
    this.#groups = this.hold(GROUPS_SCOPE);
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
    scope.groupBits = groupBits(groups);
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
      scope.hosts = new Set();
    } else {
      const { numbers, ids } = compiled;
      noteHosts(scope.hosts, compiled);
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
    const changed = new Map<string, Scope>();
    for (const { name, compiled } of scopes) {
      const scope = newScope(name);
      const before = this.#scopes.get(name) ?? scope;
      if (compiled !== null) {
        scope.hosts = new Set(before.hosts);
        noteHosts(scope.hosts, compiled);
        scope.ipv4 = familyAfter(before.ipv4, compiled.ipv4);
        scope.ipv6 = familyAfter(before.ipv6, compiled.ipv6);
      }
      changed.set(name, scope);
    }
    filter.#groups = changed.get(GROUPS_SCOPE) ?? this.#groups;
    filter.#global = changed.get(GLOBAL_SCOPE) ?? this.#global;
    const scopeOf = (name: string, groups: string): Scope => {
      const scope = changed.get(name) ?? this.#scopes.get(name) ?? newScope(name);
      if (scope.groups === groups) return scope;
      return { ...scope, groups, groupBits: groupBits(groups) };
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

  /**
   * The staged rule that would have made the last decision if all staged rules were enforced, as
   * `matched` says it; or NO_RULE.
   */
  get staged(): number {
    return this.#staged;
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
    const isIpv4 = packet.version === 4;
    let place = OF_OWNER;
    let family = isIpv4 ? scope.ipv4 : scope.ipv6;
    let match = family === null ? NO_MATCH : decideIn(family, packet);
    if (match === NO_MATCH && scope.groups !== '') {
      place = OF_GROUP;
      family = isIpv4 ? this.#groups.ipv4 : this.#groups.ipv6;
      if (family !== null) match = decideInGroups(family, packet, scope);
    }
    if (match === NO_MATCH) {
      place = OF_ALL;
      family = isIpv4 ? this.#global.ipv4 : this.#global.ipv6;
      if (family !== null) match = decideIn(family, packet);
    }
    if (this.#stagedScopes !== 0) this.#staged = this.#decideStaged(packet, scope, match, place);
    if (match === NO_MATCH) return this.#defaultReason;
    this.#matched = (ruleOf(match) << PLACE_BITS) | place;
    return dropsBy(match) ? reasons.rule_drop : reasons.none;
  }

  /**
   * The staged rule that would decide in place of a match. All other rules decide alike with staged
   * rules beside them, so a staged rule decides where it is asked before the match: in an earlier
   * place, or in the same one with a lower class.
   */
  #decideStaged(packet: InnerPacket, scope: Scope, match: number, place: number): number {
    const last = match === NO_MATCH ? OF_ALL : place;
    let at = OF_OWNER;
    let found = NO_MATCH;
    for (; at <= last; at++) {
      const { staged } = this.#scopeAt(at, scope);
      const family = packet.version === 4 ? staged?.ipv4 : staged?.ipv6;
      if (family == null) continue;
      found = at === OF_GROUP ? decideInGroups(family, packet, scope) : decideIn(family, packet);
      if (found !== NO_MATCH) break;
    }
    if (found === NO_MATCH) return NO_RULE;
    const isSamePlace = match !== NO_MATCH && at === place;
    if (isSamePlace && classOf(match) <= classOf(found)) return NO_RULE;
    return (ruleOf(found) << PLACE_BITS) | at;
  }

  #scopeAt(matched: number, scope: Scope): Scope {
    const place = matched & PLACE_MASK;
    if (place === OF_OWNER) return scope;
    return place === OF_GROUP ? this.#groups : this.#global;
  }

  /** Counts a packet for a rule that was `matched` under the current version. */
  count(matched: number, packet: InnerPacket, scope: Scope): void {
    if (matched === NO_RULE) return;
    const { hits } = this.#scopeAt(matched, scope);
    hits.count(matched >> PLACE_BITS, packet.length, this.#wallMs);
  }

  /** The id of a rule that was `matched` under the current version. */
  idOf(matched: number, scope: Scope): string | null {
    return this.#scopeAt(matched, scope).hits.idOf(matched >> PLACE_BITS);
  }

  /** Whether a rule that was `matched` under the current version names one address. */
  namesHost(matched: number, scope: Scope): boolean {
    return matched !== NO_RULE && this.#scopeAt(matched, scope).hosts.has(matched >> PLACE_BITS);
  }

  /** Counts a packet for a rule that was `staged` under the current version. */
  countStaged(staged: number, packet: InnerPacket, scope: Scope): void {
    const by = this.#scopeAt(staged, scope).staged;
    by?.hits.count(staged >> PLACE_BITS, packet.length, this.#wallMs);
  }

  /** The id of a rule that was `staged` under the current version. */
  stagedIdOf(staged: number, scope: Scope): string | null {
    return this.#scopeAt(staged, scope).staged?.hits.idOf(staged >> PLACE_BITS) ?? null;
  }

  /**
   * Yields the hits of each rule since the last time, null for a rule or scope without hits. Rules
   * may change between two steps; the hits of rules that are removed are kept for the next time.
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
      this.#stageBeside(name, scope);
    }
    return scope;
  }

  /** Puts staged rules beside the rules of their scope, which is held meanwhile. */
  #stageBeside(name: string, staged: Scope): void {
    const beside = besideScope(name);
    if (beside === null) return;
    this.hold(beside).staged = staged;
    this.#stagedScopes++;
  }

  #forgetStaged(name: string): void {
    const beside = besideScope(name);
    if (beside === null) return;
    const scope = this.#scope(beside);
    scope.staged = null;
    this.#stagedScopes--;
    this.#staged = NO_RULE;
    this.release(scope);
  }

  #retire(all: Iterable<RuleSample | null>): void {
    for (const hits of all) if (hits !== null) this.#retired.push(hits);
  }

  #forgetUnused(scope: Scope): void {
    if (scope.holders > 0 || scope.ipv4 !== null || scope.ipv6 !== null) return;
    this.#scopes.delete(scope.name);
    this.#forgetStaged(scope.name);
  }
}

function newScope(name: string): Scope {
  const rules = { ipv4: null, ipv6: null, hits: new Hits(), hosts: new Set<number>() };
  return { name, groups: '', groupBits: 0, ...rules, staged: null, holders: 0 };
}

function defaultReasonOf(action: RuleConfig['action']): number {
  return action === 'accept' ? reasons.none : reasons.default_drop;
}

/** Notes which of the changed rules name one address. */
function noteHosts(noted: Set<number>, { hosts }: CompiledScope): void {
  for (const [number, namesHost] of hosts)
    if (namesHost) noted.add(number);
    else noted.delete(number);
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
