// The way out. A packet for a peer is marked for sealing with the current keypair, or staged while
// a handshake makes one. This file also sends initiations, responses and keepalives (paper,
// sections 5.4, 6.2 to 6.5).

import {
  REKEY_AFTER_TIME_MS,
  REKEY_TIMEOUT_MS,
  SLOT_BYTES,
  SLOT_HEADROOM_BYTES,
  TRANSPORT_OVERHEAD_BYTES,
} from '../constants.ts';
import {
  ADDRESS,
  type Batch,
  DATAGRAMS,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  LENGTH,
  OFFSET,
  MARK,
  MARK_DROP,
  MARK_SEAL,
  MARK_SEAL_EXHAUSTED,
  MARK_SEAL_INVALID,
  MARK_SEALED,
  MARK_SEALED_REKEY,
} from '../contract.ts';
import { InitiatorState } from '../noise/handshake.ts';
import { reasons } from '../reasons.ts';
import { hasEndpoint } from '../wire/address.ts';
import { initiation, response } from '../wire/messages.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { Keypair } from './keypair.ts';
import type { Peer } from './peer.ts';
import type { Tunnel } from './tunnel.ts';

/** Sends to peers. */
export class Sender {
  readonly #tunnel: Tunnel;
  readonly #initiation = new Uint8Array(initiation.bytes);

  constructor(tunnel: Tunnel) {
    this.#tunnel = tunnel;
  }

  /**
   * Marks descriptor `i` for sealing to `peer`, or stages a copy of it. `headerBytes` is the size
   * of the virtio header before the packet (0 where the batch has none), `from` the slot of the
   * peer that sent the packet, -1 for none. Returns why it was refused, as `refusalOf` says.
   */
  sendPacket(
    peer: Peer,
    batch: Batch,
    i: number,
    headerBytes: number,
    now: number,
    from = -1,
  ): number {
    const keypair = peer.current;
    if (keypair === null || !keypair.canSend(now)) {
      const refused = this.#stage(peer, batch, i, headerBytes, from, now);
      this.initiate(peer, false, now);
      return refused;
    }
    this.#mark(keypair, batch, i);
    this.#tunnel.timers.dataSent(peer, now);
    this.#tunnel.timers.anyAuthenticatedPacketSent(peer);
    this.#keepFresh(keypair, now);
    return reasons.none;
  }

  /** Why a packet for a peer is refused; reasons.none: it is sent, or staged until it can be. */
  refusalOf(peer: Peer, now: number): number {
    if (!this.hasToWait(peer, now)) return reasons.none;
    // A peer with a next keypair has our response; its first packet will show its endpoint.
    if (peer.next !== null || hasEndpoint(this.#tunnel.engine.endpoints, peer.endpointSlot))
      return reasons.none;
    return peer.isElsewhere ? reasons.peer_elsewhere : reasons.peer_no_endpoint;
  }

  /** Whether a packet for a peer, if it is not refused, is staged: it has no session. */
  hasToWait(peer: Peer, now: number): boolean {
    return peer.current?.canSend(now) !== true;
  }

  /** Renews an old keypair; only its initiator does so, when it sends (6.2). */
  #keepFresh(keypair: Keypair<Peer>, now: number): void {
    if (keypair.isInitiator && now - keypair.createdAt >= REKEY_AFTER_TIME_MS)
      this.initiate(keypair.peer, false, now);
  }

  /** Takes the engine's report on descriptor `i` that was marked for `peer`. */
  countSealed(peer: Peer, batch: Batch, i: number, now: number): void {
    const at = i * DESCRIPTOR_WORDS;
    const mark = batch.descriptors[at + MARK]!;
    batch.descriptors[at + MARK] = MARK_DROP;
    switch (mark) {
      case MARK_SEALED:
      case MARK_SEALED_REKEY:
        this.#countData(peer, batch.descriptors[at + LENGTH]!, batch.descriptors[at + DATAGRAMS]!);
        if (mark === MARK_SEALED_REKEY) this.initiate(peer, false, now);
        return;
      case MARK_SEAL_EXHAUSTED:
        this.#tunnel.drop(reasons.keypair_exhausted);
        this.#exhaust(peer, batch.descriptors[at + KEY]!, batch.descriptors[at + GENERATION]!);
        this.initiate(peer, false, now);
        return;
      case MARK_SEAL_INVALID:
        this.#tunnel.drop(reasons.segment_invalid);
        return;
      default:
        return;
    }
  }

  #countData(peer: Peer, bytes: number, datagrams: number): void {
    peer.countSent(bytes, bytes - datagrams * TRANSPORT_OVERHEAD_BYTES);
  }

  /** Marks a keypair as exhausted: the next packets wait for another one. */
  #exhaust({ current }: Peer, slot: number, generation: number): void {
    if (current !== null && current.keySlot === slot && current.keyGeneration === generation)
      current.isExhausted = true;
  }

  // ---- staged packets ----

  /**
   * After our initiation made a session: sends the packets that waited, or a keepalive, which
   * confirms the session (6.5).
   */
  confirmSession(peer: Peer, now: number): void {
    if (this.sendStaged(peer, now) === 0) this.keepalive(peer, now);
  }

  /**
   * Sends the packets that waited for a keypair, and may still pass; returns how many. The batch of
   * packets must not be in use.
   */
  sendStaged(peer: Peer, now: number): number {
    this.#tunnel.expireStaged(now);
    this.#tunnel.staging.review(peer, this.#tunnel.refusalOf);
    const staged = this.#tunnel.staging.take(peer);
    const batch = this.#tunnel.engine.packets;
    for (const [i, packet] of staged.entries()) {
      const at = i * DESCRIPTOR_WORDS;
      const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
      const header = offset - VIRTIO_HEADER_BYTES;
      batch.bytes.fill(0, header, offset);
      batch.bytes.set(packet.bytes, offset - packet.headerBytes);
      batch.descriptors[at + OFFSET] = offset;
      batch.descriptors[at + LENGTH] = packet.bytes.length - packet.headerBytes;
    }
    this.#tunnel.began(peer);
    batch.count = staged.length;
    for (let i = 0; i < staged.length; i++)
      this.sendPacket(peer, batch, i, VIRTIO_HEADER_BYTES, now);
    this.#sealFor(peer, batch, now);
    return staged.length;
  }

  #stage(
    peer: Peer,
    batch: Batch,
    i: number,
    headerBytes: number,
    from: number,
    now: number,
  ): number {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    d[at + MARK] = MARK_DROP;
    const tunnel = this.#tunnel;
    const refused = this.refusalOf(peer, now);
    if (refused !== reasons.none) {
      tunnel.drop(refused);
      return refused;
    }
    const start = d[at + OFFSET]! - headerBytes;
    const bytes = batch.bytes.slice(start, d[at + OFFSET]! + d[at + LENGTH]!);
    tunnel.staging.add(peer, { bytes, headerBytes, from, at: now });
    return reasons.none;
  }

  // ---- keepalives ----

  /** Sends an empty packet. The batch of packets must not be in use. */
  keepalive(peer: Peer, now: number): void {
    const keypair = peer.current;
    if (keypair === null || !keypair.canSend(now)) return;
    const batch = this.#tunnel.engine.packets;
    batch.descriptors[OFFSET] = SLOT_HEADROOM_BYTES;
    batch.descriptors[LENGTH] = 0;
    this.#mark(keypair, batch, 0);
    batch.count = 1;
    this.#tunnel.timers.anyAuthenticatedPacketSent(peer);
    this.#sealFor(peer, batch, now);
    this.#keepFresh(keypair, now);
  }

  #mark(keypair: Keypair<Peer>, batch: Batch, i: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    d[at + KEY] = keypair.keySlot;
    d[at + GENERATION] = keypair.keyGeneration;
    d[at + ADDRESS] = keypair.peer.endpointSlot;
    d[at + MARK] = MARK_SEAL;
  }

  #sealFor(peer: Peer, batch: Batch, now: number): void {
    this.#tunnel.engine.seal(batch);
    for (let i = 0; i < batch.count; i++) this.countSealed(peer, batch, i, now);
    batch.count = 0;
  }

  // ---- handshake messages ----

  /**
   * Sends an initiation if the endpoint is known; not earlier than REKEY_TIMEOUT after our last
   * handshake message to the peer.
   */
  initiate(peer: Peer, isRetry: boolean, now: number): void {
    const tunnel = this.#tunnel;
    if (!isRetry) peer.timers.handshakeAttempts = 0;
    if (!hasEndpoint(tunnel.engine.endpoints, peer.endpointSlot)) return;
    if (now - peer.lastInitiationSentAt < REKEY_TIMEOUT_MS)
      return tunnel.timers.handshakePutOff(peer, peer.lastInitiationSentAt);
    if (tunnel.timers.hasInitiatedEnough(now)) return tunnel.timers.initiateAt(peer, now);
    tunnel.timers.handshakeBegins(peer, now);
    tunnel.forgetHandshake(peer);
    const index = tunnel.indices.addHandshake(peer);
    if (index === null) return tunnel.drop(reasons.index_table_full);
    const state = new InitiatorState(tunnel.engine.primitives);
    tunnel.timestamps.renew(peer.sentTimestamp, tunnel.wallMs);
    const message = this.#initiation;
    if (!tunnel.handshake.createInitiation(message, peer, state, index, peer.sentTimestamp)) {
      tunnel.indices.remove(index);
      return;
    }
    peer.initiator = state;
    peer.initiatorIndex = index;
    peer.falseResponses = 0;
    peer.lastInitiationSentAt = now;
    tunnel.handshakeLog.initiated(peer.slot, peer.endpointSlot, tunnel.wallMs);
    this.#sendHandshakeMessage(peer, message, initiation.mac1, peer.endpointSlot, now);
    tunnel.timers.handshakeInitiated(peer, now);
  }

  /** Sends the response that made the next keypair of a peer to the endpoint in slot `to`. */
  sendResponse(peer: Peer, message: Uint8Array, to: number, now: number): void {
    peer.lastInitiationSentAt = now;
    this.#tunnel.handshakeLog.answered(peer.slot, to, this.#tunnel.wallMs);
    this.#tunnel.timers.sessionDerived(peer, now);
    this.#sendHandshakeMessage(peer, message, response.mac1, to, now);
  }

  #sendHandshakeMessage(
    peer: Peer,
    message: Uint8Array,
    mac1At: number,
    to: number,
    now: number,
  ): void {
    const tunnel = this.#tunnel;
    tunnel.cookieMakerOf(peer).addMacs(message, mac1At, now);
    tunnel.timers.anyAuthenticatedPacketSent(peer);
    tunnel.engine.send(message, to);
    peer.countSent(message.length, 0);
  }
}
