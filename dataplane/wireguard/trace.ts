// What a gateway remembers of the handshakes of one peer and of what came through its tunnel. The
// worker of the peer answers its handshakes and takes its packets; the first worker refuses some
// handshakes before they come there. So all workers are asked, and what they remember is joined.

import type { Endpoint } from '../wire/address.ts';
import { readEndpoint } from '../wire/address.ts';
import type { Attempt } from './handshake-log.ts';
import type { InsideSeen } from './inside.ts';
import { isOwn, type Tunnel } from './tunnel.ts';

/** What the worker of a peer knows of it. Times: Unix ms, null: never. */
export interface TracedState {
  readonly latestHandshakeMs: number | null;
  /** Where the peer is; null: not known. */
  readonly endpoint: Endpoint | null;
  /** The peer's latest handshake with another gateway, if that is later than the one here. */
  readonly elsewhereAtMs: number | null;
  readonly inside: InsideSeen;
}

/** What one worker remembers of a peer. */
export interface TracePart {
  readonly attempts: readonly Attempt[];
  /** Null: another worker is responsible for the peer. */
  readonly state: TracedState | null;
}

/** What the gateway remembers of a peer. */
export interface Trace extends TracedState {
  /** The last handshakes, the oldest first. */
  readonly attempts: readonly Attempt[];
}

/** What this worker remembers of a peer; null: it does not know the peer. */
export function traceOf(
  tunnel: Tunnel,
  publicKey: string,
  now: number,
  wallMs: number,
): TracePart | null {
  const peer = tunnel.known(publicKey);
  if (peer === undefined) return null;
  const attempts = tunnel.handshakeLog.read(peer.slot);
  if (!isOwn(peer)) return { attempts, state: null };
  const { latestHandshakeMs, elsewhereAtMs, isElsewhere, endpointSlot, inside } = peer;
  return {
    attempts,
    state: {
      latestHandshakeMs,
      endpoint: readEndpoint(tunnel.engine.endpoints, endpointSlot),
      elsewhereAtMs: isElsewhere ? elsewhereAtMs : null,
      inside: inside.read(now, wallMs),
    },
  };
}

/** Joins what all workers remember; null: no worker is responsible for the peer. */
export function joinTraces(parts: readonly (TracePart | null)[]): Trace | null {
  const known = parts.filter((part) => part !== null);
  const state = known.find((part) => part.state !== null)?.state ?? null;
  if (state === null) return null;
  const attempts = known.flatMap((part) => part.attempts);
  return { ...state, attempts: attempts.toSorted((a, b) => a.lastAtMs - b.lastAtMs) };
}
