// Packets that wait for a keypair: a few for each peer, limited in number and bytes, and none for
// longer than a key lives. Where there is no room, the oldest is dropped.

import { MAX_STAGED_BYTES, MAX_STAGED_PER_PEER, STAGED_TIME_MS } from '../constants.ts';
import { reasons } from '../reasons.ts';

/** A packet that waits, and the virtio_net_hdr before it, copied out of the arena. */
export interface Waiting {
  readonly bytes: Uint8Array;
  /** Bytes of the header before the packet. */
  readonly headerBytes: number;
  /** Slot of the peer that sent it, -1 for none. */
  readonly from: number;
  /** When it began to wait, on the monotonic clock, in ms. */
  readonly at: number;
}

/** What packets wait for: a peer, which lists its waiting packets, the oldest first. */
export interface Holder {
  readonly slot: number;
  readonly staged: StagedPacket[];
}

/** A packet in the list of all packets that wait. */
export interface StagedPacket extends Waiting {
  readonly peer: Holder;
  older: StagedPacket | null;
  newer: StagedPacket | null;
}

/** The staged packets of all peers. */
export class Staging {
  #oldest: StagedPacket | null = null;
  #newest: StagedPacket | null = null;
  #bytes = 0;
  readonly #bytesMax: number;
  readonly #lose: (packet: StagedPacket, reason: number) => void;

  /** `bytesMax`: bytes that are kept for all peers; `lose` takes what is given up. */
  constructor(
    bytesMax = MAX_STAGED_BYTES,
    lose: (packet: StagedPacket, reason: number) => void = () => undefined,
  ) {
    this.#bytesMax = bytesMax;
    this.#lose = lose;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** When `expire` has something to do; infinite while nothing waits. */
  get nextDeadline(): number {
    return this.#oldest === null ? Number.POSITIVE_INFINITY : this.#oldest.at + STAGED_TIME_MS;
  }

  /** Keeps a packet; returns how many older ones were given up for it. */
  add(peer: Holder, waiting: Waiting): number {
    const packet: StagedPacket = { ...waiting, peer, older: this.#newest, newer: null };
    if (this.#newest === null) this.#oldest = packet;
    else this.#newest.newer = packet;
    this.#newest = packet;
    this.#bytes += packet.bytes.length;
    peer.staged.push(packet);
    const reason = reasons.staged_overflow;
    let gone = 0;
    if (peer.staged.length > MAX_STAGED_PER_PEER) gone += this.#giveUp(peer.staged[0]!, reason);
    while (this.#bytes > this.#bytesMax) gone += this.#giveUp(this.#oldest!, reason);
    return gone;
  }

  /** Gives up the packets that wait for a peer. */
  drop(peer: Holder, reason: number): void {
    for (const packet of peer.staged.slice()) this.#giveUp(packet, reason);
  }

  /** Gives up those of the packets that wait for a peer for which there is a reason. */
  review(peer: Holder, refusalOf: (packet: StagedPacket) => number): void {
    for (const packet of peer.staged.slice()) {
      const reason = refusalOf(packet);
      if (reason !== reasons.none) this.#giveUp(packet, reason);
    }
  }

  /** Removes and returns the packets that wait for a peer, in order. */
  take(peer: Holder): readonly Waiting[] {
    const packets = peer.staged.slice();
    for (const packet of packets) this.#forget(packet);
    return packets;
  }

  /** Forgets the packets that came from some peers, named by their slots. */
  forgetFrom(slots: ReadonlySet<number>): void {
    if (slots.size === 0) return;
    for (let packet = this.#oldest; packet !== null; packet = packet.newer)
      if (slots.has(packet.from)) this.#forget(packet);
  }

  /** Gives up packets that have waited too long; returns how many. */
  expire(now: number): number {
    let gone = 0;
    while (this.nextDeadline <= now) gone += this.#giveUp(this.#oldest!, reasons.staged_expired);
    return gone;
  }

  #giveUp(packet: StagedPacket, reason: number): 1 {
    this.#forget(packet);
    this.#lose(packet, reason);
    return 1;
  }

  #forget(packet: StagedPacket): void {
    const { peer, older, newer } = packet;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    peer.staged.splice(peer.staged.indexOf(packet), 1);
    this.#bytes -= packet.bytes.length;
  }
}
