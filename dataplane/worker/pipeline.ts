// The data plane as a machine without clock and sockets: datagrams, packets, configuration and
// `now` go in; datagrams, packets, deadlines and statistics come out. It calls the steps in order:
//
//     inbound   wireguard/receive.ts: classify -> engine: open -> wireguard/receive.ts: accept
//               -> path/inward.ts: verdict -> path/forwarder.ts: act -> engine: write, seal
//     outbound  path/outward.ts: verdict -> path/forwarder.ts: act -> engine: seal
//     handed    path/handed.ts: what other workers handed over goes one of these two ways
//
// Judging a packet changes nothing. Everything that a packet changes is changed by the act.

import {
  ELSEWHERE_DOUBT_MS,
  FLOW_LOG_REFUSALS_PER_TURN,
  FLOWS_PER_ENDED_FLOW,
  MADE_PER_TAKEN,
  MAX_FLOWS,
  MAX_PEERS,
  UDP_FLOW_MS,
} from '../constants.ts';
import {
  ALONE,
  DESCRIPTOR_WORDS,
  type HostAddresses,
  type NetworkConfig,
  type PacketEngine,
  type PeerConfig,
  type Sample,
  type SamplePart,
  type SampleSums,
  MARK,
  MARK_DROP,
  MARK_TRUNCATED,
  type Team,
} from '../contract.ts';
import type { Change, TriedChange } from '../diff.ts';
import { EndedFlows } from '../filter/ended-flows.ts';
import { Filter } from '../filter/filter.ts';
import { FlowTable } from '../filter/flow-table.ts';
import { RefusalTable } from '../filter/refusals.ts';
import { Tracker } from '../filter/tracker.ts';
import type { Identity, Random } from '../noise/handshake.ts';
import type { FlowLogWriter } from '../rings/flow-log-ring.ts';
import { openFlowLog } from './flow-log.ts';
import { type EndedFlow, EndedList } from '../path/ended-list.ts';
import { Explainer, type Explanation, type Question } from '../path/explain.ts';
import { type CaptureOrder, Captures } from '../path/capture.ts';
import { Datagrams } from '../path/datagrams.ts';
import { Forwarder } from '../path/forwarder.ts';
import { HandedOver } from '../path/handed.ts';
import { InwardJudge } from '../path/inward.ts';
import { Limits } from '../path/limits.ts';
import { Mtus } from '../path/mtu.ts';
import { OutwardJudge } from '../path/outward.ts';
import { type EndedPart, type FlowQuery, FlowList, type LiveFlow } from '../path/flow-list.ts';
import type { Listed } from '../path/listed.ts';
import { PacketPath } from '../path/path.ts';
import { OverQuota } from '../path/over-quota.ts';
import { WaitingPackets } from '../path/waiting.ts';
import { RefusalList, type RefusalQuery, type SeenRefusal } from '../path/refusal-list.ts';
import { Refused } from '../path/refused.ts';
import { Unreachable } from '../path/unreachable.ts';
import { reasonNames, reasons } from '../reasons.ts';
import type { SocketEgress } from '../sockets/egress.ts';
import { hasOpenersBeyond, leavesBySockets, PathAround, type WaysOut } from './egress.ts';
import { dropsByName, Sampling } from './sample.ts';
import { rulesUnder, trialOf } from './tried.ts';
import { Sanity } from '../sanity.ts';
import { initiationsPerTurn } from '../slices.ts';
import { type KnownPeer, losesAddress } from '../wireguard/known-peer.ts';
import { Receiver } from '../wireguard/receive.ts';
import { Sender } from '../wireguard/send.ts';
import type { StagedPacket } from '../wireguard/staging.ts';
import { type TracePart, traceOf } from '../wireguard/trace.ts';
import { isOwn, Tunnel } from '../wireguard/tunnel.ts';
import type { UnknownSenders } from '../wireguard/unknown-senders.ts';
import { shareOf } from '../worker-count.ts';

/** What a pipeline is made from. */
export interface PipelineOptions extends WaysOut {
  readonly engine: PacketEngine;
  readonly identity: Identity;
  readonly random: Random;
  /** Unix time in ms: the smallest timestamp of an initiation; earlier runs used smaller ones. */
  readonly timestampFloorMs: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly defaultAction: 'accept' | 'drop';
  /** UDP port of the tunnel; packets to it must not come through the tunnel itself. */
  readonly listenPort: number;
  /** MTU of the tunnel. */
  readonly mtu: number;
  /** Whether peers may reach the addresses at which clouds answer the gateway's host. */
  readonly allowsMetadata: boolean;
  /** The workers of the gateway; one where it is left out. */
  readonly team?: Pick<Team, 'self' | 'size'>;
  /** The ring to which the flow log is written; left out: nobody wants it. */
  readonly flowLog?: SharedArrayBuffer | null;
  /** How many flows the gateway remembers, a power of two; MAX_FLOWS where it is left out. */
  readonly flows?: number;
  /** How many peers there may be: their slots are below; MAX_PEERS where it is left out. */
  readonly peers?: number;
}

/** The packet path. Times: `now` is a monotonic clock in ms, `wallMs` Unix time in ms. */
export class Pipeline {
  readonly #engine: PacketEngine;
  readonly #egress: SocketEgress | null;
  readonly #hasOpenersBeyond: boolean;
  readonly #tunnel: Tunnel;
  readonly #sender: Sender;
  readonly #receiver: Receiver;
  readonly #filter: Filter;
  readonly #tracker: Tracker;
  readonly #sanity: Sanity;
  readonly #mtus: Mtus;
  readonly #limits = new Limits();
  readonly #overQuota = new OverQuota();
  readonly #path: PacketPath;
  readonly #datagrams: Datagrams;
  readonly #handed: HandedOver;
  readonly #explainer: Explainer;
  readonly #refusals: RefusalTable;
  readonly #flowList: FlowList;
  readonly #endedList: EndedList;
  readonly #refusalList: RefusalList;
  readonly #captures: Captures;
  readonly #waiting: WaitingPackets;
  readonly #unreachable: Unreachable;
  readonly #flowLog: FlowLogWriter | null;
  readonly #drops = new Float64Array(reasonNames.length);
  readonly #sampling: Sampling;

  constructor(options: PipelineOptions) {
    const { engine, identity, random, timestampFloorMs, hasTun } = options;
    const { team = ALONE, peers = MAX_PEERS } = options;
    this.#engine = engine;
    const drop = (reason: number): void => this.drop(reason);
    const lost = (packet: StagedPacket, reason: number): void => refused.waited(packet, reason);
    const began = ({ slot }: KnownPeer): void => this.#egress?.resume(slot);
    const refusalOf = (packet: StagedPacket): number => this.#waiting.refusalOf(packet);
    this.#tunnel = new Tunnel(
      { engine, identity, random, timestampFloorMs, team, peers, drop, lost, refusalOf, began },
      {
        initiate: (peer, isRetry, now) => this.#sender.initiate(peer, isRetry, now),
        keepalive: (peer, now) => this.#sender.keepalive(peer, now),
        giveUp: (peer) => this.#tunnel.dropStaged(peer, reasons.staged_expired),
        forgetKeys: (peer) => this.#tunnel.forgetKeys(peer),
      },
    );
    const tunnel = this.#tunnel;
    const sender = (this.#sender = new Sender(tunnel));
    this.#receiver = new Receiver(tunnel, sender);
    this.#filter = new Filter(options.defaultAction);
    this.#sampling = new Sampling(tunnel, this.#filter);
    const capacity = shareOf(options.flows ?? MAX_FLOWS, team.size);
    const flows = new FlowTable({ random, capacity, peers, count: drop });
    const ended = new EndedFlows({ capacity: capacity / FLOWS_PER_ENDED_FLOW, peers });
    const tracker = new Tracker(this.#filter, random, flows, ended);
    const { allowedIps, handOver } = tunnel;
    const sanity = new Sanity(options, allowedIps);
    const mtus = (this.#mtus = new Mtus(options, peers));
    this.#tracker = tracker;
    this.#sanity = sanity;
    const filter = tracker.judge;
    this.#waiting = new WaitingPackets(this.#filter, filter);
    const asked = { sanity, filter, mtus, limits: this.#limits, overQuota: this.#overQuota };
    const egress = (this.#egress = options.egress ?? null);
    const inward = new InwardJudge({ ...asked, hasTun, hasSockets: leavesBySockets(options) });
    egress?.serve(new PathAround({ ...options, ...asked, inward, tunnel, sender }));
    filter.hasOpenersBeyond = this.#hasOpenersBeyond = hasOpenersBeyond(options);
    const outward = new OutwardJudge({ ...asked, allowedIps });
    this.#explainer = new Explainer({ inward, outward, tracker, tunnel, sender });
    const refusals = (this.#refusals = new RefusalTable({ random, peers }));
    this.#flowList = new FlowList({ tracker, tunnel, sanity, overQuota: this.#overQuota });
    this.#endedList = new EndedList(tracker.ended);
    this.#refusalList = new RefusalList({ refusals, tracker, tunnel });
    const refused = new Refused({ refusals, tracker, drop });
    const captures = (this.#captures = new Captures({ tracker, tunnel, sender }));
    const unreachable = (this.#unreachable = new Unreachable({ ...options, sanity }));
    const kept = { tracker, mtus, limits: this.#limits, refused, captures, unreachable };
    const forwarder = new Forwarder({ engine, sender, handOver, ...kept });
    const acts = { inward, outward, forwarder, refused, captures, unreachable };
    const datagrams = (this.#datagrams = new Datagrams({ ...options, ...acts, tunnel, peers }));
    this.#path = new PacketPath({ ...acts, datagrams });
    this.#flowLog = openFlowLog(options.flowLog ?? null, { tracker, tunnel, refusals });
    this.#handed = new HandedOver({ engine, tunnel, receiver: this.#receiver, path: this.#path });
  }

  /** Counts a refusal. */
  drop(reason: number): void {
    this.#drops[reason]! += 1;
  }

  // ---- packets -------------------------------------------------------------------------------

  /** Takes the batch `engine.datagrams`. */
  inbound(now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    const batch = this.#engine.datagrams;
    const { count } = batch;
    for (let i = 0; i < count; i++) this.#receiver.classify(batch, i, now);
    this.#tunnel.handOver.finish(batch);
    this.#engine.open(batch);
    for (let i = 0; i < count; i++) {
      const from = this.#receiver.accept(batch, i, now);
      if (from !== null) this.#path.inward(batch, i, from, now);
    }
    this.#path.finish(batch, now);
  }

  /** Takes the batch `engine.packets`. */
  outbound(now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    const batch = this.#engine.packets;
    const { descriptors } = batch;
    for (let i = 0; i < batch.count; i++) {
      const at = i * DESCRIPTOR_WORDS;
      const wasTruncated = descriptors[at + MARK] === MARK_TRUNCATED;
      descriptors[at + MARK] = MARK_DROP;
      this.#path.outward(batch, i, wasTruncated, now);
    }
    this.#path.finish(batch, now);
    batch.count = 0;
  }

  /** Takes the batch `engine.packets`, which sockets have made: they open no flow of the host. */
  bySockets(now: number, wallMs: number): void {
    this.#tracker.judge.hasOpenersBeyond = false;
    try {
      this.outbound(now, wallMs);
    } finally {
      this.#tracker.judge.hasOpenersBeyond = this.#hasOpenersBeyond;
    }
  }

  /** Takes what other workers have handed over. */
  handed(now: number, wallMs: number): void {
    for (let worker = 0; worker < this.#engine.handed.length; worker++) {
      this.#begin(now, wallMs);
      this.#handed.take(worker, now);
    }
  }

  /** Begins a turn: everything in it happens at `now`. */
  #begin(now: number, wallMs: number): void {
    this.#flowLog?.begin(now, wallMs);
    this.#tracker.begin(now, wallMs);
    this.#limits.begin(now);
    this.#refusals.begin(now);
    this.#tunnel.wallMs = wallMs;
    this.#datagrams.begin(now);
    this.#path.begin();
  }

  // ---- time ----

  /**
   * Ends a turn: looks at flows, fires timers that are due and takes waiting initiations. Each of
   * the last two gets at least half of what a turn allows; the rest waits for the next turn, after
   * the packets that have come. `engine.datagrams` still holds the count of this turn.
   */
  expire(now: number, wallMs: number): void {
    if (this.nextTimeout(now) > now) return;
    this.#begin(now, wallMs);
    if (this.#tracker.nextSweep <= now) this.#tracker.sweep(now);
    if (this.#refusals.nextHandOn <= now) this.#refusals.handOn(FLOW_LOG_REFUSALS_PER_TURN);
    const most = initiationsPerTurn(this.#engine.datagrams.count);
    const made = this.#tunnel.expire(now, most);
    this.#receiver.takeInitiations(most - Math.floor(made / MADE_PER_TAKEN), now);
  }

  /** When `expire` must be called at the latest; infinite when nothing waits. */
  nextTimeout(now: number): number {
    if (this.#receiver.waitingInitiations > 0) return now;
    const deadline = Math.min(this.#tunnel.nextDeadline, this.#datagrams.nextDeadline);
    return Math.min(deadline, this.#tracker.nextSweep, this.#refusals.nextHandOn);
  }

  /**
   * Writes what is left to the flow log, because the worker stops: what was refused lately, and the
   * end of every flow. It writes as much as the ring has room for; `isLast`: the rest is lost, and
   * counted. Returns whether nothing is left. No packet may come afterwards.
   */
  stopLogging(isLast: boolean, now: number, wallMs: number): boolean {
    const log = this.#flowLog;
    if (log === null) return true;
    this.#begin(now, wallMs);
    this.#refusals.handOn(isLast ? Infinity : log.room);
    const hasEnded = this.#tracker.ends.stop(isLast ? Infinity : log.room);
    return hasEnded && this.#refusals.nextHandOn === Infinity;
  }

  // ---- questions ----

  /**
   * Explains what would become of a packet; null where other workers judge it. `isHanded`: the
   * worker of its sender has let it pass. Only the time of verdicts is set.
   */
  explain(question: Question, isHanded: boolean, now: number, wallMs: number): Explanation | null {
    this.#tracker.setTime(now, wallMs);
    this.#limits.begin(now);
    return this.#explainer.explain(question, isHanded, now);
  }

  /** What this worker remembers of the handshakes of a peer; null: it does not know the peer. */
  trace(publicKey: string, now: number, wallMs: number): TracePart | null {
    return traceOf(this.#tunnel, publicKey, now, wallMs);
  }

  /** Who sent initiations that no peer of this gateway can have sent, as far as it is known. */
  unknownSenders(): UnknownSenders {
    return this.#tunnel.unknownSenders.read();
  }

  /** Takes a part of the list of flows: at most `limit`, from the flow of that number on. */
  flows(
    query: FlowQuery,
    from: number,
    limit: number,
    now: number,
    wallMs: number,
  ): Listed<LiveFlow> {
    this.#tracker.setTime(now, wallMs);
    return this.#flowList.part(query, from, limit, now, wallMs);
  }

  /** Takes a part of the list of ended flows: at most `limit`, from the one before a number on. */
  pastFlows(
    query: FlowQuery,
    before: number,
    limit: number,
    now: number,
    wallMs: number,
  ): Listed<EndedFlow> {
    return this.#endedList.part(query, before, limit, now, wallMs);
  }

  /** Takes a part of the list of refused packets, from the record of that number on. */
  refusals(query: RefusalQuery, from: number, now: number, wallMs: number): Listed<SeenRefusal> {
    return this.#refusalList.part(query, from, now, wallMs);
  }

  /**
   * Takes a part of the flows that a change would end, from the flow of that number on; at most
   * `limit` are listed, all are counted.
   */
  endedFlows(
    change: TriedChange,
    from: number,
    limit: number,
    now: number,
    wallMs: number,
  ): EndedPart {
    this.#tracker.setTime(now, wallMs);
    const trial = trialOf(change, this.#tunnel, this.#tracker);
    return this.#flowList.ended(trial, from, limit, now, wallMs);
  }

  /** Takes a part of the packets that the rules refused lately and that a change would let pass. */
  passedRefusals(
    change: TriedChange,
    from: number,
    now: number,
    wallMs: number,
  ): Listed<SeenRefusal> {
    const rules = rulesUnder(change, this.#tunnel, this.#tracker);
    return this.#refusalList.passed(rules, from, now, wallMs);
  }

  /** Begins to copy the packets of a device, as far as they come to this worker, to a ring. */
  capture(number: number, order: CaptureOrder, ring: SharedArrayBuffer): void {
    this.#captures.begin(number, order, ring);
  }

  /** Whether packets are copied. */
  get isCapturing(): boolean {
    return this.#captures.isOn;
  }

  /** Ends a capture. */
  endCapture(number: number): void {
    this.#captures.end(number);
  }

  // ---- configuration and statistics ----

  /**
   * Applies a change between two batches. It is the one long step that is not sliced, because no
   * packet may see half of a change; 10,000 peers cost 0.1 s. A start adds devices in pages.
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
      this.#tracker.addPeer(peer.slot, config.scope, peer.id, peer.isHere);
      this.#tracker.join(peer.slot, config.groups ?? '');
      if (config.resume !== null) this.#tracker.doubt(peer.slot, UDP_FLOW_MS);
      this.#setSizes(peer, config);
      if (isOwn(peer)) this.#tunnel.initiateAfterRestart(peer, now);
    }
    this.#captures.renew();
    for (const { name, compiled } of change.scopes) this.#filter.change(name, compiled);
    if (change.defaultAction !== undefined) this.#filter.setDefault(change.defaultAction);
    if (change.isClosed !== undefined) this.#path.close(change.isClosed);
    this.#waiting.changed(now, change.isClosed);
    this.#egress?.rulesChanged();
  }

  /** Releases peers that made a later handshake with another gateway: by public key, Unix ms. */
  release(heardElsewhere: ReadonlyMap<string, number>, now: number, wallMs: number): void {
    this.#begin(now, wallMs);
    for (const [key, atMs] of heardElsewhere) {
      this.#tunnel.release(key, atMs, now);
      const peer = this.#tunnel.known(key);
      // What is said of the peers of other workers is believed.
      if (peer !== undefined && (!isOwn(peer) || peer.isElsewhere))
        this.#tracker.doubt(peer.slot, ELSEWHERE_DOUBT_MS);
    }
  }

  #remove(key: string, gone: Set<number>): void {
    const peer = this.#tunnel.known(key);
    if (peer === undefined) return;
    gone.add(peer.slot);
    this.#egress?.removeDevice(peer.slot);
    this.#tracker.removePeer(peer.slot);
    this.#refusals.forget(peer.slot);
    this.#datagrams.forget(peer.slot);
    this.#limits.set(peer.slot, null, null);
    this.#overQuota.set(peer.slot, false);
    this.#tunnel.removePeer(peer);
  }

  #update(config: PeerConfig): void {
    const peer = this.#tunnel.known(config.publicKey);
    if (peer === undefined) return;
    const { ipv4, ipv6, routes } = peer;
    this.#tunnel.updatePeer(peer, config);
    for (const version of [4, 6] as const)
      if (losesAddress({ ipv4, ipv6, routes }, config, version))
        this.#tracker.forgetAddress(peer.slot, version);
    this.#tracker.moveToScope(peer.slot, config.scope);
    this.#tracker.join(peer.slot, config.groups ?? '');
    this.#setSizes(peer, config);
    this.#egress?.deviceChanged(peer.slot);
  }

  /** Sets how large packets of a peer may be, and how many of them may come. */
  #setSizes({ slot, isHere }: KnownPeer, config: PeerConfig): void {
    this.#mtus.set(slot, config.mtu);
    this.#overQuota.set(slot, config.isOverQuota ?? false);
    if (isHere) this.#limits.set(slot, config.limitDown, config.limitUp);
  }

  /** Sets the addresses of this host, beside those of the tunnel; what they forbid ends. */
  setHostAddresses(addresses: HostAddresses): void {
    this.#sanity.setHostAddresses(addresses);
    this.#egress?.rulesChanged();
  }

  /** Sets the TCP ports of the gateway's own address at which this process listens. */
  setDoors(ports: readonly number[]): void {
    if (this.#egress !== null) this.#sanity.setDoors(ports);
    this.#egress?.rulesChanged();
  }

  /** Takes a part of what changed since the last sample: packets need not wait for all of it. */
  samplePart(): SamplePart {
    return this.#sampling.part(this.#sums());
  }

  /** Whether peers came or moved; true once between two samples. */
  takeArrivals(): boolean {
    return this.#tunnel.arrivals.takeReport();
  }

  /** Takes everything that changed since the last sample. */
  sample(): Sample {
    return this.#sampling.whole(this.#sums());
  }

  #sums(): SampleSums {
    const { share, full } = this.#refusals.forgotten;
    const { share: ended_share, full: ended_full } = this.#tracker.ended.forgotten;
    const forgotten = { share, full, ended_share, ended_full };
    return { drops: this.drops(), forgotten, ...this.#unreachable.sums, ...this.#egress?.sums };
  }

  /** Refusals by reason since the beginning; zero ones are left out. */
  drops(): Sample['drops'] {
    return dropsByName(this.#drops, this.#engine.errors);
  }
}
