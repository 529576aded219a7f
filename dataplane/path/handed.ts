// What other workers have handed over: packets for peers of this worker, datagrams that came at the
// wrong socket, and what workers tell each other about peers. All of this may be a moment old: a
// peer that was named may be gone, so each has a generation.

import {
  ADDRESS,
  type Batch,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  KIND,
  KIND_DATAGRAM,
  KIND_FROM_PEER,
  KIND_FROM_TUN,
  KIND_INITIATION,
  LENGTH,
  OFFSET,
  type PacketEngine,
} from '../contract.ts';
import { reasons } from '../reasons.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import type { Receiver } from '../wireguard/receive.ts';
import type { Tunnel } from '../wireguard/tunnel.ts';
import type { PacketPath } from './path.ts';

/** What takes the things that were handed over. */
export interface HandedParts {
  readonly engine: PacketEngine;
  readonly tunnel: Tunnel;
  readonly receiver: Receiver;
  readonly path: PacketPath;
}

/** Takes what other workers have handed over. */
export class HandedOver {
  readonly #engine: PacketEngine;
  readonly #tunnel: Tunnel;
  readonly #receiver: Receiver;
  readonly #path: PacketPath;

  constructor({ engine, tunnel, receiver, path }: HandedParts) {
    this.#engine = engine;
    this.#tunnel = tunnel;
    this.#receiver = receiver;
    this.#path = path;
  }

  /** Takes a part of what a worker has handed over; the rest waits for the next turn. */
  take(worker: number, now: number): void {
    const batch = this.#engine.handed[worker] ?? null;
    if (batch === null) return;
    this.#engine.takeHanded(worker);
    if (batch.count > 0) this.#takeAll(batch, now);
    this.#engine.freeHanded(worker);
  }

  #takeAll(batch: Batch, now: number): void {
    const { count, descriptors } = batch;
    for (let i = 0; i < count; i++)
      if (descriptors[i * DESCRIPTOR_WORDS + KIND] === KIND_DATAGRAM)
        this.#receiver.classify(batch, i, now, true);
    this.#engine.open(batch);
    for (let i = 0; i < count; i++) this.#takeOne(batch, i, now);
    this.#path.finish(batch, now);
  }

  #takeOne(batch: Batch, i: number, now: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const kind = d[at + KIND]!;
    if (kind === KIND_FROM_TUN) return this.#path.outward(batch, i, false, now);
    if (kind === KIND_DATAGRAM) return this.#takeDatagram(batch, i, now);
    const peer = this.#tunnel.inPlace(d[at + KEY]!, d[at + GENERATION]!);
    if (peer === null) return this.#tunnel.drop(reasons.peer_gone);
    if (kind === KIND_FROM_PEER) return this.#path.handed(batch, i, peer, now);
    if (kind === KIND_INITIATION) return this.#takeInitiation(batch, i, peer, now);
    this.#receiver.takeMove(peer, d[at + ADDRESS]!);
  }

  #takeDatagram(batch: Batch, i: number, now: number): void {
    const from = this.#receiver.accept(batch, i, now);
    if (from === null) return;
    // The engine reads the virtio_net_hdr before each packet of this batch.
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    batch.bytes.fill(0, offset - VIRTIO_HEADER_BYTES, offset);
    this.#path.inward(batch, i, from, now);
  }

  #takeInitiation(batch: Batch, i: number, peer: KnownPeer, now: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const offset = d[at + OFFSET]!;
    const message = batch.bytes.subarray(offset, offset + d[at + LENGTH]!);
    this.#receiver.queueOpened(message, d[at + ADDRESS]!, peer, now);
    // It is secret, and the ring keeps it until it is written over.
    message.fill(0);
  }
}
