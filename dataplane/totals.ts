// Adds up samples to totals of each peer since the gateway began.

import type { PeerConfig, PeerSample } from './contract.ts';
import type { Endpoint } from './wire/address.ts';

/** A peer and its totals. */
export interface PeerTotals {
  readonly config: PeerConfig;
  /** Bytes of UDP payload since the gateway began. */
  readonly rxBytes: number;
  readonly txBytes: number;
  /** Unix time in ms, null before the first handshake. */
  readonly latestHandshakeMs: number | null;
  readonly endpoint: Endpoint | null;
}

type PeersByKey = ReadonlyMap<string, PeerConfig>;

/** What is known of one peer. */
interface Seen extends Omit<PeerSample, 'publicKey' | 'local' | 'rxInnerBytes' | 'txInnerBytes'> {
  readonly local: string | null;
  /** Unix time in ms at which its last bytes were sampled. */
  readonly heardAtMs: number | null;
  /** Unix time in ms of its latest handshake with another gateway. */
  readonly elsewhereAtMs: number | null;
}

/** What is known of a peer that has not been heard. */
const NOTHING: Seen = {
  endpoint: null,
  local: null,
  latestHandshakeMs: null,
  rxBytes: 0,
  txBytes: 0,
  heardAtMs: null,
  elsewhereAtMs: null,
};

/** The totals of all peers of one gateway, as of the last sample. */
export class Totals {
  readonly #seen = new Map<string, Seen>();

  /** Adds samples of peers that exist; `wallMs` is Unix time. */
  add(samples: readonly PeerSample[], peers: PeersByKey, wallMs: number): void {
    for (const sample of samples) {
      const { publicKey } = sample;
      if (!peers.has(publicKey)) continue;
      const last = this.#seen.get(publicKey) ?? NOTHING;
      this.#seen.set(publicKey, {
        endpoint: sample.endpoint ?? last.endpoint,
        local: sample.endpoint === null ? last.local : (sample.local ?? null),
        latestHandshakeMs: later(sample.latestHandshakeMs, last.latestHandshakeMs),
        rxBytes: last.rxBytes + sample.rxBytes,
        txBytes: last.txBytes + sample.txBytes,
        heardAtMs: sample.rxBytes > 0 ? wallMs : last.heardAtMs,
        elsewhereAtMs: last.elsewhereAtMs,
      });
    }
  }

  /** Forgets peers; a peer that is added again begins at zero. */
  forget(publicKeys: readonly string[]): void {
    for (const publicKey of publicKeys) this.#seen.delete(publicKey);
  }

  /**
   * Notes when other gateways made a handshake with peers that exist. Returns the peers without a
   * later handshake here, as far as samples say.
   */
  release(heardElsewhere: ReadonlyMap<string, number>, peers: PeersByKey): Map<string, number> {
    const moved = new Map<string, number>();
    for (const [publicKey, atMs] of heardElsewhere) {
      if (!peers.has(publicKey)) continue;
      const seen = { ...NOTHING, ...this.#seen.get(publicKey), elsewhereAtMs: atMs };
      this.#seen.set(publicKey, seen);
      if (isElsewhere(seen)) moved.set(publicKey, atMs);
    }
    return moved;
  }

  /** The peers whose latest handshake was with another gateway, and when. */
  elsewhere(): Map<string, number> {
    const moved = new Map<string, number>();
    for (const [publicKey, seen] of this.#seen)
      if (isElsewhere(seen)) moved.set(publicKey, seen.elsewhereAtMs);
    return moved;
  }

  /**
   * The peer, with where and when it was heard last, so that it is resumed there. A peer that
   * another gateway heard last is not resumed.
   */
  resumed<P extends PeerConfig>(peer: P): P {
    const seen = this.#seen.get(peer.publicKey) ?? NOTHING;
    if (isElsewhere(seen)) return { ...peer, resume: null };
    const { endpoint, local, heardAtMs } = seen;
    if (endpoint === null || heardAtMs === null) return peer;
    return { ...peer, resume: { endpoint, local, heardAtMs } };
  }

  /** Yields the totals of these peers, in their order. */
  *of(peers: PeersByKey): Generator<PeerTotals> {
    for (const [publicKey, config] of peers) {
      const seen = this.#seen.get(publicKey) ?? NOTHING;
      yield {
        config,
        rxBytes: seen.rxBytes,
        txBytes: seen.txBytes,
        latestHandshakeMs: seen.latestHandshakeMs,
        endpoint: isElsewhere(seen) ? null : (seen.endpoint ?? config.resume?.endpoint ?? null),
      };
    }
  }
}

/** The later of two times; null where there is none. */
function later(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

function isElsewhere(seen: Seen): seen is Seen & { readonly elsewhereAtMs: number } {
  const { elsewhereAtMs, latestHandshakeMs } = seen;
  if (elsewhereAtMs === null) return false;
  return latestHandshakeMs === null || elsewhereAtMs > latestHandshakeMs;
}
