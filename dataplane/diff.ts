// What must change so that a gateway that obeys one configuration obeys another. What it obeys is
// held here, so that an amendment costs what it names and not what there is. A whole configuration
// is an amendment that also names all that is and should not be, so that nothing is left behind.

import type { Amendment, GatewayConfig, PeerConfig, RuleConfig } from './contract.ts';
import type { CompiledScope } from './filter/compile.ts';
import { ScopeRules } from './filter/scope-rules.ts';
import { type Comparison, sameBytes, sameParts } from './wire/bytes.ts';

/** The steps from one configuration to another, in the order in which they are taken. */
export interface Change {
  /** Public keys. */
  readonly removed: readonly string[];
  readonly updated: readonly PeerConfig[];
  readonly added: readonly PeerConfig[];
  /** What changed in which scopes; null for a scope that has no rules left. */
  readonly scopes: readonly { readonly name: string; readonly compiled: CompiledScope | null }[];
  /** Whether packets are refused, whatever peers and rules say; left out: as before. */
  readonly isClosed?: boolean;
  /** What happens to packets that no rule matches; left out: as before. */
  readonly defaultAction?: RuleConfig['action'];
}

/**
 * The configuration that a gateway obeys; nothing, to begin with. What was amended and could not be
 * compiled, for want of memory say, stands and stays untold until the next change.
 */
export class Standing {
  readonly #peers = new Map<string, PeerConfig>();
  readonly #scopes = new Map<string, ScopeRules>();
  /** Peers of which something may be untold: by public key, what was told last; null for none. */
  readonly #toldPeers = new Map<string, PeerConfig | null>();
  /** Names of scopes of which something is untold. */
  readonly #untoldScopes = new Set<string>();
  #isClosed = false;
  /** Undefined until an amendment says it: then that of the gateway's options is in force. */
  #defaultAction: RuleConfig['action'] | undefined;
  readonly #pieceMax: number | undefined;

  /** `pieceMax`: how many prefixes are compiled together. */
  constructor(pieceMax?: number) {
    this.#pieceMax = pieceMax;
  }

  /** By public key. */
  get peers(): ReadonlyMap<string, PeerConfig> {
    return this.#peers;
  }

  /** Makes a configuration the one that stands. */
  replace(desired: GatewayConfig): Change {
    return this.amend(this.#amendmentTo(desired));
  }

  /** Makes some entries what they should be. */
  amend(amendment: Amendment): Change {
    this.#amendPeers(amendment);
    this.#amendScopes(amendment);
    const scopes = this.#tellScopes();
    return {
      ...this.#tellPeers(),
      scopes,
      ...this.#close(amendment.isClosed),
      ...this.#setDefault(amendment.defaultAction),
    };
  }

  /** The steps from nothing to what stands. */
  fromNothing(): Change {
    this.#untoldScopes.clear();
    for (const [name, rules] of this.#scopes) {
      rules.forget();
      if (rules.isEmpty) this.#scopes.delete(name);
      else this.#untoldScopes.add(name);
    }
    const scopes = this.#tellScopes();
    this.#toldPeers.clear();
    const closed = this.#isClosed ? { isClosed: true } : {};
    const action = this.#defaultAction === undefined ? {} : { defaultAction: this.#defaultAction };
    const added = [...this.#peers.values()];
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

  #amendPeers({ peers }: Amendment): void {
    for (const [key, peer] of peers) {
      if (!this.#toldPeers.has(key)) this.#toldPeers.set(key, this.#peers.get(key) ?? null);
      if (peer === null) this.#peers.delete(key);
      else this.#peers.set(key, peer);
    }
  }

  #amendScopes({ rules }: Amendment): void {
    for (const [name, ofScope] of rules) {
      const scope = this.#scopes.get(name) ?? new ScopeRules(this.#pieceMax);
      let hasChanged = false;
      for (const [id, ofId] of ofScope) hasChanged = scope.set(id, ofId) || hasChanged;
      if (!hasChanged) continue;
      this.#scopes.set(name, scope);
      this.#untoldScopes.add(name);
    }
  }

  #tellPeers(): Omit<Change, 'scopes'> {
    const removed: string[] = [];
    const updated: PeerConfig[] = [];
    const added: PeerConfig[] = [];
    for (const [key, told] of this.#toldPeers) {
      const peer = this.#peers.get(key);
      if (peer === undefined) {
        if (told !== null) removed.push(key);
      } else if (told === null) added.push(peer);
      else if (!sameParts(PEER_PARTS, told, peer)) updated.push(peer);
    }
    this.#toldPeers.clear();
    return { removed, updated, added };
  }

  /** Compiles what is untold of each scope. Only when all of it is there does it count as told. */
  #tellScopes(): Change['scopes'] {
    const untold = [...this.#untoldScopes].map((name) => ({
      name,
      rules: this.#scopes.get(name)!,
    }));
    const scopes = untold.map(({ name, rules }) => ({
      name,
      compiled: rules.isEmpty ? null : rules.untold(),
    }));
    for (const { name, rules } of untold) {
      rules.told();
      if (rules.isEmpty) this.#scopes.delete(name);
    }
    this.#untoldScopes.clear();
    return scopes;
  }

  #amendmentTo({ peers, rules }: GatewayConfig): Amendment {
    const namedPeers = new Map<string, PeerConfig | null>(peers);
    for (const key of this.#peers.keys()) if (!peers.has(key)) namedPeers.set(key, null);
    const namedRules = new Map<string, Map<string, RuleConfig[]>>();
    for (const [name, ofScope] of rules)
      namedRules.set(name, new Map(Map.groupBy(ofScope, (rule) => rule.id)));
    for (const [name, scope] of this.#scopes) {
      const named = namedRules.get(name) ?? new Map<string, RuleConfig[]>();
      for (const id of scope.ids) if (!named.has(id)) named.set(id, []);
      namedRules.set(name, named);
    }
    return { peers: namedPeers, rules: namedRules };
  }
}

/** Whether a change changes anything. */
export function isEmpty(change: Change): boolean {
  // Every part is named: one that is forgotten does not compile.
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

const PEER_PARTS: Comparison<PeerConfig> = {
  // By it the two were found.
  publicKey: () => true,
  presharedKey: sameBytes,
  ipv4: sameBytes,
  ipv6: sameBytes,
  scope: Object.is,
  mtu: (a, b) => (a ?? null) === (b ?? null),
  // It matters only when a peer is added.
  resume: () => true,
};
