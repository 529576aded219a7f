// The path of one packet: its verdict, then the act. A refusal is counted and noted
// between the two.

import { type Batch, DESCRIPTOR_WORDS, LENGTH, OFFSET } from '../contract.ts';
import { reasons } from '../reasons.ts';
import { segmentBytes } from '../wire/virtio.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import type { Peer } from '../wireguard/peer.ts';
import { NO_PEER } from '../filter/flow-verdict.ts';
import type { Captures } from './capture.ts';
import type { Datagrams } from './datagrams.ts';
import type { Forwarder } from './forwarder.ts';
import type { InwardJudge } from './inward.ts';
import type { OutwardJudge } from './outward.ts';
import type { Refused } from './refused.ts';
import type { Unreachable } from './unreachable.ts';
import { TO_COLLECTOR, Verdict } from './verdict.ts';

/** What the path of a packet is made of. */
export interface PathParts {
  readonly inward: InwardJudge;
  readonly outward: OutwardJudge;
  readonly forwarder: Forwarder;
  readonly refused: Refused;
  readonly captures: Captures;
  readonly datagrams: Datagrams;
  readonly unreachable: Pick<Unreachable, 'noPeer' | 'send'>;
}

/** Takes packets, one after the other; `finish` ends their batch. */
export class PacketPath {
  readonly #inward: InwardJudge;
  readonly #outward: OutwardJudge;
  readonly #forwarder: Forwarder;
  readonly #refused: Refused;
  readonly #captures: Captures;
  readonly #datagrams: Datagrams;
  readonly #unreachable: PathParts['unreachable'];
  /** The verdict on the current packet. */
  readonly #verdict = new Verdict();

  constructor(parts: PathParts) {
    this.#inward = parts.inward;
    this.#outward = parts.outward;
    this.#forwarder = parts.forwarder;
    this.#refused = parts.refused;
    this.#captures = parts.captures;
    this.#datagrams = parts.datagrams;
    this.#unreachable = parts.unreachable;
  }

  /** Takes the inner packet of descriptor `i`, which peer `from` sent. */
  inward(batch: Batch, i: number, from: Peer, now: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const verdict = this.#verdict;
    const offset = d[at + OFFSET]!;
    const available = d[at + LENGTH]!;
    if (!this.#inward.repeats(batch.view, offset, available, from, verdict)) {
      this.#inward.judge(batch.view, offset, available, from, verdict);
      if (verdict.place === TO_COLLECTOR)
        return this.#datagrams.inward(batch, i, from, verdict.packet, now);
    }
    if (verdict.reason === reasons.none) from.inside.passed(verdict.packet.length, now);
    else this.#refuseInward(from, now);
    if (this.#captures.isOn) this.#captures.inward(batch, i, from, verdict, now);
    this.#forwarder.inward(batch, i, from, verdict, now);
  }

  /** Takes the inner packet of descriptor `i`, which peer `from` of another worker sent. */
  handed(batch: Batch, i: number, from: KnownPeer, now: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const verdict = this.#verdict;
    this.#inward.judgeHanded(batch.view, d[at + OFFSET]!, d[at + LENGTH]!, from, verdict);
    if (verdict.place === TO_COLLECTOR)
      return this.#datagrams.handed(batch, i, from, verdict.packet, now);
    if (verdict.reason !== reasons.none)
      this.#refused.takeSized(verdict, from.slot, verdict.packet.length, now);
    if (this.#captures.isOn) this.#captures.handed(batch, i, from, verdict, now);
    this.#forwarder.handed(batch, i, from, verdict, now);
  }

  /** Takes the packet of descriptor `i` from the TUN; `wasTruncated`: the kernel cut it off. */
  outward(batch: Batch, i: number, wasTruncated: boolean, now: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const verdict = this.#verdict;
    this.#outward.judge(batch.view, d[at + OFFSET]!, d[at + LENGTH]!, wasTruncated, verdict);
    if (verdict.place === TO_COLLECTOR)
      return this.#datagrams.outward(batch, i, verdict.to!, verdict.packet, now);
    if (verdict.reason === reasons.packet_too_big) {
      const bytes = segmentBytes(batch.view, d[at + OFFSET]!, verdict.packet);
      this.#refused.takeSized(verdict, NO_PEER, bytes, now);
    } else if (verdict.reason !== reasons.none) this.#refused.take(verdict, NO_PEER);
    if (this.#captures.isOn) this.#captures.outward(batch, i, verdict, now);
    this.#forwarder.outward(batch, i, verdict, now);
    if (verdict.reason === reasons.no_peer) this.#unreachable.noPeer(batch, i, now);
  }

  #refuseInward(from: Peer, now: number): void {
    const { reason, packet } = this.#verdict;
    from.inside.refused(reason, packet, now);
    this.#refused.takeSized(this.#verdict, from.slot, packet.length, now);
  }

  /** Begins a batch. */
  begin(): void {
    // No verdict of another time is repeated.
    this.#verdict.clear();
    this.#forwarder.begin();
  }

  /** Ends a batch: what was marked leaves. */
  finish(batch: Batch, now: number): void {
    this.#forwarder.finish(batch, now);
    this.#unreachable.send();
  }

  /** True: no packet passes, whatever peers and rules say. */
  close(isClosed: boolean): void {
    this.#inward.isClosed = isClosed;
    this.#outward.isClosed = isClosed;
  }
}
