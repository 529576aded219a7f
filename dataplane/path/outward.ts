// The verdict on a packet from the TUN. The checks in their order:
//
//     whole -> the peer of its destination -> source -> readable -> no own datagram -> flow -> size
//     -> quota -> limit
//
// A packet for a peer of another worker is judged there, from the beginning. A fragment goes to the
// others of its datagram after it was read. When all are there, the whole datagram is judged.
//
// The first check that refuses the packet gives the reason. A super-packet of many segments is
// judged once. The verdict depends on the packet, the tables and the time. Asking for it changes
// none of them; forwarder.ts acts on it.

import type { Judge } from '../filter/judge.ts';
import { reasons } from '../reasons.ts';
import type { Sanity } from '../sanity.ts';
import { findFragmentError } from '../wire/fragment.ts';
import { type InnerPacket, isBareReset, parseInner, WHOLE } from '../wire/ip.ts';
import { isPlain } from '../wire/virtio.ts';
import type { AllowedIps } from '../wireguard/allowed-ips.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import { DOWN, type Limits } from './limits.ts';
import type { Mtus } from './mtu.ts';
import type { OverQuota } from './over-quota.ts';
import { TO_COLLECTOR, TO_PEER, TO_WORKER, type Verdict } from './verdict.ts';

/** In place of bytes: the packet that is judged did not come in fragments. */
const NO_DATAGRAM = -1;

/** What a verdict on a packet from the TUN is read from; only methods that change nothing. */
export interface OutwardTables {
  readonly allowedIps: Pick<AllowedIps<KnownPeer>, 'lookUp4' | 'lookUp6'>;
  readonly sanity: Pick<Sanity, 'outward' | 'isOwnDatagram' | 'isFromGateway'>;
  readonly filter: Judge;
  readonly mtus: Pick<Mtus, 'isSuperPacketTooBig' | 'isLarger'>;
  readonly limits: Pick<Limits, 'isReached'>;
  readonly overQuota: Pick<OverQuota, 'has'>;
}

/** Judges packets from the TUN. Never allocates. */
export class OutwardJudge {
  readonly #allowedIps: OutwardTables['allowedIps'];
  readonly #sanity: OutwardTables['sanity'];
  readonly #filter: Judge;
  readonly #mtus: OutwardTables['mtus'];
  readonly #limits: OutwardTables['limits'];
  readonly #overQuota: OutwardTables['overQuota'];
  /**
   * Of a datagram that came in fragments: bytes of the largest one that may not be fragmented
   * again; else NO_DATAGRAM.
   */
  #unfragmented = NO_DATAGRAM;
  /** True: no packet passes, whatever peers and rules say. */
  isClosed = false;

  constructor({ allowedIps, sanity, filter, mtus, limits, overQuota }: OutwardTables) {
    this.#allowedIps = allowedIps;
    this.#sanity = sanity;
    this.#filter = filter;
    this.#mtus = mtus;
    this.#limits = limits;
    this.#overQuota = overQuota;
  }

  /** Judges the packet at `offset`; `wasTruncated`: the kernel cut it off. */
  judge(
    view: DataView,
    offset: number,
    available: number,
    wasTruncated: boolean,
    verdict: Verdict,
  ): void {
    verdict.clear();
    verdict.reason = this.#reason(view, offset, available, wasTruncated, verdict);
  }

  /**
   * Judges a datagram whose fragments have all come, as if it had come whole. `unfragmented`: bytes
   * of the largest fragment that may not be fragmented again.
   */
  judgeDatagram(
    view: DataView,
    offset: number,
    available: number,
    verdict: Verdict,
    unfragmented: number,
  ): void {
    this.#unfragmented = unfragmented;
    this.judge(view, offset, available, false, verdict);
    this.#unfragmented = NO_DATAGRAM;
  }

  #reason(
    view: DataView,
    offset: number,
    available: number,
    wasTruncated: boolean,
    verdict: Verdict,
  ): number {
    if (this.isClosed) return reasons.database_away;
    if (wasTruncated) return reasons.oversized;
    const to = peerBehind(this.#allowedIps, view, offset, available);
    if (typeof to === 'number') return to;
    if (!to.isHere) {
      verdict.to = to;
      verdict.place = TO_WORKER;
      return reasons.none;
    }
    const forged = this.#sanity.outward(view, offset);
    if (forged !== reasons.none) return forged;
    const { packet } = verdict;
    verdict.to = to;
    // A packet that cannot be read has no flow and is judged by no rule.
    const unreadable = parseInner(view, offset, available, packet);
    // It would hide a part of its datagram from what is judged.
    if (unreadable === reasons.inner_fragment_unsafe) return unreadable;
    if (unreadable === reasons.none) {
      verdict.isReadable = true;
      if (packet.fragment !== WHOLE) return this.#fragment(view, offset, verdict);
      if (this.#sanity.isOwnDatagram(packet)) return reasons.packet_own_datagram;
      verdict.wasFiltered = true;
      const refused = this.#filter.toPeer(view, offset, packet, to.slot, verdict.flow);
      if (refused !== reasons.none && !this.#endsConnection(view, offset, packet)) return refused;
      if (this.#isTooBig(view, offset, packet, to.slot)) return reasons.packet_too_big;
    }
    if (this.#overQuota.has(to.slot) && !this.#sanity.isFromGateway(view, offset))
      return reasons.quota_exceeded;
    if (this.#limits.isReached(to.slot, DOWN)) return reasons.rate_limit;
    verdict.place = TO_PEER;
    return reasons.none;
  }

  /** A sound fragment waits for the others. A whole datagram has no fragments in it. */
  #fragment(view: DataView, offset: number, verdict: Verdict): number {
    if (this.#unfragmented !== NO_DATAGRAM) return reasons.inner_headers_unparsable;
    // The kernel completes checksums before it fragments.
    if (!isPlain(view, offset)) return reasons.inner_fragment_malformed;
    const error = findFragmentError(view, offset, verdict.packet);
    if (error === reasons.none) verdict.place = TO_COLLECTOR;
    return error;
  }

  /**
   * Whether the gateway itself says that a connection to it has ended. What rules refuse now may
   * still be ended so, and nothing else of it passes.
   */
  #endsConnection(view: DataView, offset: number, packet: InnerPacket): boolean {
    return isBareReset(view, offset, packet) && this.#sanity.isFromGateway(view, offset);
  }

  #isTooBig(view: DataView, offset: number, packet: InnerPacket, to: number): boolean {
    return this.#unfragmented === NO_DATAGRAM
      ? this.#mtus.isSuperPacketTooBig(view, offset, packet, to)
      : this.#mtus.isLarger(this.#unfragmented, to);
  }
}

/** The peer that has the destination address of a packet; or a reason. */
export function peerBehind(
  allowedIps: OutwardTables['allowedIps'],
  view: DataView,
  offset: number,
  available: number,
): KnownPeer | number {
  const version = available >= 20 ? view.getUint8(offset) >> 4 : 0;
  if (version === 4) return allowedIps.lookUp4(view.getInt32(offset + 16)) ?? reasons.no_peer;
  if (version !== 6 || available < 40) return reasons.packet_malformed;
  return (
    allowedIps.lookUp6(
      view.getInt32(offset + 24),
      view.getInt32(offset + 28),
      view.getInt32(offset + 32),
      view.getInt32(offset + 36),
    ) ?? reasons.no_peer
  );
}
