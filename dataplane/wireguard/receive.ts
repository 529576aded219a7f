// The way in. `classify` judges datagrams in order of arrival: first type and exact size; then mac1
// of handshake messages, mac2 and rate under load, later Noise; or receiver index, age and counter
// of transport data. The engine opens what was marked. `accept` then moves the replay window,
// confirms a next keypair, moves the endpoint and sets timers. Security depends on this order.

import {
  COOKIE_REPLIES_OF_LOAD,
  DATAGRAM_SLOTS,
  DATAGRAMS_PER_SLOT,
  FALSE_RESPONSES_MAX,
  INITIATION_INTERVAL_MS,
  KEEPALIVE_TIMEOUT_MS,
  REJECT_AFTER_MESSAGES,
  REJECT_AFTER_TIME_MS,
  REKEY_TIMEOUT_MS,
  STRAYS_BURST,
  STRAYS_PER_SECOND,
  TRANSPORT_OVERHEAD_BYTES,
  UNDER_LOAD_AFTER_MS,
  UNDER_LOAD_INITIATIONS,
} from '../constants.ts';
import {
  ADDRESS,
  type Batch,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  KIND_DATAGRAM,
  KIND_INITIATION,
  KIND_MOVE,
  LENGTH,
  OFFSET,
  MARK,
  MARK_DROP,
  MARK_OPEN,
  MARK_OPENED,
  MARK_TRUNCATED,
} from '../contract.ts';
import { OPENED_INITIATION_BYTES } from '../noise/handshake.ts';
import { isLaterTimestamp } from '../noise/tai64n.ts';
import { Pace } from '../pace.ts';
import { reasons } from '../reasons.ts';
import { endpoint, ENDPOINT_BYTES, sameEndpoint, senderOf, sourceOf } from '../wire/address.ts';
import {
  COOKIE_REPLY,
  cookieReply,
  HANDSHAKE_INITIATION,
  HANDSHAKE_RESPONSE,
  initiation,
  messageType,
  response,
  TRANSPORT_DATA,
  transport,
} from '../wire/messages.ts';
import { InitiationQueue } from './initiation-queue.ts';
import type { Keypair } from './keypair.ts';
import type { KnownPeer } from './known-peer.ts';
import type { Peer } from './peer.ts';
import type { Sender } from './send.ts';
import { SourceLoad } from './source-load.ts';
import { RECEPTIONIST, workerOfMessage } from './steering.ts';
import { isOwn, type Tunnel } from './tunnel.ts';

/** Age at which an initiator that only receives renews its keypair (6.2). */
const LAST_MINUTE_MS = REJECT_AFTER_TIME_MS - KEEPALIVE_TIMEOUT_MS - REKEY_TIMEOUT_MS;
const NOTHING = new Uint8Array(0);

/** Judges datagrams and opens authentic ones to inner packets. */
export class Receiver {
  readonly #tunnel: Tunnel;
  readonly #sender: Sender;
  /** By descriptor of the current batch: the keypair of what is opened. */
  readonly #keypairs: (Keypair<Peer> | null)[];
  /** By descriptor of the current batch: the counter of what is opened. */
  readonly #counters: Float64Array;
  readonly #waiting: InitiationQueue;
  #underLoadUntil = Number.NEGATIVE_INFINITY;
  /** Cookie replies since `#cookiesSince`. */
  #cookies = 0;
  /** At most UNDER_LOAD_AFTER_MS ago when a cookie reply is counted. */
  #cookiesSince = Number.NEGATIVE_INFINITY;
  readonly #sources = new SourceLoad();
  readonly #strays = new Pace(1, STRAYS_BURST, 1_000 / STRAYS_PER_SECOND);
  readonly #message = new Uint8Array(OPENED_INITIATION_BYTES);
  readonly #cookieReply = new Uint8Array(cookieReply.bytes);
  readonly #response = new Uint8Array(response.bytes);

  constructor(tunnel: Tunnel, sender: Sender) {
    this.#tunnel = tunnel;
    this.#sender = sender;
    const capacity = DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT;
    this.#keypairs = Array.from({ length: capacity }, () => null);
    this.#counters = new Float64Array(capacity);
    this.#waiting = new InitiationQueue(tunnel.engine.endpoints);
  }

  /** How many initiations wait. */
  get waitingInitiations(): number {
    return this.#waiting.count;
  }

  // ---- before the engine opens ----

  /**
   * Judges descriptor `i`: transport data is marked for opening, a handshake message is taken, and
   * what is for another worker is marked for it, unless it `wasHanded` over already.
   */
  classify(batch: Batch, i: number, now: number, wasHanded = false): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const offset = d[at + OFFSET]!;
    const length = d[at + LENGTH]!;
    const wasTruncated = d[at + MARK] === MARK_TRUNCATED;
    d[at + MARK] = MARK_DROP;
    this.#keypairs[i] = null;
    if (wasTruncated) return this.#tunnel.drop(reasons.datagram_truncated);
    const type = messageType(batch.view, offset, length);
    const { self, size } = this.#tunnel.team;
    if (size > 1 && !wasHanded && type !== 0) {
      const worker = workerOfMessage(batch.view, offset, type, size);
      if (worker !== self) return this.#passOn(batch, i, worker, now);
    }
    switch (type) {
      case TRANSPORT_DATA:
        return this.#classifyTransport(batch, i, now);
      case HANDSHAKE_INITIATION:
        return this.#queueInitiation(
          batch.bytes.subarray(offset, offset + length),
          d[at + ADDRESS]!,
          now,
        );
      case HANDSHAKE_RESPONSE:
        return this.#takeResponse(
          batch.bytes.subarray(offset, offset + length),
          d[at + ADDRESS]!,
          now,
        );
      case COOKIE_REPLY:
        return this.#takeCookieReply(batch.bytes.subarray(offset, offset + length), now);
      default:
        return this.#tunnel.drop(reasons.malformed_message);
    }
  }

  /**
   * The kernel leads each message to the socket of its worker, but it may join a short one with
   * those before it, and then all of them come where the first one belongs.
   */
  #passOn(batch: Batch, i: number, worker: number, now: number): void {
    const { handOver } = this.#tunnel;
    if (!this.#strays.allows(0, now)) return this.#tunnel.drop(reasons.strayed);
    handOver.mark(batch, i, worker, KIND_DATAGRAM, null);
  }

  #classifyTransport(batch: Batch, i: number, now: number): void {
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const offset = d[at + OFFSET]!;
    const tunnel = this.#tunnel;
    const keypair = tunnel.indices.keypair(batch.view.getInt32(offset + transport.receiver, true));
    if (keypair === undefined) return tunnel.drop(reasons.transport_unknown_index);
    if (keypair.isExpired(now)) return tunnel.drop(reasons.transport_keypair_expired);
    const low = batch.view.getUint32(offset + transport.counter, true);
    const high = batch.view.getUint32(offset + transport.counter + 4, true);
    // The sum is exact below the limit. Far above it the sum may be rounded, but is still refused.
    const counter = high * 2 ** 32 + low;
    if (counter >= REJECT_AFTER_MESSAGES) return tunnel.drop(reasons.transport_counter_limit);
    if (!keypair.replay.isFresh(counter)) return tunnel.drop(reasons.transport_replayed);
    this.#keypairs[i] = keypair;
    this.#counters[i] = counter;
    d[at + KEY] = keypair.keySlot;
    d[at + GENERATION] = keypair.keyGeneration;
    d[at + MARK] = MARK_OPEN;
  }

  // ---- after the engine has opened ----

  /**
   * Takes what the engine made of descriptor `i`. Returns the peer when it holds an inner packet,
   * which is still to be judged. Returns null for a refused message, a keepalive and a handshake
   * message.
   */
  accept(batch: Batch, i: number, now: number): Peer | null {
    const keypair = this.#keypairs[i]!;
    if (keypair === null) return null;
    this.#keypairs[i] = null;
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const tunnel = this.#tunnel;
    const isAuthentic = d[at + MARK] === MARK_OPENED;
    d[at + MARK] = MARK_DROP;
    if (!isAuthentic) {
      tunnel.drop(reasons.transport_invalid);
      return null;
    }
    if (!keypair.replay.accept(this.#counters[i]!)) {
      tunnel.drop(reasons.transport_replayed);
      return null;
    }
    const { peer } = keypair;
    const length = d[at + LENGTH]!;
    peer.countReceived(length + TRANSPORT_OVERHEAD_BYTES, length);
    // Before the confirmation, which sends the waiting packets to the new endpoint.
    this.#follow(peer, d[at + ADDRESS]!);
    if (keypair === peer.next) this.#confirm(peer, now);
    tunnel.timers.anyAuthenticatedPacketReceived(peer);
    this.#keepFresh(peer, now);
    if (length === 0) return null;
    tunnel.timers.dataReceived(peer, now);
    return peer;
  }

  #confirm(peer: Peer, now: number): void {
    const tunnel = this.#tunnel;
    tunnel.confirmNextKeypair(peer);
    tunnel.timers.handshakeComplete(peer);
    this.#complete(peer, false);
    peer.hasNews = true;
    this.#reportPlace(peer);
    this.#sender.sendStaged(peer, now);
  }

  #complete(peer: Peer, wasInitiated: boolean): void {
    const { arrivals, handshakeLog, wallMs } = this.#tunnel;
    arrivals.handshake(peer.latestHandshakeMs, wallMs);
    peer.latestHandshakeMs = wallMs;
    peer.inside.begin();
    handshakeLog.confirmed(peer.slot, wasInitiated, wallMs);
  }

  /** Moves the endpoint to where an authentic message came from (2.1). */
  #follow(peer: Peer, from: number): void {
    if (sameEndpoint(this.#tunnel.engine.endpoints, from, peer.endpointSlot)) return;
    this.#tunnel.moveTo(peer, from);
    this.#tunnel.arrivals.moved();
    peer.hasNews = true;
    this.#reportPlace(peer);
  }

  /**
   * Reports to the receptionist where a peer is: in a flood it answers those that it knows first.
   * It gets a report at each handshake, so it does not matter if its ring was full once.
   */
  #reportPlace(peer: Peer): void {
    const { handOver, team } = this.#tunnel;
    if (team.self !== RECEPTIONIST)
      handOver.give(RECEPTIONIST, KIND_MOVE, peer, NOTHING, peer.endpointSlot);
  }

  /** Takes the report of another worker: `peer` was heard at the endpoint in slot `from`. */
  takeMove(peer: KnownPeer, from: number): void {
    if (!sameEndpoint(this.#tunnel.engine.endpoints, from, peer.endpointSlot))
      this.#tunnel.moveTo(peer, from);
  }

  /** Renews the keypair of an initiator that only receives, before its last seconds (6.2). */
  #keepFresh(peer: Peer, now: number): void {
    const { current, timers } = peer;
    if (current === null || !current.isInitiator || timers.sentLastMinuteHandshake) return;
    if (now - current.createdAt < LAST_MINUTE_MS) return;
    timers.sentLastMinuteHandshake = true;
    this.#sender.initiate(peer, false, now);
  }

  // ---- handshake initiations ----

  /**
   * Queues an initiation, so that established traffic never waits for Diffie-Hellman computations.
   */
  #queueInitiation(message: Uint8Array, from: number, now: number): void {
    const tunnel = this.#tunnel;
    if (!tunnel.cookieChecker.hasValidMac1(message, initiation.mac1))
      return tunnel.unknownSenders.otherGateway(from, tunnel.wallMs);
    const source = sourceOf(tunnel.engine.endpoints, from);
    const isGatewayUnderLoad = this.#isUnderLoad(now);
    if (isGatewayUnderLoad || this.#sources.isUnderLoad(source, now)) {
      const reason = this.#admitUnderLoad(message, initiation.mac1, from, now, isGatewayUnderLoad);
      if (isGatewayUnderLoad && reason === reasons.cookie_sent) this.#prolongLoad(now);
      if (reason === reasons.cookie_sent || reason === reasons.cookie_withheld)
        this.#sources.turnAway(source, now);
      if (reason !== reasons.none) return tunnel.drop(reason);
    }
    if (this.#enqueue(message, from, now, null)) this.#sources.enter(source, now);
  }

  /**
   * Queues an initiation of a peer of this worker which the receptionist has opened and taken: a
   * message of OPENED_INITIATION_BYTES.
   */
  queueOpened(message: Uint8Array, from: number, peer: KnownPeer, now: number): void {
    if (message.length === OPENED_INITIATION_BYTES) this.#enqueue(message, from, now, peer);
  }

  /** `peer`: of an initiation that was opened. False when the queue is full. */
  #enqueue(message: Uint8Array, from: number, now: number, peer: KnownPeer | null): boolean {
    const isAdded = this.#waiting.add(message, from, now, peer);
    if (!isAdded) this.#tunnel.drop(reasons.initiation_queue_full);
    return isAdded;
  }

  #isUnderLoad(now: number): boolean {
    if (this.#waiting.count >= UNDER_LOAD_INITIATIONS)
      this.#underLoadUntil = now + UNDER_LOAD_AFTER_MS;
    return now < this.#underLoadUntil;
  }

  /**
   * Prolongs the load: refused initiations wait in no queue, but the load lasts as long as they
   * come.
   */
  #prolongLoad(now: number): void {
    if (now - this.#cookiesSince >= UNDER_LOAD_AFTER_MS) {
      this.#cookiesSince = now;
      this.#cookies = 0;
    }
    this.#cookies++;
    if (this.#cookies >= COOKIE_REPLIES_OF_LOAD && now < this.#underLoadUntil)
      this.#underLoadUntil = now + UNDER_LOAD_AFTER_MS;
  }

  /** Under load a sender must prove that it receives at its address, and obey a rate (5.3). */
  #admitUnderLoad(
    message: Uint8Array,
    mac1At: number,
    from: number,
    now: number,
    isGatewayUnderLoad: boolean,
  ): number {
    const tunnel = this.#tunnel;
    const { endpoints } = tunnel.engine;
    const place = this.#placeOf(from);
    if (!tunnel.cookieChecker.hasValidMac2(message, mac1At, place, now)) {
      if (!tunnel.cookiePace.allows(senderOf(endpoints, from), now, isGatewayUnderLoad))
        return reasons.cookie_withheld;
      tunnel.cookieChecker.createReply(this.#cookieReply, message, mac1At, place, now);
      tunnel.engine.send(this.#cookieReply, from);
      return reasons.cookie_sent;
    }
    return tunnel.rateLimiter.allow(sourceOf(endpoints, from), now)
      ? reasons.none
      : reasons.rate_limited;
  }

  /** Port and address of an endpoint: a cookie is valid for these alone. */
  #placeOf(slot: number): Uint8Array {
    const at = slot * ENDPOINT_BYTES;
    return this.#tunnel.engine.endpoints.bytes.subarray(at + endpoint.port, at + endpoint.local);
  }

  /** Takes up to `limit` waiting initiations and answers them. */
  takeInitiations(limit: number, now: number): void {
    const tunnel = this.#tunnel;
    const waiting = this.#waiting;
    let taken = 0;
    while (taken < limit && waiting.count > 0) {
      const place = waiting.take();
      const wasOpened = waiting.wasOpened(place);
      const source = sourceOf(tunnel.engine.endpoints, waiting.from(place));
      if (!wasOpened) this.#sources.leave(source, now);
      // Its sender has sent another initiation since and would refuse the response.
      if (now - waiting.since(place) >= REKEY_TIMEOUT_MS) {
        tunnel.drop(reasons.initiation_stale);
        continue;
      }
      taken++;
      const reason = wasOpened ? this.#takeOpened(place, now) : this.#takeInitiation(place, now);
      if (reason === reasons.none) continue;
      if (!wasOpened) this.#sources.refuse(source, now);
      tunnel.drop(reason);
    }
  }

  #takeInitiation(place: number, now: number): number {
    const tunnel = this.#tunnel;
    const [message, from] = [this.#waiting.message(place), this.#waiting.from(place)];
    const peer = tunnel.handshake.consumeInitiation(message, tunnel.knownByPublicKey);
    if (peer === reasons.initiation_unknown_peer)
      tunnel.unknownSenders.unknownKey(tunnel.handshake.remoteStatic, from, tunnel.wallMs);
    if (typeof peer === 'number') return peer;
    const { timestamp } = tunnel.handshake;
    if (!isLaterTimestamp(timestamp, peer.greatestTimestamp))
      return this.#refuse(peer, reasons.initiation_replayed, from, timestamp);
    if (now - peer.lastInitiationTakenAt < INITIATION_INTERVAL_MS)
      return this.#refuse(peer, reasons.initiation_too_frequent, from);
    peer.greatestTimestamp.set(timestamp);
    peer.lastInitiationTakenAt = now;
    if (isOwn(peer)) return this.#answer(peer, message, from, now);
    this.#message.set(message);
    tunnel.handshake.saveOpened(this.#message);
    const isGiven = tunnel.handOver.give(peer.worker, KIND_INITIATION, peer, this.#message, from);
    this.#message.fill(0);
    return isGiven ? reasons.none : this.#refuse(peer, reasons.ring_full, from);
  }

  /** Notes that a message of a peer, with this time in it, is refused; returns the reason. */
  #refuse(peer: KnownPeer, reason: number, from: number, dated: Uint8Array | null = null): number {
    const { handshakeLog, wallMs } = this.#tunnel;
    handshakeLog.refused(peer.slot, reason, from, wallMs, dated, peer.greatestTimestamp);
    return reason;
  }

  /** Answers an initiation that the receptionist has opened. */
  #takeOpened(place: number, now: number): number {
    const tunnel = this.#tunnel;
    const waiting = this.#waiting;
    const message = waiting.message(place);
    const peer = tunnel.inPlace(waiting.slot(place), waiting.generation(place));
    if (peer !== null) tunnel.handshake.resumeOpened(message);
    message.fill(0, initiation.bytes);
    if (peer === null || !isOwn(peer)) return reasons.peer_gone;
    return this.#answer(peer, message, waiting.from(place), now);
  }

  #answer(peer: Peer, message: Uint8Array, from: number, now: number): number {
    peer.countReceived(initiation.bytes, 0);
    // The response goes to where the message came from. The endpoint moves later, with the first
    // packet that proves that the device is there: after a restart this may be a replayed message.
    return this.#respond(peer, readIndex(message, initiation.sender), from, now);
  }

  #respond(peer: Peer, remoteIndex: number, to: number, now: number): number {
    const tunnel = this.#tunnel;
    const [keys, message] = [tunnel.transportKeys, this.#response];
    // The message must contain the index before the keys exist, so the index is reserved here.
    const reserved = tunnel.indices.addHandshake(peer);
    if (reserved === null) return this.#refuse(peer, reasons.index_table_full, to);
    if (!tunnel.handshake.createResponse(message, peer, reserved, remoteIndex, keys)) {
      tunnel.indices.remove(reserved);
      return this.#refuse(peer, reasons.initiation_invalid, to);
    }
    const keypair = tunnel.makeKeypair(peer, keys, remoteIndex, false, now);
    if (keypair === null) {
      tunnel.indices.remove(reserved);
      return this.#refuse(peer, reasons.keypair_table_full, to);
    }
    keypair.localIndex = reserved;
    tunnel.indices.promote(reserved, keypair);
    tunnel.useResponderKeypair(peer, keypair);
    this.#sender.sendResponse(peer, message, to, now);
    return reasons.none;
  }

  // ---- handshake responses and cookie replies ----

  #takeResponse(message: Uint8Array, from: number, now: number): void {
    const tunnel = this.#tunnel;
    const index = readIndex(message, response.receiver);
    const peer = tunnel.indices.handshake(index);
    if (peer === undefined || peer.initiator === null)
      return tunnel.drop(reasons.response_unknown_index);
    if (!tunnel.cookieChecker.hasValidMac1(message, response.mac1))
      return tunnel.drop(reasons.mac1_invalid);
    // Everybody who saw the initiation knows the index and can send false responses: after a few of
    // them a cookie is required.
    if (peer.falseResponses >= FALSE_RESPONSES_MAX) {
      const reason = this.#admitUnderLoad(message, response.mac1, from, now, true);
      if (reason !== reasons.none) return tunnel.drop(reason);
    }
    const keys = tunnel.transportKeys;
    if (!tunnel.handshake.consumeResponse(message, peer, peer.initiator, keys)) {
      peer.falseResponses++;
      return tunnel.drop(this.#refuse(peer, reasons.response_invalid, from));
    }
    const remoteIndex = readIndex(message, response.sender);
    const keypair = tunnel.makeKeypair(peer, keys, remoteIndex, true, now);
    if (keypair === null) {
      tunnel.forgetHandshake(peer);
      return tunnel.drop(reasons.keypair_table_full);
    }
    peer.initiator = null;
    peer.initiatorIndex = null;
    keypair.localIndex = index;
    tunnel.indices.promote(index, keypair);
    tunnel.useInitiatorKeypair(peer, keypair);
    peer.countReceived(response.bytes, 0);
    this.#complete(peer, true);
    this.#follow(peer, from);
    tunnel.timers.anyAuthenticatedPacketReceived(peer);
    tunnel.timers.handshakeComplete(peer);
    tunnel.timers.sessionDerived(peer, now);
    this.#sender.confirmSession(peer, now);
  }

  #takeCookieReply(message: Uint8Array, now: number): void {
    const tunnel = this.#tunnel;
    const index = readIndex(message, cookieReply.receiver);
    const peer = tunnel.indices.handshake(index) ?? tunnel.indices.keypair(index)?.peer;
    if (peer === undefined) return tunnel.drop(reasons.cookie_unknown_index);
    // The endpoint never moves by a cookie reply: everybody who saw our message could have sent it.
    if (!tunnel.cookieMakerOf(peer).consumeReply(message, now))
      return tunnel.drop(reasons.cookie_invalid);
    peer.countReceived(cookieReply.bytes, 0);
  }
}

function readIndex(message: Uint8Array, at: number): number {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  return view.getInt32(at, true);
}
