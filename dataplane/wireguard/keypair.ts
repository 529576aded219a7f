// A keypair (paper, section 5.4.5): the two transport keys of one handshake, with their age and
// use. A peer has up to three: previous, current and next. The keys themselves are in the engine,
// in a slot that a handle (slot and generation) names.

import { REJECT_AFTER_TIME_MS } from '../constants.ts';
import type { KeyHandle } from '../contract.ts';
import { ReplayWindow } from './replay.ts';

/** One keypair. `P` is the peer it belongs to. */
export class Keypair<P> {
  readonly peer: P;
  /** Our index, which the peer writes as receiver. */
  localIndex = 0;
  /** The index of the peer, which we write as receiver. */
  readonly remoteIndex: number;
  /** Where the engine keeps the keys. */
  readonly keySlot: number;
  readonly keyGeneration: number;
  /** True when we sent the initiation; only an initiator renews the keypair. */
  readonly isInitiator: boolean;
  readonly createdAt: number;
  /** Whether the engine refuses to seal with it (6.2); it may still receive. */
  isExhausted = false;
  /** Made at the first packet, because most keypairs of a quiet gateway never receive one. */
  #replay: ReplayWindow | null = null;

  constructor(peer: P, remoteIndex: number, key: KeyHandle, isInitiator: boolean, now: number) {
    this.peer = peer;
    this.remoteIndex = remoteIndex;
    this.keySlot = key.slot;
    this.keyGeneration = key.generation;
    this.isInitiator = isInitiator;
    this.createdAt = now;
  }

  get replay(): ReplayWindow {
    this.#replay ??= new ReplayWindow();
    return this.#replay;
  }

  /** Whether packets can be sent with it. */
  canSend(now: number): boolean {
    return !this.isExhausted && !this.isExpired(now);
  }

  /** Whether it is too old to be used. */
  isExpired(now: number): boolean {
    return now - this.createdAt >= REJECT_AFTER_TIME_MS;
  }
}
