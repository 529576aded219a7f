// The state of WireGuard: all peers, the tables that find them, and what both ways of a packet
// share. receive.ts and send.ts are the two ways. This file takes configuration and moves keypairs
// (paper, sections 5.4.5 and 6). It knows neither rules nor sockets nor the clock.
//
// Where a gateway has several workers, each peer has one that is responsible for it: the rest of
// its slot divided by the number of workers. The others know where it is, see known-peer.ts.

import {
  DATAGRAM_SLOTS,
  HANDED_PER_TURN,
  KEY_BYTES,
  MAX_PEERS,
  MAX_QUEUED_INITIATIONS,
  MAX_STAGED_BYTES,
  MAX_WORKERS,
  REJECT_AFTER_TIME_MS,
  TIMERS_PER_TURN,
} from '../constants.ts';
import {
  ALONE,
  type EndpointLayout,
  type PacketEngine,
  type PeerConfig,
  type PeerSample,
  type PlacedPeer,
  type Team,
} from '../contract.ts';
import { CookieChecker, CookieMaker } from '../noise/cookie.ts';
import {
  createTransportKeys,
  Handshake,
  type Identity,
  type Random,
  type TransportKeys,
} from '../noise/handshake.ts';
import { TimestampSource } from '../noise/tai64n.ts';
import { NO_SLOT } from '../places.ts';
import { reasons } from '../reasons.ts';
import {
  clearEndpoint,
  copyEndpoint,
  hasEndpoint,
  readEndpoint,
  readLocal,
  restoreEndpoint,
  senderOf,
} from '../wire/address.ts';
import { AllowedIps } from './allowed-ips.ts';
import { Arrivals } from './arrivals.ts';
import { CookiePace } from './cookie-pace.ts';
import { HandshakeLog } from './handshake-log.ts';
import { HandOver } from './hand-over.ts';
import { IndexTable } from './index-table.ts';
import { Keypair } from './keypair.ts';
import { KnownPeer } from './known-peer.ts';
import { PeerKeys } from './peer-keys.ts';
import { Peer } from './peer.ts';
import { RateLimiter } from './rate-limiter.ts';
import { type StagedPacket, Staging } from './staging.ts';
import { RECEPTIONIST } from './steering.ts';
import { type TimerActions, Timers } from './timers.ts';
import { UnknownSenderLog } from './unknown-senders.ts';

/** Time between initiations to peers that were heard before a restart, of the whole gateway. */
const RESUME_PACE_MS = 0.25;

/** Where the endpoint table keeps the endpoints of waiting initiations and of peers. */
export const endpointLayout: EndpointLayout = Object.freeze({
  waiting: DATAGRAM_SLOTS,
  peers: DATAGRAM_SLOTS + MAX_QUEUED_INITIATIONS,
  handed: DATAGRAM_SLOTS + MAX_QUEUED_INITIATIONS + MAX_PEERS,
  total: DATAGRAM_SLOTS + MAX_QUEUED_INITIATIONS + MAX_PEERS + MAX_WORKERS * HANDED_PER_TURN,
});

/** What a tunnel is made from; clock values are passed with each call. */
export interface TunnelOptions {
  readonly engine: PacketEngine;
  readonly identity: Identity;
  readonly random: Random;
  /** Unix time in ms: the smallest timestamp of an initiation. */
  readonly timestampFloorMs: number;
  /** The workers of the gateway; one where it is left out. */
  readonly team?: Pick<Team, 'self' | 'size'>;
  /** How many peers there may be: their slots are below; MAX_PEERS where it is left out. */
  readonly peers?: number;
  /** Counts a refusal. */
  readonly drop: (reason: number) => void;
  /** Takes a packet that waited for a keypair and is given up; it has been counted. */
  readonly lost?: (packet: StagedPacket, reason: number) => void;
  /** Why a packet that has waited is refused now; left out: none is. */
  readonly refusalOf?: (packet: StagedPacket) => number;
  /** Takes a peer that has a session; left out: nobody wants to know. */
  readonly began?: (peer: Peer) => void;
}

/** State that both ways of a packet share. Only receive.ts and send.ts use its public fields. */
export class Tunnel {
  readonly engine: PacketEngine;
  readonly identity: Identity;
  readonly random: Random;
  readonly team: Pick<Team, 'self' | 'size'>;
  readonly handOver: HandOver;
  readonly drop: (reason: number) => void;
  readonly refusalOf: (packet: StagedPacket) => number;
  readonly began: (peer: Peer) => void;
  readonly handshake: Handshake;
  readonly cookieChecker: CookieChecker;
  readonly timestamps: TimestampSource;
  readonly indices: IndexTable<Peer, Keypair<Peer>>;
  readonly allowedIps = new AllowedIps<KnownPeer>();
  readonly cookiePace = new CookiePace();
  readonly arrivals = new Arrivals();
  readonly rateLimiter = new RateLimiter();
  readonly timers: Timers<Peer>;
  /** What people may ask about handshakes; nothing here is decided by it. */
  readonly handshakeLog: HandshakeLog;
  readonly unknownSenders: UnknownSenderLog;
  /**
   * Unix time in ms, set at the beginning of each turn; used for TAI64N and for what people see.
   */
  wallMs = 0;
  readonly staging: Staging;
  readonly #keys: TransportKeys = createTransportKeys();
  readonly #peers = new Map<string, Peer>();
  /** The peers of other workers, by public key. */
  readonly #neighbours = new Map<string, KnownPeer>();
  /** All of them, by slot. */
  readonly #bySlot: (KnownPeer | undefined)[] = [];
  readonly #peerKeys = new PeerKeys();
  /**
   * By slot. They are in one array, because V8 moves short arrays and leaves copies of them behind.
   */
  readonly #presharedKeys: Uint8Array;
  /** The last samples of peers that were removed since the last sample. */
  #departed: PeerSample[] = [];
  /** When the last initiation to a resumed peer is due. */
  #resumeAt = Number.NEGATIVE_INFINITY;

  constructor(options: TunnelOptions, actions: TimerActions<Peer>) {
    this.engine = options.engine;
    this.#presharedKeys = new Uint8Array((options.peers ?? MAX_PEERS) * KEY_BYTES);
    this.identity = options.identity;
    this.random = options.random;
    // A copy, because V8 compiles for one shape: a team that comes in a message has another one.
    const { self, size } = options.team ?? ALONE;
    this.team = { self, size };
    this.handOver = new HandOver(options.engine, options.drop);
    this.drop = options.drop;
    this.refusalOf = options.refusalOf ?? (() => reasons.none);
    this.began = options.began ?? (() => undefined);
    const { lost } = options;
    this.staging = new Staging(Math.floor(MAX_STAGED_BYTES / this.team.size), (packet, reason) => {
      this.drop(reason);
      lost?.(packet, reason);
    });
    this.handshakeLog = new HandshakeLog(options.engine.endpoints);
    this.unknownSenders = new UnknownSenderLog(options.engine.endpoints, options.drop);
    this.timestamps = new TimestampSource(options.timestampFloorMs);
    const { primitives } = options.engine;
    this.handshake = new Handshake(primitives, options.identity, options.random);
    this.cookieChecker = new CookieChecker(primitives, options.identity.publicKey, options.random);
    this.indices = new IndexTable(options.random, this.team);
    const word = new Uint8Array(4);
    const wordView = new DataView(word.buffer);
    this.timers = new Timers(actions, (limit) => {
      options.random(word);
      return wordView.getUint32(0) % limit;
    });
  }

  // ---- peers ----

  /** The peers for which this worker is responsible, by public key. */
  get peers(): ReadonlyMap<string, Peer> {
    return this.#peers;
  }

  /** A peer of any worker, by public key. */
  known(publicKey: string): KnownPeer | undefined {
    return this.#peers.get(publicKey) ?? this.#neighbours.get(publicKey);
  }

  /** The peer that has a slot now; null: none has it. */
  atSlot(slot: number): KnownPeer | null {
    return this.#bySlot[slot] ?? null;
  }

  /** The peer in a place; null where it is gone or not there yet. */
  inPlace(slot: number, generation: number): KnownPeer | null {
    const peer = this.#bySlot[slot];
    return peer !== undefined && peer.generation === generation ? peer : null;
  }

  /** Finds a peer of any worker by the static key of a handshake message. */
  readonly knownByPublicKey = this.#peerKeys.find;

  /** Adds a peer; null when it got no slot. */
  addPeer(config: PlacedPeer): KnownPeer | null {
    const { publicKey, slot } = config;
    const { self, size } = this.team;
    if (slot === NO_SLOT) {
      // All workers are asked to add it; one of them counts.
      if (self === RECEPTIONIST) this.drop(reasons.peer_table_full);
      return null;
    }
    const worker = slot % size;
    const endpointSlot = endpointLayout.peers + slot;
    let peer: KnownPeer;
    if (worker === self) {
      const presharedKey = this.#presharedKeys.subarray(slot * KEY_BYTES, (slot + 1) * KEY_BYTES);
      const own = new Peer(config, presharedKey, endpointSlot, worker, this.wallMs);
      this.#peers.set(publicKey, own);
      peer = own;
    } else {
      peer = new KnownPeer(config, endpointSlot, worker, false);
      this.#neighbours.set(publicKey, peer);
    }
    this.#bySlot[slot] = peer;
    this.#peerKeys.add(peer);
    this.#route(peer);
    this.#resume(peer, config);
    return peer;
  }

  /**
   * Initiates a handshake with a peer that was heard shortly before a restart; one peer after the
   * other.
   */
  initiateAfterRestart(peer: Peer, now: number): void {
    const { resume } = peer.config;
    if (resume === null || this.wallMs - resume.heardAtMs >= REJECT_AFTER_TIME_MS) return;
    const { self, size } = this.team;
    this.#resumeAt = Math.max(now + RESUME_PACE_MS * self, this.#resumeAt + RESUME_PACE_MS * size);
    this.timers.initiateAt(peer, this.#resumeAt);
  }

  /** Changes a peer without touching its keypairs, counters or staged packets. */
  updatePeer(peer: KnownPeer, config: PeerConfig): void {
    this.#unroute(peer);
    if (isOwn(peer)) peer.config = config;
    else peer.setAddresses(config);
    this.#route(peer);
  }

  /** Removes a peer: its keys are wiped, and nothing is sent to it or taken from it. */
  removePeer(peer: KnownPeer): void {
    if (isOwn(peer)) this.#forget(peer);
    this.#unroute(peer);
    peer.staticShared?.fill(0);
    this.#forgetEndpoint(peer);
    this.handshakeLog.forget(peer.slot);
    this.#peers.delete(peer.id);
    this.#neighbours.delete(peer.id);
    this.#bySlot[peer.slot] = undefined;
    this.#peerKeys.remove(peer);
  }

  #forget(peer: Peer): void {
    if (peer.hasNews) this.#departed.push(this.#sampleOf(peer));
    this.forgetKeys(peer);
    this.dropStaged(peer, reasons.none);
    this.timers.cancel(peer);
    peer.presharedKey.fill(0);
  }

  /**
   * Releases a peer that made a handshake with another gateway at `atMs` (Unix time), unless it
   * made a later one here. A device has one endpoint for all gateways and would follow every
   * gateway that sends to it. So keys are wiped, and the endpoint is forgotten until the peer makes
   * a handshake here again. Bytes that are not sampled yet are kept. A peer of another worker has
   * nothing here but an endpoint, which follows as that worker says.
   */
  release(publicKey: string, atMs: number, now: number): void {
    const peer = this.#peers.get(publicKey);
    if (peer === undefined) return;
    peer.elsewhereAtMs = Math.max(peer.elsewhereAtMs, atMs);
    if (!peer.isElsewhere) return;
    const { next } = peer;
    // A next keypair that is newer than that handshake: the peer may be coming back.
    const isReturning = next !== null && this.wallMs - (now - next.createdAt) > peer.elsewhereAtMs;
    if (isReturning) peer.next = null;
    this.forgetKeys(peer);
    this.timers.cancel(peer);
    this.#forgetEndpoint(peer);
    if (!isReturning) return this.dropStaged(peer, reasons.peer_elsewhere);
    peer.next = next;
    this.timers.sessionDerived(peer, now);
  }

  #route(peer: KnownPeer): void {
    const { ipv4, ipv6, routes } = peer;
    if (ipv4 !== null) this.allowedIps.insert(ipv4, 32, peer);
    if (ipv6 !== null) this.allowedIps.insert(ipv6, 128, peer);
    for (const { network, prefixBits } of routes) this.allowedIps.insert(network, prefixBits, peer);
    this.allowedIps.routes += routes.length;
  }

  #unroute(peer: KnownPeer): void {
    const { ipv4, ipv6, routes } = peer;
    if (ipv4 !== null) this.allowedIps.remove(ipv4, 32, peer);
    if (ipv6 !== null) this.allowedIps.remove(ipv6, 128, peer);
    for (const { network, prefixBits } of routes) this.allowedIps.remove(network, prefixBits, peer);
    this.allowedIps.routes -= routes.length;
  }

  #resume(peer: KnownPeer, config: PeerConfig): void {
    if (config.resume === null) return;
    const { endpoint, local = null } = config.resume;
    const { endpoints } = this.engine;
    if (restoreEndpoint(endpoints, peer.endpointSlot, endpoint, local))
      this.cookiePace.enter(senderOf(endpoints, peer.endpointSlot));
  }

  /** Sets the endpoint of a peer to that in slot `from`. */
  moveTo(peer: KnownPeer, from: number): void {
    this.#forgetEndpoint(peer);
    copyEndpoint(this.engine.endpoints, from, peer.endpointSlot);
    this.cookiePace.enter(senderOf(this.engine.endpoints, peer.endpointSlot));
  }

  #forgetEndpoint({ endpointSlot }: KnownPeer): void {
    const { endpoints } = this.engine;
    if (!hasEndpoint(endpoints, endpointSlot)) return;
    this.cookiePace.leave(senderOf(endpoints, endpointSlot));
    clearEndpoint(endpoints, endpointSlot);
  }

  // ---- keypairs ----

  /**
   * Makes a keypair and wipes `keys`. The caller gives it an index. Null when the engine has no
   * free slot.
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

  /** Memory for the keys of one handshake. */
  get transportKeys(): TransportKeys {
    return this.#keys;
  }

  /** Uses a keypair that we initiated at once; the one that it replaces may still receive. */
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

  /** Keeps a keypair that we responded with as next, until the first packet under it arrives. */
  useResponderKeypair(peer: Peer, keypair: Keypair<Peer>): void {
    if (peer.next !== null) this.drop(reasons.handshake_unconfirmed);
    this.#retire(peer.next);
    this.#retire(peer.previous);
    peer.previous = null;
    peer.next = keypair;
  }

  /** Makes the next keypair current: its first packet shows that the initiator has our response. */
  confirmNextKeypair(peer: Peer): void {
    this.#retire(peer.previous);
    peer.previous = peer.current;
    peer.current = peer.next;
    peer.next = null;
  }

  /** Wipes all keys of a peer and its unfinished handshake. */
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

  // ---- what both ways use ----

  cookieMakerOf(peer: Peer): CookieMaker {
    peer.cookieMaker ??= new CookieMaker(this.engine.primitives, peer.publicKey);
    return peer.cookieMaker;
  }

  /** Gives up the staged packets of a peer for a reason; none: they are not spoken of. */
  dropStaged(peer: Peer, reason: number): void {
    if (reason === reasons.none) this.staging.take(peer);
    else this.staging.drop(peer, reason);
  }

  /** When `expire` must be called next; infinite when nothing waits. */
  get nextDeadline(): number {
    return Math.min(this.timers.nextDeadline, this.staging.nextDeadline);
  }

  /**
   * Fires timers that are due, until the turn has made `initiations` initiations, and forgets
   * packets that have waited too long. Returns how many initiations the turn has made, including
   * those that packets caused.
   */
  expire(now: number, initiations: number): number {
    const made = this.timers.expire(now, TIMERS_PER_TURN, initiations);
    this.expireStaged(now);
    return made;
  }

  /** Gives up packets that have waited too long. */
  expireStaged(now: number): void {
    this.staging.expire(now);
  }

  /**
   * Yields a sample of every peer that has news, and null for each other peer. Peers may come and
   * go between two steps; a peer that goes leaves its sample for the next round.
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
    peer.rxInnerBytes = 0;
    peer.txInnerBytes = 0;
    peer.hasNews = false;
    return sample;
  }

  #sampleOf(peer: Peer): PeerSample {
    return {
      publicKey: peer.id,
      latestHandshakeMs: peer.latestHandshakeMs,
      endpoint: readEndpoint(this.engine.endpoints, peer.endpointSlot),
      local: readLocal(this.engine.endpoints, peer.endpointSlot),
      rxBytes: peer.rxBytes,
      txBytes: peer.txBytes,
      rxInnerBytes: peer.rxInnerBytes,
      txInnerBytes: peer.txInnerBytes,
    };
  }
}

/** Whether this worker is responsible for a peer. */
export function isOwn(peer: KnownPeer): peer is Peer {
  return peer.isHere;
}
