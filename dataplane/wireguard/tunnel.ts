// The WireGuard box: all peers, the tables that find them, and what both ways of a packet share.
// receive.ts and send.ts are the two ways; this file holds the state, takes configuration, and
// moves keypairs (paper, section 5.4.5 and 6). It knows neither rules nor sockets nor the clock.

import {
  DATAGRAM_SLOTS,
  KEY_BYTES,
  MAX_PEERS,
  MAX_QUEUED_INITIATIONS,
  REJECT_AFTER_TIME_MS,
  TIMERS_PER_TURN,
} from '../constants.ts';
import type { EndpointLayout, PacketEngine, PeerConfig, PeerSample } from '../contract.ts';
import { CookieChecker, CookieMaker } from '../noise/cookie.ts';
import {
  createTransportKeys,
  Handshake,
  type Identity,
  type Random,
  type TransportKeys,
} from '../noise/handshake.ts';
import { TimestampSource } from '../noise/tai64n.ts';
import { reasons } from '../reasons.ts';
import {
  clearEndpoint,
  copyEndpoint,
  hasEndpoint,
  parseAddress,
  readEndpoint,
  senderOf,
  writeEndpoint,
} from '../wire/address.ts';
import { AllowedIps } from './allowed-ips.ts';
import { CookiePace } from './cookie-pace.ts';
import { IndexTable } from './index-table.ts';
import { Keypair } from './keypair.ts';
import { PeerKeys } from './peer-keys.ts';
import { Peer } from './peer.ts';
import { RateLimiter } from './rate-limiter.ts';
import { Staging } from './staging.ts';
import { type TimerActions, Timers } from './timers.ts';

/** Distance at which peers that were heard before a restart are sent an initiation. */
const RESUME_PACE_MS = 0.25;

/** Where in the endpoint table everyone's records are. */
export const endpointLayout: EndpointLayout = Object.freeze({
  waiting: DATAGRAM_SLOTS,
  peers: DATAGRAM_SLOTS + MAX_QUEUED_INITIATIONS,
  total: DATAGRAM_SLOTS + MAX_QUEUED_INITIATIONS + MAX_PEERS,
});

/** What a tunnel is made of; clock values are passed with each call. */
export interface TunnelOptions {
  readonly engine: PacketEngine;
  readonly identity: Identity;
  readonly random: Random;
  /** Unix time in ms before which no initiation is dated. */
  readonly timestampFloorMs: number;
  /** Counts a refusal. */
  readonly drop: (reason: number) => void;
}

/** State shared by the ways of a packet. Its fields are public to receive.ts and send.ts only. */
export class Tunnel {
  readonly engine: PacketEngine;
  readonly identity: Identity;
  readonly random: Random;
  readonly drop: (reason: number) => void;
  readonly handshake: Handshake;
  readonly cookieChecker: CookieChecker;
  readonly timestamps: TimestampSource;
  readonly indices: IndexTable<Peer, Keypair<Peer>>;
  readonly allowedIps = new AllowedIps<Peer>();
  readonly cookiePace = new CookiePace();
  readonly rateLimiter = new RateLimiter();
  readonly timers: Timers<Peer>;
  /** Unix time, set at the beginning of each turn; what people and TAI64N see. */
  wallMs = 0;
  readonly staging = new Staging();
  readonly #keys: TransportKeys = createTransportKeys();
  readonly #peers = new Map<string, Peer>();
  readonly #peerKeys = new PeerKeys();
  readonly #freeSlots: number[] = [];
  /** By slot. In one array, for V8 moves short ones and leaves copies of them behind. */
  readonly #presharedKeys = new Uint8Array(MAX_PEERS * KEY_BYTES);
  /** Last news of peers that were removed since the last sample. */
  #departed: PeerSample[] = [];
  #slotsUsed = 0;
  /** When the last of the peers is called that were heard before a start. */
  #resumeAt = Number.NEGATIVE_INFINITY;

  constructor(options: TunnelOptions, actions: TimerActions<Peer>) {
    this.engine = options.engine;
    this.identity = options.identity;
    this.random = options.random;
    this.drop = options.drop;
    this.timestamps = new TimestampSource(options.timestampFloorMs);
    const { primitives } = options.engine;
    this.handshake = new Handshake(primitives, options.identity, options.random);
    this.cookieChecker = new CookieChecker(primitives, options.identity.publicKey, options.random);
    this.indices = new IndexTable(options.random);
    const word = new Uint8Array(4);
    const wordView = new DataView(word.buffer);
    this.timers = new Timers(actions, (limit) => {
      options.random(word);
      return wordView.getUint32(0) % limit;
    });
  }

  // ---- peers ----

  get peers(): ReadonlyMap<string, Peer> {
    return this.#peers;
  }

  /** Finds a peer by the static key of a handshake message. */
  readonly peerByPublicKey = this.#peerKeys.find;

  /** Adds a peer; null when there is no room for one more. */
  addPeer(config: PeerConfig): Peer | null {
    const slot = this.#freeSlots.pop() ?? this.#slotsUsed;
    if (slot === MAX_PEERS) {
      this.drop(reasons.peer_table_full);
      return null;
    }
    if (slot === this.#slotsUsed) this.#slotsUsed++;
    const publicKey = new Uint8Array(Buffer.from(config.publicKey, 'base64'));
    const presharedKey = this.#presharedKeys.subarray(slot * KEY_BYTES, (slot + 1) * KEY_BYTES);
    const peer = new Peer(config, publicKey, presharedKey, slot, endpointLayout.peers + slot);
    this.#peers.set(config.publicKey, peer);
    this.#peerKeys.add(peer);
    this.#route(peer, config);
    this.#resume(peer, config);
    return peer;
  }

  /** Calls a peer that was heard lately, before a restart; one after the other. */
  callAgain(peer: Peer, now: number): void {
    const { resume } = peer.config;
    if (resume === null || this.wallMs - resume.heardAtMs >= REJECT_AFTER_TIME_MS) return;
    this.#resumeAt = Math.max(now, this.#resumeAt + RESUME_PACE_MS);
    this.timers.initiateAt(peer, this.#resumeAt);
  }

  /** Changes a peer without touching its keypairs, counters or staged packets. */
  updatePeer(peer: Peer, config: PeerConfig): void {
    this.#unroute(peer);
    peer.config = config;
    this.#route(peer, config);
  }

  /** Removes a peer: its keys are wiped and nothing of it is sent or taken any more. */
  removePeer(peer: Peer): void {
    if (peer.hasNews) this.#departed.push(this.#sampleOf(peer));
    this.forgetKeys(peer);
    this.dropStaged(peer, reasons.none);
    this.timers.cancel(peer);
    this.#unroute(peer);
    peer.staticShared?.fill(0);
    peer.presharedKey.fill(0);
    this.#forgetEndpoint(peer);
    this.#peers.delete(peer.id);
    this.#peerKeys.remove(peer);
    this.#freeSlots.push(peer.slot);
  }

  /**
   * Lets go of a peer with which another gateway shook hands at `atMs` (Unix time), unless we did
   * since: it has one endpoint for all gateways, and would follow whoever speaks to it. Keys are
   * wiped and the endpoint is forgotten until it shakes hands here again. What is not sampled yet
   * stays.
   */
  letGo(publicKey: string, atMs: number, now: number): void {
    const peer = this.#peers.get(publicKey);
    if (peer === undefined) return;
    peer.elsewhereAtMs = Math.max(peer.elsewhereAtMs, atMs);
    if (!peer.isElsewhere) return;
    const { next } = peer;
    // A keypair that was made after that handshake may be the peer on its way back.
    const isReturning = next !== null && this.wallMs - (now - next.createdAt) > peer.elsewhereAtMs;
    if (isReturning) peer.next = null;
    this.forgetKeys(peer);
    this.timers.cancel(peer);
    this.#forgetEndpoint(peer);
    if (!isReturning) return this.dropStaged(peer, reasons.peer_elsewhere);
    peer.next = next;
    this.timers.sessionDerived(peer, now);
  }

  #route(peer: Peer, config: PeerConfig): void {
    if (config.ipv4 !== null) this.allowedIps.insert(config.ipv4, 32, peer);
    if (config.ipv6 !== null) this.allowedIps.insert(config.ipv6, 128, peer);
  }

  #unroute(peer: Peer): void {
    const { ipv4, ipv6 } = peer.config;
    if (ipv4 !== null) this.allowedIps.remove(ipv4, 32, peer);
    if (ipv6 !== null) this.allowedIps.remove(ipv6, 128, peer);
  }

  #resume(peer: Peer, config: PeerConfig): void {
    if (config.resume === null) return;
    const address = parseAddress(config.resume.endpoint.address);
    if (address === null) return;
    writeEndpoint(this.engine.endpoints, peer.endpointSlot, address, config.resume.endpoint.port);
    this.cookiePace.enter(senderOf(this.engine.endpoints, peer.endpointSlot));
  }

  /** A peer is where the record `from` says. */
  moveTo(peer: Peer, from: number): void {
    this.#forgetEndpoint(peer);
    copyEndpoint(this.engine.endpoints, from, peer.endpointSlot);
    this.cookiePace.enter(senderOf(this.engine.endpoints, peer.endpointSlot));
  }

  #forgetEndpoint({ endpointSlot }: Peer): void {
    const { endpoints } = this.engine;
    if (!hasEndpoint(endpoints, endpointSlot)) return;
    this.cookiePace.leave(senderOf(endpoints, endpointSlot));
    clearEndpoint(endpoints, endpointSlot);
  }

  // ---- keypairs ----

  /**
   * Makes a keypair of the keys that `derive` writes, wiping them here afterwards. The caller gives
   * it an index. Null when the engine has no slot left.
   */
  makeKeypair(
    peer: Peer,
    keys: TransportKeys,
    remoteIndex: number,
    isInitiator: boolean,
    now: number,
  ): Keypair<Peer> | null {
    const key = this.engine.installKey(keys.send, keys.receive, remoteIndex);
    keys.send.fill(0);
    keys.receive.fill(0);
    return key === null ? null : new Keypair(peer, remoteIndex, key, isInitiator, now);
  }

  /** Scratch for one handshake's keys. */
  get transportKeys(): TransportKeys {
    return this.#keys;
  }

  /** The initiator's new keypair serves at once; what it replaces may still receive. */
  useInitiatorKeypair(peer: Peer, keypair: Keypair<Peer>): void {
    this.#retire(peer.previous);
    if (peer.next !== null) {
      this.#retire(peer.current);
      peer.previous = peer.next;
      peer.next = null;
    } else {
      peer.previous = peer.current;
    }
    peer.current = keypair;
  }

  /** The responder's new keypair waits for the first packet under it. */
  useResponderKeypair(peer: Peer, keypair: Keypair<Peer>): void {
    if (peer.next !== null) this.drop(reasons.handshake_unconfirmed);
    this.#retire(peer.next);
    this.#retire(peer.previous);
    peer.previous = null;
    peer.next = keypair;
  }

  /** The first packet under the next keypair has arrived: the initiator has our response. */
  confirmNextKeypair(peer: Peer): void {
    this.#retire(peer.previous);
    peer.previous = peer.current;
    peer.current = peer.next;
    peer.next = null;
  }

  /** Wipes all keys of a peer and the handshake under way. */
  forgetKeys(peer: Peer): void {
    this.#retire(peer.previous);
    this.#retire(peer.current);
    this.#retire(peer.next);
    peer.previous = null;
    peer.current = null;
    peer.next = null;
    this.forgetHandshake(peer);
  }

  forgetHandshake(peer: Peer): void {
    if (peer.initiatorIndex !== null) this.indices.remove(peer.initiatorIndex);
    peer.initiatorIndex = null;
    peer.initiator?.wipe();
    peer.initiator = null;
  }

  #retire(keypair: Keypair<Peer> | null): void {
    if (keypair === null) return;
    this.indices.remove(keypair.localIndex);
    this.engine.removeKey(keypair.keySlot, keypair.keyGeneration);
  }

  // ---- odds and ends that both ways use ----

  cookieMakerOf(peer: Peer): CookieMaker {
    peer.cookieMaker ??= new CookieMaker(this.engine.primitives, peer.publicKey);
    return peer.cookieMaker;
  }

  /** Forgets what is staged for a peer, counting each packet unless the reason is none. */
  dropStaged(peer: Peer, reason: number): void {
    const { length } = this.staging.take(peer);
    if (reason === reasons.none) return;
    for (let i = 0; i < length; i++) this.drop(reason);
  }

  /** When `expire` has something to do; infinite when nothing is due. */
  get nextDeadline(): number {
    return Math.min(this.timers.nextDeadline, this.staging.nextDeadline);
  }

  /**
   * Fires timers that are due, until the turn has made so many initiations, and forgets what has
   * waited for too long. Returns how many initiations the turn has made, those for packets too.
   */
  expire(now: number, initiations: number): number {
    const made = this.timers.expire(now, TIMERS_PER_TURN, initiations);
    this.expireStaged(now);
    return made;
  }

  /** Forgets, and counts, what has waited for too long. */
  expireStaged(now: number): void {
    const count = this.staging.expire(now);
    for (let i = 0; i < count; i++) this.drop(reasons.staged_expired);
  }

  /**
   * Takes the news of every peer that has any; of one that has none null. Peers may come and go
   * between two of them: who goes leaves its news to the next time.
   */
  *takeNews(): Generator<PeerSample | null> {
    const departed = this.#departed;
    this.#departed = [];
    yield* departed;
    for (const peer of this.#peers.values()) yield peer.hasNews ? this.#takeNewsOf(peer) : null;
  }

  #takeNewsOf(peer: Peer): PeerSample {
    const sample = this.#sampleOf(peer);
    peer.rxBytes = 0;
    peer.txBytes = 0;
    peer.hasNews = false;
    return sample;
  }

  #sampleOf(peer: Peer): PeerSample {
    return {
      publicKey: peer.id,
      latestHandshakeMs: peer.latestHandshakeMs,
      endpoint: readEndpoint(this.engine.endpoints, peer.endpointSlot),
      rxBytes: peer.rxBytes,
      txBytes: peer.txBytes,
    };
  }
}
