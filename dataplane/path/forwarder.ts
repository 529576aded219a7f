// Acts on verdicts, one packet after the other: takes the packet from the limits, tracks it, clamps
// it, marks it for the TUN or for encryption, or turns it into the answer to its sender. A packet
// over a limit or a quota is treated as if it had never come: no flow and no hit of a rule
// remembers it. At the end of a batch the engine writes and encrypts what was marked.

import { DATAGRAM_SLOTS, DATAGRAMS_PER_SLOT } from '../constants.ts';
import {
  type Batch,
  DESCRIPTOR_WORDS,
  KIND_FROM_PEER,
  KIND_FROM_TUN,
  KEY,
  LENGTH,
  OFFSET,
  type PacketEngine,
  MARK,
  MARK_DOOR,
  MARK_TUN,
} from '../contract.ts';
import type { Tracker } from '../filter/tracker.ts';
import { NO_RULE } from '../filter/filter.ts';
import { NO_PEER } from '../filter/flow-verdict.ts';
import { reasons } from '../reasons.ts';
import { turnIntoEchoReply } from '../wire/icmp.ts';
import { type InnerPacket, takeHop } from '../wire/ip.ts';
import { bytesOfSegments, segmentsOf, VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { HandOver } from '../wireguard/hand-over.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import type { Peer } from '../wireguard/peer.ts';
import type { Sender } from '../wireguard/send.ts';
import { DOWN, type Limits, UP } from './limits.ts';
import type { Mtus } from './mtu.ts';
import type { Refused } from './refused.ts';
import { isOwn } from '../wireguard/tunnel.ts';
import type { Captures } from './capture.ts';
import type { Unreachable } from './unreachable.ts';
import { ECHO_TO_SENDER, TO_DOOR, TO_PEER, TO_TUN, TO_WORKER, type Verdict } from './verdict.ts';

/** What acting on a verdict can change. */
export interface ForwarderParts {
  readonly engine: Pick<PacketEngine, 'seal' | 'writeDoors' | 'writeTun'>;
  readonly sender: Pick<Sender, 'sendPacket' | 'countSealed'>;
  readonly handOver: Pick<HandOver, 'mark' | 'finish'>;
  readonly tracker: Pick<Tracker, 'track'>;
  readonly mtus: Mtus;
  readonly limits: Pick<Limits, 'has' | 'take'>;
  readonly refused: Pick<Refused, 'unsent'>;
  readonly captures: Pick<Captures, 'isOn' | 'answer'>;
  readonly unreachable: Pick<Unreachable, 'noEndpoint'>;
}

/** Acts on verdicts. */
export class Forwarder {
  readonly #engine: ForwarderParts['engine'];
  readonly #sender: ForwarderParts['sender'];
  readonly #handOver: ForwarderParts['handOver'];
  readonly #tracker: ForwarderParts['tracker'];
  readonly #mtus: Mtus;
  readonly #limits: ForwarderParts['limits'];
  readonly #refused: ForwarderParts['refused'];
  readonly #captures: ForwarderParts['captures'];
  readonly #unreachable: ForwarderParts['unreachable'];
  /** By descriptor of the current batch: the peer for which it is sealed. */
  readonly #targets: (Peer | null)[];
  #hasTunWork = false;
  #hasDoorWork = false;
  #hasSealWork = false;

  constructor(parts: ForwarderParts) {
    this.#engine = parts.engine;
    this.#sender = parts.sender;
    this.#handOver = parts.handOver;
    this.#tracker = parts.tracker;
    this.#mtus = parts.mtus;
    this.#limits = parts.limits;
    this.#refused = parts.refused;
    this.#captures = parts.captures;
    this.#unreachable = parts.unreachable;
    this.#targets = Array.from({ length: DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT }, () => null);
  }

  /** Begins a batch. */
  begin(): void {
    this.#hasTunWork = false;
    this.#hasDoorWork = false;
    this.#hasSealWork = false;
  }

  // ---- from a peer ---------------------------------------------------------------------------

  /** Acts on the verdict on descriptor `i`, which peer `from` sent. */
  inward(batch: Batch, i: number, from: Peer, verdict: Verdict, now: number): void {
    const { packet } = verdict;
    if (this.accountInward(from, verdict, packet.length))
      this.sendInward(batch, i, packet, from, verdict, now);
  }

  /**
   * Tracks what peer `from` sent, and takes its bytes from the limits. Returns whether something is
   * to be sent: the packet, or the answer that it is too big.
   */
  accountInward(from: Peer, verdict: Verdict, bytes: number): boolean {
    const { packet, reason } = verdict;
    if (isAsIfNever(reason)) return false;
    if (verdict.wasFiltered) this.#tracker.track(packet, verdict.flow);
    if (reason !== reasons.none) return reason === reasons.packet_too_big;
    this.#limits.take(from.slot, UP, bytes);
    return true;
  }

  /**
   * Sends descriptor `i`, or the answer that it is too big. `packet` is the packet of the verdict,
   * or a fragment of it.
   */
  sendInward(
    batch: Batch,
    i: number,
    packet: InnerPacket,
    from: Peer,
    verdict: Verdict,
    now: number,
  ): void {
    const { to } = verdict;
    const { view, descriptors } = batch;
    const at = i * DESCRIPTOR_WORDS;
    const offset = descriptors[at + OFFSET]!;
    // The padding after the packet is cut off.
    descriptors[at + LENGTH] = packet.length;
    this.#mtus.clampFromPeer(view, offset, packet, from.slot, to === null ? NO_PEER : to.slot);
    if (verdict.place === TO_TUN) this.#writeToTun(batch, i, from.slot);
    else if (verdict.place === TO_DOOR) this.#writeToDoor(batch, i, from.slot);
    else if (verdict.place === ECHO_TO_SENDER) {
      turnIntoEchoReply(view, offset, packet);
      this.#answer(batch, i, from, now);
    } else {
      takeHop(view, offset, packet);
      if (verdict.place === TO_PEER) this.#toPeer(batch, i, packet.length, verdict, from, now);
      else if (this.#mtus.answerPeer(batch, i, packet, from.slot, to!.slot, now))
        this.#answer(batch, i, from, now);
    }
  }

  // ---- from a peer of another worker ---------------------------------------------------------

  /**
   * Acts on the verdict on descriptor `i`, which peer `from` of another worker sent. That worker
   * has counted it for its rules, clamped it and answered its sender.
   */
  handed(batch: Batch, i: number, from: KnownPeer, verdict: Verdict, now: number): void {
    if (this.accountHanded(verdict)) this.sendHanded(batch, i, verdict.packet, from, verdict, now);
  }

  /** Tracks what another worker handed over. Returns whether it is to be sent. */
  accountHanded(verdict: Verdict): boolean {
    const { packet, reason, flow } = verdict;
    flow.rule = NO_RULE;
    flow.staged = NO_RULE;
    if (isAsIfNever(reason)) return false;
    if (verdict.wasFiltered) this.#tracker.track(packet, flow);
    return reason === reasons.none;
  }

  /** Sends descriptor `i`. `packet` is the packet of the verdict, or a fragment of it. */
  sendHanded(
    batch: Batch,
    i: number,
    packet: InnerPacket,
    from: KnownPeer,
    verdict: Verdict,
    now: number,
  ): void {
    const { to } = verdict;
    if (to === null || !isOwn(to)) return;
    this.#limits.take(to.slot, DOWN, packet.length);
    const refused = this.#seal(batch, i, to, VIRTIO_HEADER_BYTES, now, from.slot);
    if (refused !== reasons.none) this.#refused.unsent(verdict, from.slot, refused);
  }

  // ---- from the TUN --------------------------------------------------------------------------

  /** Acts on the verdict on descriptor `i`, which came from the TUN. */
  outward(batch: Batch, i: number, verdict: Verdict, now: number): void {
    const { reason } = verdict;
    if (verdict.place === TO_WORKER)
      return this.#handOver.mark(batch, i, verdict.to!.worker, KIND_FROM_TUN, null);
    if (isAsIfNever(reason)) return;
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    if (verdict.wasFiltered) this.#trackFromTun(batch.view, offset, verdict);
    if (reason !== reasons.none && reason !== reasons.packet_too_big) return;
    this.sendOutward(batch, i, verdict.packet, verdict, now);
  }

  /**
   * Tracks a datagram from the TUN that came in fragments. Returns whether something is to be sent:
   * the datagram, or the answer that it is too big.
   */
  accountOutward(verdict: Verdict): boolean {
    const { reason } = verdict;
    if (isAsIfNever(reason)) return false;
    if (verdict.wasFiltered) this.#tracker.track(verdict.packet, verdict.flow);
    return reason === reasons.none || reason === reasons.packet_too_big;
  }

  /**
   * Sends descriptor `i`, or the answer that it is too big. `packet` is the packet of the verdict,
   * or a fragment of it.
   */
  sendOutward(batch: Batch, i: number, packet: InnerPacket, verdict: Verdict, now: number): void {
    const { to, isReadable } = verdict;
    if (to === null || !isOwn(to)) return;
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    if (isReadable) this.#mtus.clampFromTun(batch.view, offset, packet, to.slot);
    if (verdict.place === TO_PEER) {
      if (this.#limits.has(to.slot, DOWN))
        this.#limits.take(to.slot, DOWN, bytesFromTun(batch, i, packet, isReadable));
      const refused = this.#seal(batch, i, to, VIRTIO_HEADER_BYTES, now, NO_PEER);
      if (refused === reasons.none) return;
      this.#refused.unsent(verdict, NO_PEER, refused);
      if (refused === reasons.peer_no_endpoint && isReadable)
        this.#unreachable.noEndpoint(batch, i, packet, to, now);
    } else if (this.#mtus.answerTun(batch, i, packet, to.slot, now))
      this.#writeToTun(batch, i, NO_PEER);
  }

  // ---- the end of a batch --------------------------------------------------------------------

  /** Sends what was marked so far, before the batch goes on. */
  sendMarked(batch: Batch, now: number): void {
    this.finish(batch, now);
    this.begin();
  }

  /**
   * Ends a batch: hands over what was marked for other workers, writes what was marked for the TUN
   * or for listeners of this process, seals what was marked for peers.
   */
  finish(batch: Batch, now: number): void {
    this.#handOver.finish(batch);
    if (this.#hasTunWork) this.#engine.writeTun(batch);
    if (this.#hasDoorWork) this.#engine.writeDoors(batch);
    if (!this.#hasSealWork) return;
    this.#engine.seal(batch);
    for (let i = 0; i < batch.count; i++) {
      const peer = this.#targets[i]!;
      if (peer === null) continue;
      this.#targets[i] = null;
      this.#sender.countSealed(peer, batch, i, now);
    }
  }

  /** A super-packet counts as the packets that it is cut into. */
  #trackFromTun(view: DataView, offset: number, { packet, flow }: Verdict): void {
    const segments = segmentsOf(view, offset, packet);
    if (segments === 1) this.#tracker.track(packet, flow);
    else
      this.#tracker.track(packet, flow, segments, bytesOfSegments(view, offset, packet, segments));
  }

  #toPeer(
    batch: Batch,
    i: number,
    bytes: number,
    verdict: Verdict,
    from: KnownPeer,
    now: number,
  ): void {
    const to = verdict.to!;
    if (!isOwn(to)) return this.#handOver.mark(batch, i, to.worker, KIND_FROM_PEER, from);
    this.#limits.take(to.slot, DOWN, bytes);
    const refused = this.#seal(batch, i, to, 0, now, from.slot);
    if (refused !== reasons.none) this.#refused.unsent(verdict, from.slot, refused);
  }

  /** Sends what a packet was turned into back to its sender. */
  #answer(batch: Batch, i: number, to: Peer, now: number): void {
    if (this.#captures.isOn) this.#captures.answer(batch, i, to);
    this.#seal(batch, i, to, 0, now, NO_PEER);
  }

  #writeToTun({ descriptors }: Batch, i: number, from: number): void {
    descriptors[i * DESCRIPTOR_WORDS + KEY] = from;
    descriptors[i * DESCRIPTOR_WORDS + MARK] = MARK_TUN;
    this.#hasTunWork = true;
  }

  #writeToDoor({ descriptors }: Batch, i: number, from: number): void {
    descriptors[i * DESCRIPTOR_WORDS + KEY] = from;
    descriptors[i * DESCRIPTOR_WORDS + MARK] = MARK_DOOR;
    this.#hasDoorWork = true;
  }

  /** Returns why the packet cannot be sent to the peer; reasons.none: it can, or it waits. */
  #seal(
    batch: Batch,
    i: number,
    peer: Peer,
    headerBytes: number,
    now: number,
    from: number,
  ): number {
    this.#targets[i] = peer;
    this.#hasSealWork = true;
    return this.#sender.sendPacket(peer, batch, i, headerBytes, now, from);
  }
}

/** Whether a packet that was refused for a reason is as if it had never come. */
function isAsIfNever(reason: number): boolean {
  return reason === reasons.rate_limit || reason === reasons.quota_exceeded;
}

/** Bytes of the packets into which the packet of descriptor `i` from the TUN is cut. */
function bytesFromTun(
  { view, descriptors }: Batch,
  i: number,
  packet: InnerPacket,
  isReadable: boolean,
): number {
  const at = i * DESCRIPTOR_WORDS;
  const offset = descriptors[at + OFFSET]!;
  if (!isReadable) return descriptors[at + LENGTH]!;
  return bytesOfSegments(view, offset, packet, segmentsOf(view, offset, packet));
}
