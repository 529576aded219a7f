// The whole data plane as a pure machine: datagrams, packets, configuration and `now` go in;
// verdicts, datagrams, deadlines and statistics come out. It only orders the steps, and is short
// enough to be their documentation:
//
//     inbound   classify -> open -> accept -> sanity -> form -> filter -> TUN or peer
//     outbound  destination -> peer -> source -> its flow -> seal, or stage and begin a handshake

import {
  DATAGRAM_SLOTS,
  DATAGRAMS_PER_SLOT,
  ELSEWHERE_DOUBT_MS,
  MADE_PER_TAKEN,
  MAX_FLOWS,
  MAX_PEERS,
  TOO_BIG_BURST,
  TOO_BIG_INTERVAL_MS,
  UDP_FLOW_MS,
} from './constants.ts';
import {
  type Batch,
  DESCRIPTOR_WORDS,
  LENGTH,
  type NetworkConfig,
  OFFSET,
  type PacketEngine,
  type PeerConfig,
  type Sample,
  type SamplePart,
  VERDICT,
  VERDICT_DROP,
  VERDICT_TRUNCATED,
  VERDICT_TUN,
} from './contract.ts';
import type { Change } from './diff.ts';
import { Filter } from './filter/filter.ts';
import { FlowTable } from './filter/flow-table.ts';
import { NO_PEER, Tracker } from './filter/tracker.ts';
import { UnfinishedDatagrams } from './filter/unfinished.ts';
import type { Identity, Random } from './noise/handshake.ts';
import { Pace } from './pace.ts';
import { reasonNames, reasons } from './reasons.ts';
import { dropsByName, Sampling } from './sample.ts';
import { PLACE_GATEWAY, PLACE_OUTSIDE, Sanity } from './sanity.ts';
import { initiationsPerTurn } from './slices.ts';
import { sameBytes } from './wire/bytes.ts';
import {
  isEchoRequest,
  mayBeAnsweredByError,
  mayNotFragment,
  turnIntoEchoReply,
  turnIntoTooBig,
} from './wire/icmp.ts';
import { InnerPacket, parseInner, takeHop, WHOLE } from './wire/ip.ts';
import { findMalformed } from './wire/malformed.ts';
import { clampSegmentSize, isHandshake } from './wire/tcp.ts';
import { hasPartialChecksum, segmentBytes, VIRTIO_HEADER_BYTES } from './wire/virtio.ts';
import type { Peer } from './wireguard/peer.ts';
import { Receiver } from './wireguard/receive.ts';
import { Sender } from './wireguard/send.ts';
import { Tunnel } from './wireguard/tunnel.ts';

/** What a pipeline is made of. */
export interface PipelineOptions {
  readonly engine: PacketEngine;
  readonly identity: Identity;
  readonly random: Random;
  /** Unix time in ms before which no initiation is dated: what earlier runs may have come to. */
  readonly timestampFloorMs: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly defaultAction: 'accept' | 'drop';
  /** UDP port of the tunnel, for packets that would go around in circles. */
  readonly listenPort: number;
  /** MTU of the tunnel. */
  readonly mtu: number;
  /** False: only peers and the gateway's own address can be reached. */
  readonly hasTun: boolean;
  /** Whether peers may reach the addresses at which clouds answer the gateway's host. */
  readonly allowsMetadata: boolean;
  /** Conversations that are remembered at most, a power of two; MAX_FLOWS where it is left out. */
  readonly flows?: number;
}

/** The packet path. Times: `now` is a monotonic clock in ms, `wallMs` Unix time in ms. */
export class Pipeline {
  readonly #engine: PacketEngine;
  readonly #options: PipelineOptions;
  readonly #tunnel: Tunnel;
  readonly #sender: Sender;
  readonly #receiver: Receiver;
  readonly #filter: Filter;
  readonly #tracker: Tracker;
  readonly #unfinished: UnfinishedDatagrams;
  readonly #sanity: Sanity;
  readonly #packet = new InnerPacket();
  /** By peer slot: the largest packet that it takes. */
  readonly #mtus = new Uint16Array(MAX_PEERS);
  readonly #tooBigPace = new Pace(MAX_PEERS, TOO_BIG_BURST, TOO_BIG_INTERVAL_MS);
  /** By descriptor of the batch at hand: for whom it is sealed. */
  readonly #targets: (Peer | null)[];
  readonly #drops = new Float64Array(reasonNames.length);
  readonly #sampling: Sampling;
  #hasTunWork = false;
  #hasSealWork = false;
  #isClosed = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#engine = options.engine;
    const { engine, identity, random, timestampFloorMs } = options;
    this.#tunnel = new Tunnel(
      { engine, identity, random, timestampFloorMs, drop: (reason) => this.drop(reason) },
      {
        initiate: (peer, isRetry, now) => this.#sender.initiate(peer, isRetry, now),
        keepalive: (peer, now) => this.#sender.keepalive(peer, now),
        giveUp: (peer) => this.#tunnel.dropStaged(peer, reasons.staged_expired),
        forgetKeys: (peer) => this.#tunnel.forgetKeys(peer),
      },
    );
    this.#sender = new Sender(this.#tunnel);
    this.#receiver = new Receiver(this.#tunnel, this.#sender);
    this.#filter = new Filter(options.defaultAction);
    this.#sampling = new Sampling(this.#tunnel, this.#filter);
    const flows = new FlowTable({
      random,
      capacity: options.flows ?? MAX_FLOWS,
      count: (reason) => this.drop(reason),
    });
    this.#tracker = new Tracker(this.#filter, random, flows);
    this.#unfinished = new UnfinishedDatagrams(random, MAX_PEERS);
    this.#sanity = new Sanity(options, this.#tunnel.allowedIps);
    this.#targets = Array.from({ length: DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT }, () => null);
  }

  /** Counts a refusal. */
  drop(reason: number): void {
    this.#drops[reason]! += 1;
  }

  // ---- datagrams in ----

  /** Takes the batch `engine.datagrams`. */
  inbound(now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    const batch = this.#engine.datagrams;
    const { count } = batch;
    for (let i = 0; i < count; i++) this.#receiver.classify(batch, i, now);
    this.#engine.open(batch);
    for (let i = 0; i < count; i++) {
      const peer = this.#receiver.accept(batch, i, now);
      if (peer === null) continue;
      const reason = this.#route(batch, i, peer, now);
      if (reason !== reasons.none) this.drop(reason);
    }
    if (this.#hasTunWork) this.#engine.writeTun(batch);
    this.#sealTargets(batch, now);
  }

  /** Judges the inner packet of descriptor `i` and says where it goes. */
  #route(batch: Batch, i: number, from: Peer, now: number): number {
    if (this.#isClosed) return reasons.database_away;
    const packet = this.#packet;
    const at = i * DESCRIPTOR_WORDS;
    const offset = batch.descriptors[at + OFFSET]!;
    const unreadable = parseInner(batch.view, offset, batch.descriptors[at + LENGTH]!, packet);
    if (unreadable !== reasons.none) return unreadable;
    // Padding ends here.
    batch.descriptors[at + LENGTH] = packet.length;
    const insane = this.#sanity.inward(packet, from);
    if (insane !== reasons.none) return insane;
    const malformed = findMalformed(batch.view, offset, packet);
    if (malformed !== reasons.none) return malformed;
    const place = this.#sanity.placeOf(packet);
    if (place === PLACE_OUTSIDE) return this.#toTun(batch, i, from);
    if (place === PLACE_GATEWAY) return this.#toGateway(batch, i, from, now);
    return this.#toPeer(batch, i, from, now);
  }

  #toTun(batch: Batch, i: number, from: Peer): number {
    const refused = this.#judge(batch, i, from, null);
    if (refused !== reasons.none) return refused;
    if (!this.#options.hasTun) return reasons.no_tun;
    const packet = this.#packet;
    if (packet.fragment !== WHOLE) {
      const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
      const untaken = this.#unfinished.take(batch.view, offset, packet, from.slot);
      if (untaken !== reasons.none) return untaken;
    }
    this.#writeToTun(batch, i);
    return reasons.none;
  }

  #toGateway(batch: Batch, i: number, from: Peer, now: number): number {
    if (this.#options.hasTun) return this.#toTun(batch, i, from);
    const refused = this.#judge(batch, i, from, null);
    if (refused !== reasons.none) return refused;
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    if (!isEchoRequest(batch.view, offset, this.#packet)) return reasons.no_tun;
    turnIntoEchoReply(batch.view, offset, this.#packet);
    this.#seal(batch, i, from, 0, now);
    return reasons.none;
  }

  #toPeer(batch: Batch, i: number, from: Peer, now: number): number {
    const packet = this.#packet;
    const peer = this.#sanity.destinationOwner(packet);
    if (peer === null) {
      const refused = this.#tracker.judge(packet, from.slot);
      return refused === reasons.none ? reasons.no_peer : refused;
    }
    const refused = this.#judge(batch, i, from, peer);
    if (refused !== reasons.none) return refused;
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    if (!takeHop(batch.view, offset, packet)) return reasons.hop_limit_exceeded;
    const mtu = this.#mtus[peer.slot]!;
    if (packet.length > mtu && mayNotFragment(batch.view, offset, packet)) {
      const { ipv4, ipv6 } = this.#options;
      const own = (packet.version === 4 ? ipv4 : ipv6)!.address;
      if (this.#answerTooBig(batch, i, from.slot, own, mtu, now))
        this.#seal(batch, i, from, 0, now);
      return reasons.packet_too_big;
    }
    this.#seal(batch, i, peer, 0, now, from.slot);
    return reasons.none;
  }

  /** Asks the filter about the packet at hand; one that passes is clamped if it is a handshake. */
  #judge(batch: Batch, i: number, from: Peer, to: Peer | null): number {
    const packet = this.#packet;
    const { view } = batch;
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    const slot = to === null ? NO_PEER : to.slot;
    const refused = this.#tracker.fromPeer(view, offset, packet, from.slot, slot);
    if (refused === reasons.none && isHandshake(packet)) {
      const mtu = to === null ? this.#options.mtu : this.#mtus[to.slot]!;
      clampSegmentSize(view, offset, packet, Math.min(mtu, this.#mtus[from.slot]!), false);
    }
    return refused;
  }

  #writeToTun(batch: Batch, i: number): void {
    batch.descriptors[i * DESCRIPTOR_WORDS + VERDICT] = VERDICT_TUN;
    this.#hasTunWork = true;
  }

  /** Makes of the packet at hand the answer that it is too big; false when that was said enough. */
  #answerTooBig(
    batch: Batch,
    i: number,
    payer: number,
    from: Uint8Array,
    mtu: number,
    now: number,
  ): boolean {
    const at = i * DESCRIPTOR_WORDS;
    const offset = batch.descriptors[at + OFFSET]!;
    const packet = this.#packet;
    if (!mayBeAnsweredByError(batch.view, offset, packet)) return false;
    if (!this.#tooBigPace.allows(payer, now)) return false;
    const length = turnIntoTooBig(batch.bytes, batch.view, offset, packet, from, mtu);
    batch.descriptors[at + LENGTH] = length;
    return true;
  }

  // ---- packets out ----

  /** Takes the batch `engine.packets`. */
  outbound(now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    const batch = this.#engine.packets;
    for (let i = 0; i < batch.count; i++) {
      const reason = this.#outward(batch, i, now);
      if (reason !== reasons.none) this.drop(reason);
    }
    if (this.#hasTunWork) this.#engine.writeTun(batch);
    this.#sealTargets(batch, now);
    batch.count = 0;
  }

  #outward(batch: Batch, i: number, now: number): number {
    const at = i * DESCRIPTOR_WORDS;
    const wasTruncated = batch.descriptors[at + VERDICT] === VERDICT_TRUNCATED;
    batch.descriptors[at + VERDICT] = VERDICT_DROP;
    if (this.#isClosed) return reasons.database_away;
    if (wasTruncated) return reasons.oversized;
    const offset = batch.descriptors[at + OFFSET]!;
    const peer = this.#peerBehind(batch, offset, at);
    if (typeof peer === 'number') return peer;
    const forged = this.#sanity.outward(batch.view, offset);
    if (forged !== reasons.none) return forged;
    const packet = this.#packet;
    // What cannot be read belongs to no flow; no rule is for it.
    if (parseInner(batch.view, offset, batch.descriptors[at + LENGTH]!, packet) === reasons.none) {
      const refused = this.#tracker.toPeer(batch.view, offset, packet, peer.slot);
      if (refused !== reasons.none) return refused;
      if (this.#doesNotFit(batch.view, offset, peer))
        return this.#refuseTooBig(batch, i, peer, now);
    }
    this.#seal(batch, i, peer, VIRTIO_HEADER_BYTES, now);
    return reasons.none;
  }

  /** The peer that a packet from the TUN is for. It may be a super-packet: only addresses count. */
  #peerBehind(batch: Batch, offset: number, at: number): Peer | number {
    const { view } = batch;
    const { allowedIps } = this.#tunnel;
    const length = batch.descriptors[at + LENGTH]!;
    const version = length >= 20 ? view.getUint8(offset) >> 4 : 0;
    if (version === 4) return allowedIps.lookUp4(view.getInt32(offset + 16)) ?? reasons.no_peer;
    if (version !== 6 || length < 40) return reasons.packet_malformed;
    return (
      allowedIps.lookUp6(
        view.getInt32(offset + 24),
        view.getInt32(offset + 28),
        view.getInt32(offset + 32),
        view.getInt32(offset + 36),
      ) ?? reasons.no_peer
    );
  }

  /** Clamps a handshake. Says whether anything else is too big for its peer, and may not be cut. */
  #doesNotFit(view: DataView, offset: number, peer: Peer): boolean {
    const packet = this.#packet;
    const mtu = this.#mtus[peer.slot]!;
    if (isHandshake(packet))
      clampSegmentSize(view, offset, packet, mtu, hasPartialChecksum(view, offset));
    return (
      packet.length > mtu &&
      segmentBytes(view, offset, packet) > mtu &&
      mayNotFragment(view, offset, packet)
    );
  }

  /**
   * Answers a packet from the TUN in the name of its destination: the host refuses packets from
   * outside that bear its own address.
   */
  #refuseTooBig(batch: Batch, i: number, peer: Peer, now: number): number {
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    const isIpv4 = this.#packet.version === 4;
    const start = offset + (isIpv4 ? 16 : 24);
    const destination = batch.bytes.slice(start, start + (isIpv4 ? 4 : 16));
    if (this.#answerTooBig(batch, i, peer.slot, destination, this.#mtus[peer.slot]!, now))
      this.#writeToTun(batch, i);
    return reasons.packet_too_big;
  }

  // ---- what both ways use ----

  #begin(now: number, wallMs: number): void {
    this.#tracker.begin(now, wallMs);
    this.#unfinished.begin(now);
    this.#tunnel.wallMs = wallMs;
    this.#hasTunWork = false;
    this.#hasSealWork = false;
  }

  #seal(
    batch: Batch,
    i: number,
    peer: Peer,
    headerBytes: number,
    now: number,
    from = NO_PEER,
  ): void {
    this.#targets[i] = peer;
    this.#hasSealWork = true;
    this.#sender.sendPacket(peer, batch, i, headerBytes, now, from);
  }

  #sealTargets(batch: Batch, now: number): void {
    if (!this.#hasSealWork) return;
    this.#engine.seal(batch);
    for (let i = 0; i < batch.count; i++) {
      const peer = this.#targets[i]!;
      if (peer === null) continue;
      this.#targets[i] = null;
      this.#sender.countSealed(peer, batch, i, now);
    }
  }

  // ---- time ----

  /**
   * The end of a turn: fires the timers that are due and takes initiations that wait, if there are
   * any. Each way has at least half of what a turn allows, and what is left waits for the next one,
   * behind the packets that came. `engine.datagrams` still tells how many datagrams this turn had.
   */
  expire(now: number, wallMs: number): void {
    if (this.nextTimeout(now) > now) return;
    this.#begin(now, wallMs);
    const most = initiationsPerTurn(this.#engine.datagrams.count);
    const made = this.#tunnel.expire(now, most);
    this.#receiver.takeInitiations(most - Math.floor(made / MADE_PER_TAKEN), now);
  }

  /** When `expire` must be called at the latest; infinite when nothing is due. */
  nextTimeout(now: number): number {
    return this.#receiver.waitingInitiations > 0 ? now : this.#tunnel.nextDeadline;
  }

  // ---- configuration and statistics ----

  /**
   * Takes a change between two batches: no packet sees half of it, so it alone is not sliced (0.1 s
   * for 10,000 peers). A start brings devices page by page; a new worker has no traffic yet.
   */
  apply(change: Change, now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    const gone = new Set<number>();
    for (const key of change.removed) this.#remove(key, gone);
    this.#tunnel.staging.forgetFrom(gone);
    for (const config of change.updated) this.#update(config);
    for (const config of change.added) {
      const peer = this.#tunnel.addPeer(config);
      if (peer === null) continue;
      this.#tracker.addPeer(peer.slot, config.scope);
      if (config.resume !== null) this.#tracker.doubt(peer.slot, UDP_FLOW_MS);
      this.#mtus[peer.slot] = this.#mtuOf(config);
      this.#tunnel.callAgain(peer, now);
    }
    for (const { name, compiled } of change.scopes) this.#filter.change(name, compiled);
    if (change.defaultAction !== undefined) this.#filter.setDefault(change.defaultAction);
    this.#isClosed = change.isClosed ?? this.#isClosed;
  }

  /** Lets go of peers that another gateway shook hands with: by public key, when (Unix ms). */
  letGo(heardElsewhere: ReadonlyMap<string, number>, now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    for (const [key, atMs] of heardElsewhere) {
      this.#tunnel.letGo(key, atMs, now);
      const peer = this.#tunnel.peers.get(key);
      if (peer?.isElsewhere === true) this.#tracker.doubt(peer.slot, ELSEWHERE_DOUBT_MS);
    }
  }

  #remove(key: string, gone: Set<number>): void {
    const peer = this.#tunnel.peers.get(key);
    if (peer === undefined) return;
    gone.add(peer.slot);
    this.#tracker.removePeer(peer.slot);
    this.#tunnel.removePeer(peer);
  }

  #update(config: PeerConfig): void {
    const peer = this.#tunnel.peers.get(config.publicKey);
    if (peer === undefined) return;
    const { ipv4, ipv6 } = peer.config;
    this.#tunnel.updatePeer(peer, config);
    if (!sameBytes(ipv4, config.ipv4)) this.#tracker.forgetAddress(peer.slot, 4);
    if (!sameBytes(ipv6, config.ipv6)) this.#tracker.forgetAddress(peer.slot, 6);
    this.#tracker.moveToScope(peer.slot, config.scope);
    this.#mtus[peer.slot] = this.#mtuOf(config);
  }

  #mtuOf(config: PeerConfig): number {
    return Math.min(config.mtu ?? this.#options.mtu, this.#options.mtu);
  }

  /** Says which addresses this host has (4 or 16 bytes each), beside those of the tunnel. */
  setLocalAddresses(addresses: readonly Uint8Array[]): void {
    this.#sanity.setLocalAddresses(addresses);
  }

  /** Takes a part of what moved since the last sample, so that packets do not wait for all. */
  samplePart(): SamplePart {
    return this.#sampling.part(this.drops());
  }

  /** Takes everything that moved since the last sample. */
  sample(): Sample {
    return this.#sampling.whole(this.drops());
  }

  /** Refusals by reason since the beginning; zero ones are left out. */
  drops(): Sample['drops'] {
    return dropsByName(this.#drops, this.#engine.faults);
  }
}
