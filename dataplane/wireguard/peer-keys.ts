// Finds a peer by the static key in a handshake message. The first word of the key is looked up,
// because the whole key as text would have to be allocated for each handshake. Keys that begin with
// the same word make a chain. Somebody can make such keys on purpose; a search then takes as long
// as the chain.

import { sameBytes } from '../wire/bytes.ts';
import type { KnownPeer } from './known-peer.ts';

/** Peers by public key (32 bytes). */
export class PeerKeys {
  /** By the first word of a key: one peer. The others with that word follow in `nextOfKey`. */
  readonly #heads = new Map<number, KnownPeer>();

  /** The peer of a key; null where there is none. */
  readonly find = (publicKey: Uint8Array): KnownPeer | null => {
    let peer = this.#heads.get(firstWord(publicKey)) ?? null;
    while (peer !== null && !sameBytes(peer.publicKey, publicKey)) peer = peer.nextOfKey;
    return peer;
  };

  /** Adds a peer whose key was not added before. */
  add(peer: KnownPeer): void {
    const word = firstWord(peer.publicKey);
    peer.nextOfKey = this.#heads.get(word) ?? null;
    this.#heads.set(word, peer);
  }

  /** Removes a peer; does nothing where it was not added. */
  remove(peer: KnownPeer): void {
    const word = firstWord(peer.publicKey);
    let before = this.#heads.get(word) ?? null;
    if (before === peer) {
      if (peer.nextOfKey === null) this.#heads.delete(word);
      else this.#heads.set(word, peer.nextOfKey);
    } else {
      while (before !== null && before.nextOfKey !== peer) before = before.nextOfKey;
      if (before !== null) before.nextOfKey = peer.nextOfKey;
    }
    peer.nextOfKey = null;
  }
}

/** Signed, because V8 keeps small signed numbers without allocating. */
function firstWord(key: Uint8Array): number {
  return key[0]! | (key[1]! << 8) | (key[2]! << 16) | (key[3]! << 24);
}
