// Finds the steps from the configuration in force to another one. The configuration in force is
// kept here, so an amendment costs what it names and not what there is. A whole configuration
// becomes an amendment that also names everything that must go.

import {
  type Amendment,
  besideScope,
  type GatewayConfig,
  groupOfScope,
  groupScope,
  GROUPS_SCOPE,
  type PeerConfig,
  type PlacedPeer,
  type RuleConfig,
  stagedScope,
} from './contract.ts';
import type { CompiledScope } from './filter/compile.ts';
import { type RuleStep, ScopeRules } from './filter/scope-rules.ts';
import { type Place, Places } from './places.ts';
import { type Comparison, sameBytes, sameParts } from './wire/bytes.ts';
import { type NetworkRange, sameNetworks } from './wire/network.ts';
import { losesAddress } from './wireguard/known-peer.ts';

/** The steps from one configuration to another, in the order in which they are taken. */
export interface Change {
  /** Public keys. */
  readonly removed: readonly string[];
  readonly updated: readonly PeerConfig[];
  readonly added: readonly PlacedPeer[];
  /** What changed in which scopes; `compiled` is null for a scope that has no rules left. */
  readonly scopes: readonly { readonly name: string; readonly compiled: CompiledScope | null }[];
  /** Whether packets are refused, whatever peers and rules say; left out: as before. */
  readonly isClosed?: boolean;
  /** What happens to packets that no rule matches; left out: as before. */
  readonly defaultAction?: RuleConfig['action'];
}

/** What a change would do to the packets of peers that are served, for a trial of it. */
export interface TriedChange {
  /** Peers that would go, have other addresses or rules, or be stopped or freed by a quota. */
  readonly peers: readonly TriedPeer[];
  readonly scopes: Change['scopes'];
  /** What would happen to packets that no rule matches; left out: the same as now. */
  readonly defaultAction?: RuleConfig['action'];
}

/** A peer after a change. */
export interface TriedPeer {
  readonly publicKey: string;
  /** Whether it would lose the address that it has now, or a network behind it. */
  readonly losesIpv4: boolean;
  readonly losesIpv6: boolean;
  /** The name of its rules; null: it would be removed. */
  readonly scope: string | null;
  /** The groups whose rules are asked after those. */
  readonly groups: string;
  readonly isOverQuota: boolean;
}

/**
 * The configuration that a gateway obeys; at first it is empty. A change is made whole and handed
 * over, or not at all: where compiling fails, for example for lack of memory, it is undone, and the
 * caller tries again (decisions/2026-11-23-one-ledger.md).
 */
export class ConfigInForce {
  readonly #peers = new Map<string, PeerConfig>();
  /** By public key: the place of each peer. */
  readonly #placeOf = new Map<string, Place>();
  readonly #places = new Places();
  /** By name; those that have rules. GROUPS_SCOPE has those of all groups. */
  readonly #scopes = new Map<string, ScopeRules>();
  #isClosed = false;
  /**
   * Undefined until an amendment sets it; until then the default action of the gateway's options
   * applies.
   */
  #defaultAction: RuleConfig['action'] | undefined;
  readonly #pieceMax: number | undefined;
  /** How often what is in force has changed. */
  #version = 0;

  /** `pieceMax`: how many prefixes are compiled together. */
  constructor(pieceMax?: number) {
    this.#pieceMax = pieceMax;
  }

  /** By public key. */
  get peers(): ReadonlyMap<string, PeerConfig> {
    return this.#peers;
  }

  /** All networks behind peers. */
  get routes(): NetworkRange[] {
    return [...this.#peers.values()].flatMap(({ routes = [] }) => routes);
  }

  /** Whether an amendment can change the networks behind peers. */
  changesRoutes({ peers }: Pick<Amendment, 'peers'>): boolean {
    const hasSome = (peer: PeerConfig | null | undefined): boolean =>
      (peer?.routes ?? []).length > 0;
    return [...peers].some(([key, peer]) => hasSome(peer) || hasSome(this.#peers.get(key)));
  }

  /** Makes a configuration the one in force. */
  replace(desired: GatewayConfig): Change {
    return this.amend(this.amendmentTo(desired));
  }

  /** The amendment that makes a configuration the one in force. */
  amendmentTo({ peers, rules }: GatewayConfig): Amendment {
    const namedPeers = new Map<string, PeerConfig | null>(peers);
    for (const key of this.#peers.keys()) if (!peers.has(key)) namedPeers.set(key, null);
    const namedRules = new Map<string, Map<string, RuleConfig[]>>();
    for (const [name, ofScope] of rules)
      namedRules.set(name, new Map(Map.groupBy(ofScope, (rule) => rule.id)));
    for (const [place, scope] of this.#scopes)
      for (const { rule, group } of scope.rules()) {
        const name = nameOf(place, group);
        const named = namedRules.get(name) ?? new Map<string, RuleConfig[]>();
        if (!named.has(rule.id)) named.set(rule.id, []);
        namedRules.set(name, named);
      }
    return { peers: namedPeers, rules: namedRules };
  }

  /** Changes some entries; where it throws, nothing has changed. */
  amend(amendment: Amendment): Change {
    const scopes = this.#amendScopes(amendment);
    this.#version++;
    return {
      ...this.#amendPeers(amendment),
      scopes,
      ...this.#close(amendment.isClosed),
      ...this.#setDefault(amendment.defaultAction),
    };
  }

  /** What an amendment would change of what is in force, at the moment of each call. */
  trial(amendment: Amendment): () => TriedChange {
    let version = this.#version;
    let change = this.#tried(amendment);
    return () => {
      if (version !== this.#version) {
        version = this.#version;
        change = this.#tried(amendment);
      }
      return change;
    };
  }

  #tried({ peers, rules, defaultAction }: Amendment): TriedChange {
    const drafts: Draft[] = [];
    try {
      this.#takeSteps(rules, drafts);
      return {
        peers: this.#triedPeers(peers),
        scopes: compiled(drafts),
        ...(defaultAction === undefined ? {} : { defaultAction }),
      };
    } finally {
      for (const { scope, steps } of drafts) scope.undo(steps);
    }
  }

  /** The steps from nothing to what is in force. */
  fromNothing(): Change {
    const scopes = [...this.#scopes].map(([name, rules]) => ({
      name,
      compiled: rules.compileAll(),
    }));
    for (const rules of this.#scopes.values()) rules.handOverAll();
    const closed = this.#isClosed ? { isClosed: true } : {};
    const action = this.#defaultAction === undefined ? {} : { defaultAction: this.#defaultAction };
    const added = [...this.#peers.values()].map((peer) => this.#placed(peer));
    return { removed: [], updated: [], added, scopes, ...closed, ...action };
  }

  #close(isClosed = this.#isClosed): Pick<Change, 'isClosed'> {
    if (isClosed === this.#isClosed) return {};
    this.#isClosed = isClosed;
    return { isClosed };
  }

  #setDefault(action = this.#defaultAction): Pick<Change, 'defaultAction'> {
    if (action === undefined || action === this.#defaultAction) return {};
    this.#defaultAction = action;
    return { defaultAction: action };
  }

  #amendPeers({ peers }: Amendment): Omit<Change, 'scopes'> {
    const removed: string[] = [];
    const updated: PeerConfig[] = [];
    const added: PlacedPeer[] = [];
    for (const [key, peer] of peers) {
      const present = this.#peers.get(key);
      if (peer === null) {
        if (!this.#peers.delete(key)) continue;
        removed.push(key);
        this.#places.takeBack(this.#placeOf.get(key)!);
        this.#placeOf.delete(key);
        continue;
      }
      this.#peers.set(key, peer);
      if (present === undefined) added.push(this.#placed(peer));
      else if (!sameParts(PEER_PARTS, present, peer)) updated.push(peer);
    }
    return { removed, updated, added };
  }

  /** The peer with its place, which is given when it is asked for first. */
  #placed(peer: PeerConfig): PlacedPeer {
    const { publicKey } = peer;
    const place = this.#placeOf.get(publicKey) ?? this.#places.give();
    this.#placeOf.set(publicKey, place);
    return { ...peer, ...place };
  }

  #amendScopes({ rules }: Amendment): Change['scopes'] {
    const drafts: Draft[] = [];
    try {
      this.#takeSteps(rules, drafts);
      return this.#handOver(drafts);
    } catch (error) {
      for (const { scope, steps } of drafts) scope.undo(steps);
      throw error;
    }
  }

  /** Takes the steps of a change of rules; `drafts` has what is taken also where this throws. */
  #takeSteps(rules: Amendment['rules'], drafts: Draft[]): void {
    const ofGroups = new Map<string, Draft>();
    for (const [name, ofScope] of rules) {
      const { place, group } = compiledPlaceOf(name);
      let draft = ofGroups.get(place);
      if (draft === undefined) {
        draft = this.#draft(place);
        drafts.push(draft);
      }
      if (group !== null) ofGroups.set(place, draft);
      for (const [id, ofId] of ofScope) {
        const step = draft.scope.set(id, ofId, group ?? 0);
        if (step !== null) draft.steps.push(step);
      }
    }
  }

  #triedPeers(peers: Amendment['peers']): TriedPeer[] {
    const tried: TriedPeer[] = [];
    for (const [publicKey, after] of peers) {
      const present = this.#peers.get(publicKey);
      if (present === undefined) continue;
      const losesIpv4 = losesAddress(present, after, 4);
      const losesIpv6 = losesAddress(present, after, 6);
      const scope = after?.scope ?? null;
      const groups = after?.groups ?? '';
      const hasOtherRules = scope !== present.scope || groups !== (present.groups ?? '');
      const isOverQuota = after?.isOverQuota ?? false;
      const isOther = hasOtherRules || isOverQuota !== (present.isOverQuota ?? false);
      if (losesIpv4 || losesIpv6 || isOther)
        tried.push({ publicKey, losesIpv4, losesIpv6, scope, groups, isOverQuota });
    }
    return tried;
  }

  #draft(name: string): Draft {
    const isOfGroups = name === GROUPS_SCOPE || name === STAGED_OF_GROUPS;
    const scope = this.#scopes.get(name) ?? new ScopeRules(this.#pieceMax, isOfGroups);
    return { name, scope, steps: [] };
  }

  /** Compiles all drafts, which may fail. Only after that are they counted as handed over. */
  #handOver(drafts: readonly Draft[]): Change['scopes'] {
    const scopes = compiled(drafts);
    for (const { name, scope, steps } of drafts) {
      if (steps.length === 0) continue;
      scope.handOver();
      if (scope.isEmpty) this.#scopes.delete(name);
      else this.#scopes.set(name, scope);
    }
    return scopes;
  }
}

/** Name of the staged rules of all groups. */
const STAGED_OF_GROUPS = stagedScope(GROUPS_SCOPE);

/** Where the rules of a scope are compiled: those of all groups are together. */
function compiledPlaceOf(scope: string): { readonly place: string; readonly group: number | null } {
  const group = groupOfScope(scope);
  if (group === null) return { place: scope, group };
  return { place: besideScope(scope) === null ? GROUPS_SCOPE : STAGED_OF_GROUPS, group };
}

/** The scope of a rule by where it is compiled, and by its group. */
function nameOf(place: string, group: number): string {
  if (place === GROUPS_SCOPE) return groupScope(group);
  return place === STAGED_OF_GROUPS ? stagedScope(groupScope(group)) : place;
}

/** What an amendment changes in one scope, before it is known whether that can be compiled. */
interface Draft {
  readonly name: string;
  readonly scope: ScopeRules;
  readonly steps: RuleStep[];
}

/** Compiles the drafts that change something. */
function compiled(drafts: readonly Draft[]): Change['scopes'] {
  return drafts
    .filter(({ steps }) => steps.length > 0)
    .map(({ name, scope, steps }) => ({
      name,
      compiled: scope.isEmpty ? null : scope.compile(steps),
    }));
}

/** Whether a change changes anything. */
export function isEmpty(change: Change): boolean {
  // Each part is named here: a new part that is missing does not compile.
  const parts = {
    removed: change.removed.length,
    updated: change.updated.length,
    added: change.added.length,
    scopes: change.scopes.length,
    isClosed: change.isClosed === undefined ? 0 : 1,
    defaultAction: change.defaultAction === undefined ? 0 : 1,
  } satisfies Record<keyof Change, number>;
  return Object.values(parts).every((count) => count === 0);
}

function sameOrNone(a: number | null | undefined, b: number | null | undefined): boolean {
  return (a ?? null) === (b ?? null);
}

const PEER_PARTS: Comparison<PeerConfig> = {
  // The two were found by it, so it is equal.
  publicKey: () => true,
  presharedKey: sameBytes,
  ipv4: sameBytes,
  ipv6: sameBytes,
  routes: sameNetworks,
  scope: Object.is,
  groups: (a, b) => (a ?? '') === (b ?? ''),
  mtu: sameOrNone,
  limitDown: sameOrNone,
  limitUp: sameOrNone,
  isOverQuota: (a, b) => (a ?? false) === (b ?? false),
  // It matters only when a peer is added.
  resume: () => true,
};
