// Gives packets and datagrams to the worker that is responsible for their peer. In a batch they are
// marked one by one, and leave together. Packets that this worker made itself leave at once.

import { SLOT_HEADROOM_BYTES } from '../constants.ts';
import {
  ADDRESS,
  type Batch,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  KIND,
  LENGTH,
  MARK,
  MARK_HAND_OVER,
  OFFSET,
  type PacketEngine,
  WORKER,
} from '../contract.ts';
import { reasons } from '../reasons.ts';
import type { KnownPeer } from './known-peer.ts';

/** Hands over to other workers. Where there is one worker, nothing is ever marked. */
export class HandOver {
  readonly #engine: Pick<PacketEngine, 'handOver' | 'packets'>;
  readonly #drop: (reason: number) => void;
  #hasMarked = false;

  constructor(engine: PacketEngine, drop: (reason: number) => void) {
    this.#engine = engine;
    this.#drop = drop;
  }

  /** Marks descriptor `i` for a worker; `peer` is the one that it is from, null for none. */
  mark(batch: Batch, i: number, worker: number, kind: number, peer: KnownPeer | null): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    d[at + KEY] = peer === null ? -1 : peer.slot;
    d[at + GENERATION] = peer === null ? 0 : peer.generation;
    d[at + KIND] = kind;
    d[at + WORKER] = worker;
    d[at + MARK] = MARK_HAND_OVER;
    this.#hasMarked = true;
  }

  /** Hands over what was marked in a batch, and counts what found no room. */
  finish(batch: Batch): void {
    if (!this.#hasMarked) return;
    this.#hasMarked = false;
    const lost = this.#engine.handOver(batch);
    for (let i = 0; i < lost; i++) this.#drop(reasons.ring_full);
  }

  /**
   * Hands over bytes about a peer, with the endpoint in a slot. The batch of packets must not be in
   * use. False when there is no room.
   */
  give(
    worker: number,
    kind: number,
    peer: KnownPeer,
    bytes: Uint8Array,
    endpointSlot: number,
  ): boolean {
    const batch = this.#engine.packets;
    const d = batch.descriptors;
    batch.bytes.set(bytes, SLOT_HEADROOM_BYTES);
    d[OFFSET] = SLOT_HEADROOM_BYTES;
    d[LENGTH] = bytes.length;
    d[KEY] = peer.slot;
    d[GENERATION] = peer.generation;
    d[KIND] = kind;
    d[WORKER] = worker;
    d[ADDRESS] = endpointSlot;
    d[MARK] = MARK_HAND_OVER;
    batch.count = 1;
    const lost = this.#engine.handOver(batch);
    batch.count = 0;
    // An opened initiation is secret.
    batch.bytes.fill(0, SLOT_HEADROOM_BYTES, SLOT_HEADROOM_BYTES + bytes.length);
    return lost === 0;
  }
}
