// The verdict on an inner packet that a peer sent. The checks in their order:
//
//     readable -> addresses -> form -> where it goes -> filter -> whether it can go there -> quotas
//     -> limits
//
// A fragment goes to the others of its datagram after its addresses. When all are there, the whole
// datagram is judged from the beginning.
//
// The first check that refuses the packet gives the reason. The verdict depends on the packet, the
// peer, the tables and the time. Asking for it changes none of them; forwarder.ts acts on it.

import type { Judge } from '../filter/judge.ts';
import { FLOW_CONTINUES, NO_PEER } from '../filter/flow-verdict.ts';
import { reasons } from '../reasons.ts';
import { PLACE_GATEWAY, PLACE_OUTSIDE, type Sanity } from '../sanity.ts';
import { findFragmentError } from '../wire/fragment.ts';
import { isEchoRequest } from '../wire/icmp.ts';
import { type InnerPacket, parseInner, PROTOCOL_TCP, PROTOCOL_UDP, WHOLE } from '../wire/ip.ts';
import { findMalformed } from '../wire/malformed.ts';
import { isNext } from '../wire/next.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import { DOWN, type Limits, UP } from './limits.ts';
import type { Mtus } from './mtu.ts';
import type { OverQuota } from './over-quota.ts';
import { ECHO_TO_SENDER, TO_COLLECTOR, TO_DOOR, TO_PEER, TO_TUN, type Verdict } from './verdict.ts';

/** In place of bytes: the packet that is judged did not come in fragments. */
const NO_DATAGRAM = -1;

/** What a verdict on a packet of a peer is read from; only methods that change nothing. */
export interface InwardTables {
  readonly sanity: Pick<
    Sanity,
    | 'inward'
    | 'placeOf'
    | 'destinationOwner'
    | 'isForDoor'
    | 'isForHost'
    | 'isForGuarded'
    | 'isFromHost'
  >;
  readonly filter: Judge;
  readonly mtus: Pick<Mtus, 'isTooBig' | 'isLarger'>;
  readonly limits: Pick<Limits, 'isReached'>;
  readonly overQuota: Pick<OverQuota, 'has'>;
  /** False: only peers and the gateway's own address can be reached. */
  readonly hasTun: boolean;
  /** Whether sockets of this process take what a TUN would take. */
  readonly hasSockets: boolean;
}

/** Judges packets of peers. Never allocates. */
export class InwardJudge {
  readonly #sanity: InwardTables['sanity'];
  readonly #filter: Judge;
  readonly #mtus: InwardTables['mtus'];
  readonly #limits: InwardTables['limits'];
  readonly #overQuota: InwardTables['overQuota'];
  readonly #hasTun: boolean;
  readonly #hasSockets: boolean;
  /**
   * Of a datagram that came in fragments: bytes of the largest one that may not be fragmented
   * again; else NO_DATAGRAM.
   */
  #unfragmented = NO_DATAGRAM;
  /** True: no packet passes, whatever peers and rules say. */
  isClosed = false;

  constructor({ sanity, filter, mtus, limits, overQuota, ...ways }: InwardTables) {
    this.#sanity = sanity;
    this.#filter = filter;
    this.#mtus = mtus;
    this.#limits = limits;
    this.#overQuota = overQuota;
    this.#hasTun = ways.hasTun;
    this.#hasSockets = ways.hasSockets;
  }

  /** Judges the packet at `offset`, of which `available` bytes are there. Padding may follow it. */
  judge(
    view: DataView,
    offset: number,
    available: number,
    from: KnownPeer,
    verdict: Verdict,
  ): void {
    verdict.clear();
    verdict.reason = this.#reason(view, offset, available, from, verdict);
  }

  /**
   * Whether `verdict`, which is on the packet before in the same batch, is also the verdict on the
   * packet at `offset`. It is where `judge` let a packet of the same peer and the same flow go to
   * the TUN; no other way leads there. Then `verdict` describes the packet at `offset`.
   */
  repeats(
    view: DataView,
    offset: number,
    available: number,
    from: KnownPeer,
    verdict: Verdict,
  ): boolean {
    const { flow, packet } = verdict;
    return (
      verdict.place === TO_TUN &&
      flow.from === from.slot &&
      flow.step === FLOW_CONTINUES &&
      !flow.isRenewed &&
      !this.#limits.isReached(from.slot, UP) &&
      isNext(view, offset, available, packet)
    );
  }

  /**
   * Judges a packet that peer `from` of another worker sent to a peer of this one. That worker has
   * judged it, and it may have changed since. This worker has what the receiver knows of its flow.
   */
  judgeHanded(
    view: DataView,
    offset: number,
    available: number,
    from: KnownPeer,
    verdict: Verdict,
  ): void {
    verdict.clear();
    verdict.reason = this.#handed(view, offset, available, from, verdict);
  }

  /**
   * Judges a datagram whose fragments have all come, as if it had come whole. `unfragmented`: bytes
   * of the largest fragment that may not be fragmented again.
   */
  judgeDatagram(
    view: DataView,
    offset: number,
    available: number,
    from: KnownPeer,
    verdict: Verdict,
    unfragmented: number,
  ): void {
    this.#unfragmented = unfragmented;
    if (from.isHere) this.judge(view, offset, available, from, verdict);
    else this.judgeHanded(view, offset, available, from, verdict);
    this.#unfragmented = NO_DATAGRAM;
  }

  #handed(
    view: DataView,
    offset: number,
    available: number,
    from: KnownPeer,
    verdict: Verdict,
  ): number {
    if (this.isClosed) return reasons.database_away;
    const { packet } = verdict;
    const unreadable = parseInner(view, offset, available, packet);
    if (unreadable !== reasons.none) return unreadable;
    verdict.isReadable = true;
    const insane = this.#sanity.inward(packet, from);
    if (insane !== reasons.none) return insane;
    if (packet.fragment !== WHOLE) return this.#fragment(view, offset, verdict);
    const to = this.#sanity.destinationOwner(packet);
    if (to === null || !to.isHere) return reasons.peer_gone;
    const refused = this.#ask(view, offset, from, to.slot, verdict);
    if (refused !== reasons.none) return refused;
    // Its hop was counted where it came in.
    verdict.to = to;
    if (this.#isTooBig(view, offset, packet, to.slot)) return reasons.packet_too_big;
    if (this.#overQuota.has(to.slot)) return reasons.quota_exceeded;
    if (this.#limits.isReached(to.slot, DOWN)) return reasons.rate_limit;
    verdict.place = TO_PEER;
    return reasons.none;
  }

  #reason(
    view: DataView,
    offset: number,
    available: number,
    from: KnownPeer,
    verdict: Verdict,
  ): number {
    if (this.isClosed) return reasons.database_away;
    const { packet } = verdict;
    const unreadable = parseInner(view, offset, available, packet);
    if (unreadable !== reasons.none) return unreadable;
    verdict.isReadable = true;
    const insane = this.#sanity.inward(packet, from);
    if (insane !== reasons.none) return insane;
    if (packet.fragment !== WHOLE) return this.#fragment(view, offset, verdict);
    const malformed = findMalformed(view, offset, packet);
    if (malformed !== reasons.none) return malformed;
    const place = this.#sanity.placeOf(packet);
    if (place === PLACE_OUTSIDE) return this.#toTun(view, offset, from, verdict, TO_TUN);
    if (place === PLACE_GATEWAY) return this.#toGateway(view, offset, from, verdict);
    return this.#toPeer(view, offset, from, verdict);
  }

  #toTun(
    view: DataView,
    offset: number,
    from: KnownPeer,
    verdict: Verdict,
    way: number,
    isToGateway = way === TO_DOOR,
  ): number {
    if (this.#sanity.isFromHost(verdict.packet)) return reasons.inner_source_not_allowed;
    const refused = this.#ask(view, offset, from, NO_PEER, verdict);
    if (refused !== reasons.none) return refused;
    if (!this.#hasTun && !isToGateway) {
      const unfit = this.#bySocket(view, offset, verdict);
      if (unfit !== reasons.none) return unfit;
    }
    if (!isToGateway && this.#overQuota.has(from.slot)) return reasons.quota_exceeded;
    if (this.#limits.isReached(from.slot, UP)) return reasons.rate_limit;
    verdict.place = way;
    return reasons.none;
  }

  /**
   * Why no socket carries a packet. The host is never reached: a socket of this process passes by
   * what the host's packet filter says about devices. Servers that the gateway itself needs take
   * the packet for one of the gateway, so a rule must name them.
   */
  #bySocket(view: DataView, offset: number, { packet, flow }: Verdict): number {
    if (!this.#hasSockets) return reasons.no_tun;
    if (this.#sanity.isForHost(packet)) return reasons.inner_destination_host;
    if (this.#sanity.isForGuarded(packet) && !this.#filter.isByHostRule(flow))
      return reasons.inner_destination_host;
    const { protocol } = packet;
    if (protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP) return reasons.none;
    return isEchoRequest(view, offset, packet) ? reasons.none : reasons.no_socket_for_protocol;
  }

  /**
   * Judges a packet to the gateway's own address. A listener of this process takes what is for its
   * port. All else is for the host where there is a TUN; without one, only echo requests are
   * answered.
   */
  #toGateway(view: DataView, offset: number, from: KnownPeer, verdict: Verdict): number {
    const { packet } = verdict;
    if (this.#sanity.isForDoor(packet)) return this.#toTun(view, offset, from, verdict, TO_DOOR);
    if (this.#hasTun) return this.#toTun(view, offset, from, verdict, TO_TUN, true);
    const refused = this.#ask(view, offset, from, NO_PEER, verdict);
    if (refused !== reasons.none) return refused;
    // An echo in fragments would have to be answered in fragments.
    const isEcho = this.#unfragmented === NO_DATAGRAM && isEchoRequest(view, offset, packet);
    if (!isEcho) return reasons.no_tun;
    if (this.#limits.isReached(from.slot, UP)) return reasons.rate_limit;
    verdict.place = ECHO_TO_SENDER;
    return reasons.none;
  }

  #toPeer(view: DataView, offset: number, from: KnownPeer, verdict: Verdict): number {
    const { packet } = verdict;
    const to = this.#sanity.destinationOwner(packet);
    if (to === null) {
      verdict.wasFiltered = true;
      const refused = this.#filter.byRules(packet, from.slot, verdict.flow);
      return refused === reasons.none ? reasons.no_peer : refused;
    }
    const refused = this.#ask(view, offset, from, to.slot, verdict);
    if (refused !== reasons.none) return refused;
    if (packet.hopLimit <= 1) return reasons.hop_limit_exceeded;
    verdict.to = to;
    if (this.#isTooBig(view, offset, packet, to.slot)) return reasons.packet_too_big;
    // The worker of another peer asks that peer's limit itself.
    if (this.#overQuota.has(from.slot) || this.#overQuota.has(to.slot))
      return reasons.quota_exceeded;
    if (this.#limits.isReached(from.slot, UP)) return reasons.rate_limit;
    if (this.#limits.isReached(to.slot, DOWN)) return reasons.rate_limit;
    verdict.place = TO_PEER;
    return reasons.none;
  }

  #ask(view: DataView, offset: number, from: KnownPeer, to: number, verdict: Verdict): number {
    verdict.wasFiltered = true;
    return this.#filter.fromPeer(view, offset, verdict.packet, from.slot, to, verdict.flow);
  }

  /** A sound fragment waits for the others. A whole datagram has no fragments in it. */
  #fragment(view: DataView, offset: number, verdict: Verdict): number {
    if (this.#unfragmented !== NO_DATAGRAM) return reasons.inner_headers_unparsable;
    const error = findFragmentError(view, offset, verdict.packet);
    if (error === reasons.none) verdict.place = TO_COLLECTOR;
    return error;
  }

  #isTooBig(view: DataView, offset: number, packet: InnerPacket, to: number): boolean {
    return this.#unfragmented === NO_DATAGRAM
      ? this.#mtus.isTooBig(view, offset, packet, to)
      : this.#mtus.isLarger(this.#unfragmented, to);
  }
}
