// A change that is only tried, by the slots that its peers have in this worker.

import type { TriedChange, TriedPeer } from '../diff.ts';
import type { Tracker } from '../filter/tracker.ts';
import type { FilterTrial } from '../filter/trial.ts';
import type { Tunnel } from '../wireguard/tunnel.ts';

type Known = Pick<Tunnel, 'known'>;

/** The rules as they would be. */
export function rulesUnder(
  change: TriedChange,
  tunnel: Known,
  tracker: Pick<Tracker, 'tried'>,
): FilterTrial {
  return tracker.tried({ ...change, peers: peersOf(change, tunnel) });
}

/** The rules, and by slot whether a peer would have used up its quota. */
export function trialOf(
  change: TriedChange,
  tunnel: Known,
  tracker: Pick<Tracker, 'tried'>,
): { readonly rules: FilterTrial; readonly overQuota: Map<number, boolean> } {
  const peers = peersOf(change, tunnel);
  const overQuota = new Map([...peers].map(([slot, { isOverQuota }]) => [slot, isOverQuota]));
  return { rules: tracker.tried({ ...change, peers }), overQuota };
}

/** The peers that this worker knows, by slot. */
function peersOf({ peers }: TriedChange, tunnel: Known): Map<number, TriedPeer> {
  const known = new Map<number, TriedPeer>();
  for (const peer of peers) {
    const slot = tunnel.known(peer.publicKey)?.slot;
    if (slot !== undefined) known.set(slot, peer);
  }
  return known;
}
