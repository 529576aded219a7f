// How large packets can be: the MTU of the tunnel and of each peer, and the error for a sender
// whose packet is too big and must not be fragmented (RFC 1191, RFC 8201). Asking whether a packet
// fits changes nothing; forwarder.ts calls the methods that clamp and answer.

import { MAX_PEERS, TOO_BIG_BURST, TOO_BIG_INTERVAL_MS } from '../constants.ts';
import { type Batch, DESCRIPTOR_WORDS, LENGTH, type NetworkConfig, OFFSET } from '../contract.ts';
import { Pace } from '../pace.ts';
import { mayBeAnsweredByError, mayNotFragment, turnIntoTooBig } from '../wire/icmp.ts';
import type { InnerPacket } from '../wire/ip.ts';
import { clampSegmentSize, isHandshake } from '../wire/tcp.ts';
import { hasPartialChecksum, segmentBytes } from '../wire/virtio.ts';

/** The MTU of the tunnel, and the addresses that errors are sent from. */
export interface MtuOptions {
  /** MTU of the tunnel. */
  readonly mtu: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
}

/** The MTUs of the tunnel and of each peer. Nothing here allocates per packet that fits. */
export class Mtus {
  readonly #options: MtuOptions;
  /** By peer slot: the largest packet that it takes. */
  readonly #mtus: Uint16Array;
  readonly #pace: Pace;

  /** `peers`: how many there may be. */
  constructor(options: MtuOptions, peers = MAX_PEERS) {
    this.#options = options;
    this.#mtus = new Uint16Array(peers);
    this.#pace = new Pace(peers, TOO_BIG_BURST, TOO_BIG_INTERVAL_MS);
  }

  /** Sets what a peer takes; at most the tunnel's MTU, which is also the default. */
  set(slot: number, mtu: number | null | undefined): void {
    this.#mtus[slot] = Math.min(mtu ?? this.#options.mtu, this.#options.mtu);
  }

  /** What a peer takes. */
  of(slot: number): number {
    return this.#mtus[slot]!;
  }

  // ---- whether a packet fits -----------------------------------------------------------------

  /** Whether a packet is too big for a peer and may not be fragmented. */
  isTooBig(view: DataView, offset: number, packet: InnerPacket, slot: number): boolean {
    return packet.length > this.#mtus[slot]! && mayNotFragment(view, offset, packet);
  }

  /**
   * Whether a packet from the TUN is too big for a peer and may not be fragmented. It may be a
   * super-packet: then its segments are compared.
   */
  isSuperPacketTooBig(view: DataView, offset: number, packet: InnerPacket, slot: number): boolean {
    const mtu = this.#mtus[slot]!;
    return (
      packet.length > mtu &&
      segmentBytes(view, offset, packet) > mtu &&
      mayNotFragment(view, offset, packet)
    );
  }

  /** Whether so many bytes are too many for a peer. */
  isLarger(bytes: number, slot: number): boolean {
    return bytes > this.#mtus[slot]!;
  }

  // ---- what is done about it -----------------------------------------------------------------

  /** Clamps a TCP handshake of a peer to what the peer, and the other peer or the tunnel, take. */
  clampFromPeer(
    view: DataView,
    offset: number,
    packet: InnerPacket,
    from: number,
    to: number,
  ): void {
    if (!isHandshake(packet)) return;
    const mtu = to < 0 ? this.#options.mtu : this.#mtus[to]!;
    clampSegmentSize(view, offset, packet, Math.min(mtu, this.#mtus[from]!), false);
  }

  /** Clamps a TCP handshake from the TUN to what a peer takes. */
  clampFromTun(view: DataView, offset: number, packet: InnerPacket, to: number): void {
    if (!isHandshake(packet)) return;
    clampSegmentSize(view, offset, packet, this.#mtus[to]!, hasPartialChecksum(view, offset));
  }

  /**
   * Turns a packet of peer `from` that is too big for peer `to` into the error that says so, sent
   * by the gateway. False when the packet may not be answered, or when `from` had enough answers
   * lately.
   */
  answerPeer(
    batch: Batch,
    i: number,
    packet: InnerPacket,
    from: number,
    to: number,
    now: number,
  ): boolean {
    const { ipv4, ipv6 } = this.#options;
    const own = (packet.version === 4 ? ipv4 : ipv6)!.address;
    return this.#answer(batch, i, packet, from, own, this.#mtus[to]!, now);
  }

  /**
   * Turns a packet from the TUN that is too big for peer `to` into the error that says so. Its
   * source is the destination of the packet, because the host refuses packets from outside that
   * have its own address. False when the packet may not be answered, or when there were enough
   * answers lately.
   */
  answerTun(batch: Batch, i: number, packet: InnerPacket, to: number, now: number): boolean {
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    const isIpv4 = packet.version === 4;
    const start = offset + (isIpv4 ? 16 : 24);
    const destination = batch.bytes.slice(start, start + (isIpv4 ? 4 : 16));
    return this.#answer(batch, i, packet, to, destination, this.#mtus[to]!, now);
  }

  /**
   * `payer` is the peer whose limit the answer counts for, `from` the source address of the answer.
   */
  #answer(
    batch: Batch,
    i: number,
    packet: InnerPacket,
    payer: number,
    from: Uint8Array,
    mtu: number,
    now: number,
  ): boolean {
    const at = i * DESCRIPTOR_WORDS;
    const offset = batch.descriptors[at + OFFSET]!;
    if (!mayBeAnsweredByError(batch.view, offset, packet)) return false;
    if (!this.#pace.allows(payer, now)) return false;
    const length = turnIntoTooBig(batch.bytes, batch.view, offset, packet, from, mtu);
    batch.descriptors[at + LENGTH] = length;
    return true;
  }
}
