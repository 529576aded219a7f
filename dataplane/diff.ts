// What must change so that a gateway that obeys one configuration obeys another. It walks what is
// for removals, then what should be for changes and additions, so that nothing can be left behind;
// rules are compiled here, scope by scope, and only where they changed.

import type { GatewayConfig, PeerConfig, RuleConfig } from './contract.ts';
import { type CompiledScope, compileScope } from './filter/compile.ts';

/** The steps from one configuration to another, in the order in which they are taken. */
export interface Change {
  /** Public keys. */
  readonly removed: readonly string[];
  readonly updated: readonly PeerConfig[];
  readonly added: readonly PeerConfig[];
  /** Rules of the scopes that changed; null for a scope that has none left. */
  readonly scopes: readonly { readonly name: string; readonly compiled: CompiledScope | null }[];
}

/** A configuration without peers and rules: what a worker that has just begun obeys. */
export const EMPTY_CONFIG: GatewayConfig = Object.freeze({ peers: new Map(), rules: new Map() });

/** Computes the steps from `current` to `desired`. */
export function diff(current: GatewayConfig, desired: GatewayConfig): Change {
  const removed = [...current.peers.keys()].filter((key) => !desired.peers.has(key));
  const updated: PeerConfig[] = [];
  const added: PeerConfig[] = [];
  for (const [key, peer] of desired.peers) {
    const present = current.peers.get(key);
    if (present === undefined) added.push(peer);
    else if (present !== peer && !samePeer(present, peer)) updated.push(peer);
  }
  const names = new Set([...current.rules.keys(), ...desired.rules.keys()]);
  const scopes = [...names]
    .filter((name) => !sameRules(current.rules.get(name), desired.rules.get(name)))
    .map((name) => {
      const rules = desired.rules.get(name) ?? [];
      return { name, compiled: rules.length === 0 ? null : compileScope(rules) };
    });
  return { removed, updated, added, scopes };
}

/** Whether a change changes anything. */
export function isEmpty(change: Change): boolean {
  return (
    change.removed.length === 0 &&
    change.updated.length === 0 &&
    change.added.length === 0 &&
    change.scopes.length === 0
  );
}

/** `resume` is left out: it matters only when a peer is added. */
function samePeer(a: PeerConfig, b: PeerConfig): boolean {
  return (
    a.scope === b.scope &&
    (a.mtu ?? null) === (b.mtu ?? null) &&
    sameBytes(a.presharedKey, b.presharedKey) &&
    sameBytes(a.ipv4, b.ipv4) &&
    sameBytes(a.ipv6, b.ipv6)
  );
}

/** Whether two addresses or keys are equal, or both absent. */
export function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function sameRules(
  a: readonly RuleConfig[] | undefined,
  b: readonly RuleConfig[] | undefined,
): boolean {
  if (a === b) return true;
  if ((a?.length ?? 0) !== (b?.length ?? 0)) return false;
  return (a ?? []).every((rule, i) => sameRule(rule, b?.[i]));
}

function sameRule(a: RuleConfig, b: RuleConfig | undefined): boolean {
  if (a === b) return true;
  return (
    b !== undefined &&
    a.id === b.id &&
    a.action === b.action &&
    a.prefixBits === b.prefixBits &&
    a.portType === b.portType &&
    a.portFirst === b.portFirst &&
    a.portLast === b.portLast &&
    sameBytes(a.address, b.address)
  );
}
