// Which devices have a place among the peers of the data plane. The data plane has a fixed number
// of places, so devices that come when all are taken wait here, and each gets the next free place.

import type { PeerConfig } from '../../dataplane/index.ts';

/** The places, by public key. */
export class Places {
  readonly #max: number;
  readonly #taken = new Set<string>();
  /** In the order in which they came. */
  readonly #waiting = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Public keys of the devices that have no place. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /**
   * Takes what some peers should be (null: not served), and makes those null that have no place.
   * Returns the public keys that waited and have a place from here on.
   */
  assign(peers: Map<string, PeerConfig | null>): string[] {
    for (const [key, peer] of peers) {
      if (peer !== null) continue;
      this.#taken.delete(key);
      this.#waiting.delete(key);
    }
    const admitted: string[] = [];
    for (const key of this.#waiting) {
      if (this.#taken.size >= this.#max) break;
      this.#waiting.delete(key);
      this.#taken.add(key);
      if (!peers.has(key)) admitted.push(key);
    }
    for (const [key, peer] of peers) {
      if (peer === null || this.#taken.has(key)) continue;
      if (this.#taken.size < this.#max) this.#taken.add(key);
      else {
        this.#waiting.add(key);
        peers.set(key, null);
      }
    }
    return admitted;
  }
}
