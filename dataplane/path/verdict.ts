// The verdict on one packet: a reason why it is refused, or where it goes. inward.ts and outward.ts
// fill it in and change nothing else; forwarder.ts acts on it. One object is used for all packets,
// one after the other, so that nothing is allocated.

import { FlowVerdict } from '../filter/flow-verdict.ts';
import { reasons } from '../reasons.ts';
import { InnerPacket } from '../wire/ip.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';

/**
 * Where a packet goes: nowhere, to the TUN, to a peer, back to its sender as an echo reply,
 * unjudged to the worker of the peer that it is for, to a listener of this process, or, a fragment,
 * to those of its datagram.
 */
export const TO_NOBODY = 0;
export const TO_TUN = 1;
export const TO_PEER = 2;
export const ECHO_TO_SENDER = 3;
export const TO_WORKER = 4;
export const TO_COLLECTOR = 5;
export const TO_DOOR = 6;

/** The verdict on one packet. */
export class Verdict {
  /** reasons.none: it goes to `place`. reasons.packet_too_big: its sender is answered. */
  reason: number = reasons.none;
  /** One of the places above. */
  place = TO_NOBODY;
  /** The peer that it is for, also when it is too big for that peer; null: none. */
  to: KnownPeer | null = null;
  /** What was read of the packet; valid where `isReadable`. */
  readonly packet = new InnerPacket();
  isReadable = false;
  /** What the filter says; valid where the filter was asked. */
  readonly flow = new FlowVerdict();
  wasFiltered = false;

  /** Clears the verdict for the next packet. */
  clear(): void {
    this.reason = reasons.none;
    this.place = TO_NOBODY;
    this.to = null;
    this.isReadable = false;
    this.wasFiltered = false;
  }
}
