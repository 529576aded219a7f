// What each peer has done since the gateway began, added up from samples, for those who ask for
// totals rather than for what moved.

import type { PeerConfig, PeerSample } from './contract.ts';
import type { Endpoint } from './wire/address.ts';

/** A peer and what it was seen to do. */
export interface PeerTotals {
  readonly config: PeerConfig;
  /** Bytes of UDP payload since the gateway began. */
  readonly rxBytes: number;
  readonly txBytes: number;
  /** Unix time in ms, null before the first. */
  readonly latestHandshakeMs: number | null;
  readonly endpoint: Endpoint | null;
}

type PeersByKey = ReadonlyMap<string, PeerConfig>;

/** The totals of one gateway; as old as the last sample. */
export class Totals {
  readonly #seen = new Map<string, PeerSample & { readonly heardAtMs: number | null }>();

  /** Adds what moved of the peers that are there; `wallMs` is Unix time. */
  add(samples: readonly PeerSample[], peers: PeersByKey, wallMs: number): void {
    for (const sample of samples) {
      const { publicKey } = sample;
      if (!peers.has(publicKey)) continue;
      const last = this.#seen.get(publicKey);
      this.#seen.set(publicKey, {
        publicKey,
        endpoint: sample.endpoint ?? last?.endpoint ?? null,
        latestHandshakeMs: sample.latestHandshakeMs ?? last?.latestHandshakeMs ?? null,
        rxBytes: (last?.rxBytes ?? 0) + sample.rxBytes,
        txBytes: (last?.txBytes ?? 0) + sample.txBytes,
        heardAtMs: sample.rxBytes > 0 ? wallMs : (last?.heardAtMs ?? null),
      });
    }
  }

  /** Forgets peers; one that is added again begins at zero. */
  forget(publicKeys: readonly string[]): void {
    for (const publicKey of publicKeys) this.#seen.delete(publicKey);
  }

  /** A peer that is resumed from where, and when, it was heard last. */
  resumed(peer: PeerConfig): PeerConfig {
    const { endpoint = null, heardAtMs = null } = this.#seen.get(peer.publicKey) ?? {};
    if (endpoint === null || heardAtMs === null) return peer;
    return { ...peer, resume: { endpoint, heardAtMs } };
  }

  /** All of these peers, in their order. */
  *of(peers: PeersByKey): Generator<PeerTotals> {
    for (const [publicKey, config] of peers) {
      const seen = this.#seen.get(publicKey);
      yield {
        config,
        rxBytes: seen?.rxBytes ?? 0,
        txBytes: seen?.txBytes ?? 0,
        latestHandshakeMs: seen?.latestHandshakeMs ?? null,
        endpoint: seen?.endpoint ?? config.resume?.endpoint ?? null,
      };
    }
  }
}
