// Datagrams that come in fragments. Each fragment is kept; when the last one has come, the datagram
// is judged once, as if it had come whole, and then all of its fragments leave together and in
// order. Packets that came before the last fragment leave before them. So nobody behind the gateway
// holds an incomplete datagram, and no fragment is judged alone. pasta drops fragments: where it is
// behind the TUN, what leaves by the TUN leaves in one piece.

import { PACKET_SLOTS, SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../constants.ts';
import {
  type Batch,
  createBatch,
  DESCRIPTOR_WORDS,
  LENGTH,
  MARK,
  MARK_DROP,
  OFFSET,
  type PacketEngine,
} from '../contract.ts';
import { FragmentCollector } from '../filter/collector.ts';
import { NO_PEER } from '../filter/flow-verdict.ts';
import type { Random } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { headBytes, longest, nextHeaderOf, turnIntoWhole, wholeBytes } from '../wire/fragment.ts';
import { InnerPacket, isIcmp, parseInner } from '../wire/ip.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import type { Peer } from '../wireguard/peer.ts';
import { isOwn, type Tunnel } from '../wireguard/tunnel.ts';
import type { Captures } from './capture.ts';
import type { Forwarder } from './forwarder.ts';
import type { InwardJudge } from './inward.ts';
import type { OutwardJudge } from './outward.ts';
import type { Refused } from './refused.ts';
import { TO_TUN, Verdict } from './verdict.ts';

/** What datagrams are judged by, and who acts on the verdicts. */
export interface DatagramParts {
  /** The batch of the engine that is not at work is used to send fragments. */
  readonly engine: Pick<PacketEngine, 'datagrams' | 'packets'>;
  readonly inward: Pick<InwardJudge, 'judgeDatagram'>;
  readonly outward: Pick<OutwardJudge, 'judgeDatagram'>;
  readonly forwarder: Forwarder;
  readonly refused: Pick<Refused, 'take' | 'takeSized'>;
  readonly captures: Captures;
  readonly tunnel: Pick<Tunnel, 'atSlot'>;
  readonly random: Random;
  /** Whether a datagram leaves by the TUN in one piece; left out: in its fragments. */
  readonly joinsForTun?: boolean;
  /** How many peers there may be. */
  readonly peers: number;
}

/** Where the scratch has its packet: with room for a virtio_net_hdr before it. */
const AT = SLOT_HEADROOM_BYTES;

/** Keeps fragments and sends datagrams. Nothing here allocates for each packet but the first. */
export class Datagrams {
  readonly #parts: DatagramParts;
  /** Null until a fragment has come: many gateways never see one. */
  #collector: FragmentCollector | null = null;
  readonly #verdict = new Verdict();
  /** The fragment at hand. */
  readonly #fragment = new InnerPacket();
  /** A datagram for the judges, or one fragment for captures. */
  #scratch: Batch | null = null;
  #now = 0;

  constructor(parts: DatagramParts) {
    this.#parts = parts;
  }

  /** Sets the time, and gives up what has waited too long. */
  begin(now: number): void {
    this.#now = now;
    if (this.#collector !== null) this.#collector.begin(now);
  }

  /** When something will have waited too long; infinite while nothing waits. */
  get nextDeadline(): number {
    return this.#collector === null ? Number.POSITIVE_INFINITY : this.#collector.nextDeadline;
  }

  /** Forgets the fragments of a peer that goes, and those for it. */
  forget(slot: number): void {
    this.#collector?.forget(ownerOf(slot, false));
    this.#collector?.forget(ownerOf(slot, true));
  }

  // ---- fragments that come -------------------------------------------------------------------

  /** Takes the fragment of descriptor `i`, which peer `from` sent. */
  inward(batch: Batch, i: number, from: Peer, packet: InnerPacket, now: number): void {
    const datagram = this.#take(batch, i, packet, ownerOf(from.slot, false), now);
    if (datagram === 0) return;
    const { forwarder, refused } = this.#parts;
    const verdict = this.#verdict;
    const collector = this.#collector!;
    this.#judge(datagram, from);
    const largest = this.#largest(datagram);
    if (verdict.reason === reasons.none) from.inside.passed(largest, now);
    else {
      from.inside.refused(verdict.reason, verdict.packet, now);
      refused.takeSized(verdict, from.slot, largest, now);
    }
    this.#capture(datagram, from, now);
    if (forwarder.accountInward(from, verdict, collector.bytesOf(datagram)))
      this.#send(batch, datagram, from, now);
    collector.remove(datagram);
  }

  /** Takes the fragment of descriptor `i`, which peer `from` of another worker sent. */
  handed(batch: Batch, i: number, from: KnownPeer, packet: InnerPacket, now: number): void {
    const datagram = this.#take(batch, i, packet, ownerOf(from.slot, false), now);
    if (datagram === 0) return;
    const { forwarder, refused } = this.#parts;
    const verdict = this.#verdict;
    this.#judge(datagram, from);
    if (verdict.reason !== reasons.none)
      refused.takeSized(verdict, from.slot, this.#largest(datagram), now);
    this.#capture(datagram, from, now);
    if (forwarder.accountHanded(verdict)) this.#send(batch, datagram, from, now);
    this.#collector!.remove(datagram);
  }

  /** Takes the fragment of descriptor `i` for peer `to`, which came from the TUN. */
  outward(batch: Batch, i: number, to: KnownPeer, packet: InnerPacket, now: number): void {
    const datagram = this.#take(batch, i, packet, ownerOf(to.slot, true), now);
    if (datagram === 0) return;
    const { forwarder, refused } = this.#parts;
    const verdict = this.#verdict;
    this.#judge(datagram, null);
    if (verdict.reason !== reasons.none)
      refused.takeSized(verdict, NO_PEER, this.#largest(datagram), now);
    this.#capture(datagram, null, now);
    if (forwarder.accountOutward(verdict)) this.#send(batch, datagram, null, now);
    this.#collector!.remove(datagram);
  }

  /** Returns the datagram that a fragment completes; what came before it leaves. */
  #take(batch: Batch, i: number, packet: InnerPacket, owner: number, now: number): number {
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    const collector = (this.#collector ??= this.#makeCollector(now));
    const datagram = collector.take(batch.view, offset, packet, owner);
    if (datagram !== 0) this.#parts.forwarder.sendMarked(batch, now);
    return datagram;
  }

  #makeCollector(now: number): FragmentCollector {
    const { random, peers } = this.#parts;
    this.#scratch = createBatch(SLOT_BYTES, 1);
    const lose = (datagram: number, reason: number): void => this.#lose(datagram, reason);
    const collector = new FragmentCollector({ random, owners: 2 * peers, lose });
    collector.begin(now);
    return collector;
  }

  // ---- the verdict ---------------------------------------------------------------------------

  /** Judges a datagram that peer `from` sent; null: it came from the TUN. */
  #judge(datagram: number, from: KnownPeer | null): void {
    const { inward, outward } = this.#parts;
    const { view } = this.#scratch!;
    const verdict = this.#verdict;
    const unfragmented = this.#collector!.unfragmentedOf(datagram);
    const bytes = this.#assemble(datagram, this.#scratch!, false);
    if (bytes === 0) {
      verdict.clear();
      verdict.reason = reasons.inner_fragment_malformed;
      this.#describe(datagram);
    } else if (from === null) outward.judgeDatagram(view, AT, bytes, verdict, unfragmented);
    else inward.judgeDatagram(view, AT, bytes, from, verdict, unfragmented);
  }

  /**
   * Writes a complete datagram to the first slot of a batch, as far as judges read it: its headers,
   * which are all in the first fragment, and of ICMP all, because it may quote a packet. `isAll`:
   * all of it. Returns its bytes; 0: they are more than a datagram can have.
   */
  #assemble(datagram: number, { bytes, view }: Batch, isAll: boolean): number {
    const collector = this.#collector!;
    const packet = this.#fragment;
    const first = collector.firstOf(datagram);
    const length = collector.lengthOf(first);
    collector.copy(first, 0, length, bytes, AT);
    parseInner(view, AT, length, packet);
    const whole = wholeBytes(packet, collector.endOf(datagram));
    if (whole > longest(packet)) return 0;
    const head = headBytes(packet);
    const next = packet.version === 6 ? nextHeaderOf(view, AT, packet) : 0;
    // Over the fragment header of IPv6, which the whole has not.
    bytes.copyWithin(AT + head, AT + packet.fragmentedAt, AT + length);
    if (isAll || isIcmp(packet))
      for (let piece = collector.after(first); piece !== 0; piece = collector.after(piece))
        collector.copy(
          piece,
          collector.payloadOf(piece),
          collector.lengthOf(piece),
          bytes,
          AT + head + collector.startOf(piece),
        );
    turnIntoWhole(view, AT, packet, whole, collector.hopLimitOf(datagram), next);
    return whole;
  }

  #largest(datagram: number): number {
    const collector = this.#collector!;
    let largest = 0;
    for (let piece = collector.firstOf(datagram); piece !== 0; piece = collector.after(piece))
      largest = Math.max(largest, collector.lengthOf(piece));
    return largest;
  }

  // ---- the act -------------------------------------------------------------------------------

  /**
   * Sends the fragments of a datagram as its verdict says, a batch of them after the other. `from`
   * is the peer that sent them; null: they came from the TUN. Where they are too big, the first one
   * is answered.
   */
  #send(busy: Batch, datagram: number, from: KnownPeer | null, now: number): void {
    const { engine, forwarder } = this.#parts;
    const collector = this.#collector!;
    const batch = busy === engine.packets ? engine.datagrams : engine.packets;
    const { count } = batch;
    const isAnswered = this.#verdict.reason === reasons.packet_too_big;
    const isJoined = this.#parts.joinsForTun === true && this.#verdict.place === TO_TUN;
    let piece = collector.firstOf(datagram);
    if (isJoined && from !== null) {
      this.#putLength(batch, 0, this.#assemble(datagram, batch, true));
      batch.count = 1;
      this.#sendOne(batch, 0, from, now);
      forwarder.sendMarked(batch, now);
      piece = 0;
    }
    while (piece !== 0) {
      let put = 0;
      for (; piece !== 0 && put < PACKET_SLOTS; put++) {
        this.#put(batch, put, piece);
        piece = isAnswered ? 0 : collector.after(piece);
      }
      batch.count = put;
      for (let i = 0; i < put; i++) this.#sendOne(batch, i, from, now);
      forwarder.sendMarked(batch, now);
    }
    batch.count = count;
  }

  #sendOne(batch: Batch, i: number, from: KnownPeer | null, now: number): void {
    const { forwarder } = this.#parts;
    const packet = this.#fragment;
    const at = i * DESCRIPTOR_WORDS;
    const { view, descriptors } = batch;
    parseInner(view, descriptors[at + OFFSET]!, descriptors[at + LENGTH]!, packet);
    if (from === null) forwarder.sendOutward(batch, i, packet, this.#verdict, now);
    else if (isOwn(from)) forwarder.sendInward(batch, i, packet, from, this.#verdict, now);
    else forwarder.sendHanded(batch, i, packet, from, this.#verdict, now);
  }

  /** Puts a fragment into descriptor `i`. */
  #put(batch: Batch, i: number, piece: number): void {
    const collector = this.#collector!;
    const length = collector.lengthOf(piece);
    collector.copy(piece, 0, length, batch.bytes, i * SLOT_BYTES + SLOT_HEADROOM_BYTES);
    this.#putLength(batch, i, length);
  }

  /** Describes the packet that is in slot `i`, with an empty virtio_net_hdr before it. */
  #putLength(batch: Batch, i: number, length: number): void {
    const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
    const at = i * DESCRIPTOR_WORDS;
    batch.bytes.fill(0, offset - VIRTIO_HEADER_BYTES, offset);
    batch.descriptors[at + OFFSET] = offset;
    batch.descriptors[at + LENGTH] = length;
    batch.descriptors[at + MARK] = MARK_DROP;
  }

  // ---- what people see -----------------------------------------------------------------------

  /** Captures the fragments of a datagram, each as it came, with the verdict on the whole. */
  #capture(datagram: number, from: KnownPeer | null, now: number): void {
    const { captures } = this.#parts;
    if (!captures.isOn) return;
    const collector = this.#collector!;
    const verdict = this.#verdict;
    const scratch = this.#scratch!;
    const { length } = verdict.packet;
    for (let piece = collector.firstOf(datagram); piece !== 0; piece = collector.after(piece)) {
      this.#put(scratch, 0, piece);
      verdict.packet.length = collector.lengthOf(piece);
      if (from === null) captures.outward(scratch, 0, verdict, now);
      else if (from.isHere) captures.inward(scratch, 0, from, verdict, now);
      else captures.handed(scratch, 0, from, verdict, now);
    }
    verdict.packet.length = length;
  }

  /** Takes a datagram that is given up: it is refused, once. */
  #lose(datagram: number, reason: number): void {
    const { tunnel, refused } = this.#parts;
    const owner = this.#collector!.ownerOf(datagram);
    const peer = tunnel.atSlot(owner >> 1);
    if (peer === null) return;
    const isForIt = (owner & 1) === 1;
    const verdict = this.#verdict;
    verdict.clear();
    verdict.reason = reason;
    this.#describe(datagram);
    if (isForIt) verdict.to = peer;
    else if (isOwn(peer)) peer.inside.refused(reason, verdict.packet, this.#now);
    refused.take(verdict, isForIt ? NO_PEER : peer.slot);
    this.#capture(datagram, isForIt ? null : peer, this.#now);
  }

  /** Writes to the verdict what the first of the fragments that are there says. */
  #describe(datagram: number): void {
    const collector = this.#collector!;
    const { bytes, view } = this.#scratch!;
    const piece = collector.firstOf(datagram);
    const length = collector.lengthOf(piece);
    collector.copy(piece, 0, length, bytes, AT);
    this.#verdict.isReadable = parseInner(view, AT, length, this.#verdict.packet) === reasons.none;
  }
}

/** Who holds fragments: a peer has one share for what it sends, and one for what is for it. */
function ownerOf(slot: number, isForIt: boolean): number {
  return 2 * slot + (isForIt ? 1 : 0);
}
