// Packets that wait for a keypair were judged when they came, and may wait for minutes. If the
// rules have changed since, they are judged again before they are sent. Fragments of a datagram
// wait one after the other, the first one first, and the others get its verdict.

import type { Filter } from '../filter/filter.ts';
import { FlowVerdict, NO_PEER } from '../filter/flow-verdict.ts';
import type { Judge } from '../filter/judge.ts';
import { reasons } from '../reasons.ts';
import { FIRST_FRAGMENT, InnerPacket, LATER_FRAGMENT, parseInner } from '../wire/ip.ts';
import type { StagedPacket } from '../wireguard/staging.ts';

/** Judges waiting packets again. */
export class WaitingPackets {
  readonly #filter: Pick<Filter, 'version'>;
  readonly #judge: Pick<Judge, 'fromPeer' | 'toPeer'>;
  readonly #packet = new InnerPacket();
  readonly #verdict = new FlowVerdict();
  /** The identification of the latest first fragment, and the verdict on it. */
  #identification = 0;
  #ofFirst: number = reasons.inner_fragment_unsafe;
  #version = 0;
  /** When the rules changed last. */
  #changedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(filter: Pick<Filter, 'version'>, judge: Pick<Judge, 'fromPeer' | 'toPeer'>) {
    this.#filter = filter;
    this.#judge = judge;
  }

  /**
   * Notes that the rules may have changed at `now`. `isClosed`: whether no packet passes, whatever
   * they say; left out: as before.
   */
  changed(now: number, isClosed = this.#isClosed): void {
    this.#isClosed = isClosed;
    const { version } = this.#filter;
    if (version === this.#version) return;
    this.#version = version;
    this.#changedAt = now;
  }

  /** Why a packet that has waited is refused now; reasons.none: it is sent. */
  refusalOf({ bytes, headerBytes, from, peer, at }: StagedPacket): number {
    if (this.#isClosed) return reasons.database_away;
    if (at > this.#changedAt) return reasons.none;
    const [packet, verdict, judge] = [this.#packet, this.#verdict, this.#judge];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const available = bytes.length - headerBytes;
    // A packet that cannot be read has no flow and is judged by no rule.
    if (parseInner(view, headerBytes, available, packet) !== reasons.none) return reasons.none;
    if (packet.fragment === LATER_FRAGMENT)
      return packet.identification === this.#identification
        ? this.#ofFirst
        : reasons.inner_fragment_unsafe;
    const reason =
      from === NO_PEER
        ? judge.toPeer(view, headerBytes, packet, peer.slot, verdict)
        : judge.fromPeer(view, headerBytes, packet, from, peer.slot, verdict);
    if (packet.fragment === FIRST_FRAGMENT) {
      this.#identification = packet.identification;
      this.#ofFirst = reason;
    }
    return reason;
  }
}
