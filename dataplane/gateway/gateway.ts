// The part of the data plane on the main thread. It owns the descriptors (TUN, sockets, eventfd):
// so a worker that dies of an exception is started again on the same interface and port. It sends
// the configuration to the workers and adds up their statistics. Links to workers: worker-link.ts.

import type { Worker } from 'node:worker_threads';
import { Rest, workOf } from '../worker/activity.ts';
import type { AnswerTo, AskedOf, WorkerQuestion } from '../worker/answers.ts';
import { MAX_RELEASED_PER_COMMAND } from '../constants.ts';
import {
  type Amendment,
  createSharedMemory,
  type DoorConnection,
  type GatewayConfig,
  type Sample,
  type SharedMemory,
} from '../contract.ts';
import {
  closeDescriptors,
  closeFormerTuns,
  type Descriptors,
  type GatewayFacts,
  type GatewayOptions,
  messageOf,
  openDescriptors,
  reopenTun,
  socketLosses,
  socketsOf,
  wayOf,
} from '../host/descriptors.ts';
import { type Change, isEmpty, ConfigInForce } from '../diff.ts';
import { type Capture, RunningCaptures } from './captures.ts';
import { Doors, type TakeConnection } from './doors.ts';
import { FlowLog } from '../rings/flow-log-ring.ts';
import { Egress } from '../host/egress.ts';
import { HostRoutes } from '../host/host-routes.ts';
import { eachSecond, HostWatch } from '../host/host-watch.ts';
import { KernelCounts, readTableFill } from '../io/kernel-counts.ts';
import { withInterfaces } from '../io/link-local.ts';
import { openUapi, type Uapi, type UapiDevice } from '../io/uapi.ts';
import { derivePublicKey } from '../noise/keys.ts';
import type { CaptureOrder } from '../path/capture.ts';
import { type Ask, askerOf, waitsForWorker } from './questions.ts';
import { joinSamples, Samples, SampleTotals, WholeSample } from '../worker/sample.ts';
import { pagesOf } from '../slices.ts';
import { type PeerTotals, Totals } from '../totals.ts';
import { isInNetwork } from '../wire/network.ts';
import type { Command, WorkerOptions } from '../worker/worker.ts';
import { startWorkers } from './start-worker.ts';
import { type LinkOwner, WorkerLink } from './worker-link.ts';

/** A running data plane. */
export interface Gateway {
  readonly facts: GatewayFacts;
  /** Asks what its workers know; nothing changes. */
  readonly ask: Ask;
  /** What becomes of flows, from all workers; null where it is not wanted. */
  readonly flowLog: Pick<FlowLog, 'lost' | 'take'> | null;
  /** Puts a configuration in force; resolves when every further packet obeys it. */
  apply(config: GatewayConfig): Promise<void>;
  /**
   * Puts a change of some entries in force, and costs only what they cost; resolves as `apply`
   * does.
   */
  amend(amendment: Amendment): Promise<void>;
  /**
   * Reports when other gateways with the same key made a handshake with peers: by public key, Unix
   * time in ms. Peers without a later handshake here are released, and packets for them are
   * dropped.
   */
  release(heardElsewhere: ReadonlyMap<string, number>): void;
  /** Takes what changed since the last sample. */
  sample(): Promise<Sample>;
  /** Calls back when peers came or moved, each worker at most once between two samples. */
  whenArrived(call: () => void): void;
  /**
   * Begins to capture packets of a device, also of one that is not served yet; the device has
   * `order.publicKey`. Null while as many captures run as can.
   */
  capture(order: CaptureOrder): Promise<Capture | null>;
  /** Every peer that is served, and its totals as of the last sample. */
  peers(): Iterable<PeerTotals>;
  /** Whether an address, 4 or 16 bytes, is reached behind a device. */
  hasRouteTo(address: Uint8Array): boolean;
  /**
   * Gives TCP connections to a port of the gateway's own address to `take`, until the result is
   * called. All else that comes to that address is for the host, where it has the address by a TUN.
   */
  openDoor(port: number, take: TakeConnection): () => void;
  /** Stops: keys are wiped, the TUN and the nft table are removed. */
  close(): Promise<void>;
}

/**
 * Starts a data plane; rejects with an error that names the fix. The workers in `early` were
 * started before, so that their files are loaded by now.
 */
export async function createGateway(
  options: GatewayOptions,
  early: readonly Worker[] = [],
): Promise<Gateway> {
  const system = openDescriptors(options);
  const gateway = new WorkerGateway(options, system);
  try {
    // Without peers the worker passes no packet, so forwarding can be switched on meanwhile.
    await allOf([gateway.start(early), gateway.openEgress()]);
    await gateway.openUapi();
    gateway.watch();
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return gateway;
}

class WorkerGateway implements Gateway, LinkOwner {
  readonly log: GatewayOptions['log'];
  readonly #options: GatewayOptions;
  #system: Descriptors;
  readonly #startedAt = { wallMs: Date.now(), now: performance.now() };
  #listenPort: number;
  readonly #links: readonly WorkerLink[];
  /** For each link: whether its worker has anything for a sample. */
  readonly #rests: readonly Rest[];
  readonly flowLog: FlowLog | null;
  /** What the workers share; null where there is one. */
  readonly #memory: SharedMemory | null;
  /** Sums over all workers, also those that ended. */
  readonly #sums = new SampleTotals();
  #isClosing = false;
  readonly #egress: Egress;
  readonly #kernelCounts: KernelCounts;
  /** Null without a TUN. */
  readonly #hostRoutes: HostRoutes | null;
  #isTunGone = false;
  readonly #host: HostWatch;
  /** The configuration that the workers obey once they have taken all that was sent. */
  readonly #inForce = new ConfigInForce();
  readonly #totals = new Totals();
  readonly #captures = new RunningCaptures();
  readonly #doors: Doors;
  #uapi: Uapi | null = null;
  #stopWatch: () => void = () => undefined;
  readonly #samples = new Samples(() => this.#takeSample());
  arrivals: () => void = () => undefined;

  constructor(options: GatewayOptions, system: Descriptors) {
    this.#options = options;
    this.log = options.log;
    this.#system = system;
    this.#listenPort = system.listenPort;
    const { length } = system.queues;
    this.#memory = length > 1 ? createSharedMemory(length) : null;
    this.flowLog = options.logsFlows === true ? new FlowLog(length) : null;
    this.#links = system.queues.map((_, number) => new WorkerLink(this, number));
    this.#rests = this.#links.map(() => new Rest());
    this.#egress = new Egress(options);
    const { addon } = system;
    this.#hostRoutes =
      addon !== null && this.#hasTun
        ? new HostRoutes({ ...options, addon, egress: this.#egress })
        : null;
    this.#doors = new Doors(system, (ports) => this.#sendToAll({ type: 'doors', ports }));
    const { hostProcess = null, guarded } = options;
    this.#host = new HostWatch({ addon, routes: this.#hostRoutes, hostProcess, guarded });
    this.#kernelCounts = new KernelCounts({
      listenPort: () => this.#listenPort,
      losses: () => (this.#isClosing ? 0 : socketLosses(this.#system)),
      unrelayed: () => this.#egress.unrelayed,
      work: () => workOf(this.#rests),
      masquerade: () => this.#egress.masqueradeCounts,
    });
  }

  get facts(): GatewayFacts {
    return {
      engine: this.#system.engine,
      listenPort: this.#listenPort,
      workers: this.#links.length,
      tun: this.#hasTun && !this.#isTunGone ? this.#options.interfaceName : null,
      ...wayOf(this.#system),
      tunError: this.#hostRoutes?.addressError ?? null,
      ...this.#egress.facts,
      files: this.#system.files,
      get connections() {
        return readTableFill();
      },
      alive: this.#links.every((link) => link.isWell) && !this.#isTunGone,
    };
  }

  get #hasTun(): boolean {
    return this.#system.queues[0]!.tun >= 0;
  }

  // ---- start and stop ------------------------------------------------------------------------

  /** Starts the workers. Those in `early` run already; those that are not needed are ended. */
  async start(early: readonly Worker[]): Promise<void> {
    const { warmsUp = false } = this.#options;
    const wanted = { engine: this.#system.engine, workers: this.#links.length };
    const workers = early.length > 0 ? early : startWorkers(wanted, warmsUp);
    for (const needless of workers.slice(this.#links.length)) void needless.terminate();
    await allOf(this.#links.map((link, i) => link.start(workers[i])));
  }

  /** Switches forwarding and masquerading on; without a TUN no packet leaves. */
  async openEgress(): Promise<void> {
    if (this.#hasTun) await this.#egress.open();
    void this.#kernelCounts.look();
  }

  /** Opens the socket that `wg show` reads; without the right to make it, that does not work. */
  async openUapi(): Promise<void> {
    const { interfaceName, privateKey, uapi, log } = this.#options;
    if (uapi === 'off') return;
    try {
      const device = (): UapiDevice => ({
        privateKey,
        listenPort: this.#listenPort,
        peers: this.peers(),
      });
      this.#uapi = await openUapi(interfaceName, device, undefined, () => this.#samples.refresh());
    } catch (error) {
      log('info', `"wg show ${interfaceName}" cannot ask this gateway: ${messageOf(error)}`);
    }
  }

  /** Finds changes that nothing reports: a worker that hangs, another address, a lost route. */
  watch(): void {
    this.#stopWatch = (this.#options.eachBeat ?? eachSecond)(() => {
      for (const link of this.#links) link.endIfHung();
      if (this.#host.look()) this.#sendAddresses();
      this.#kernelCounts.beat();
    });
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#stopWatch();
    this.#host.close();
    await this.#uapi?.close();
    await Promise.all(this.#links.map((link) => link.close(closed())));
    closeDescriptors(this.#system);
    // After the last packet: one that came later would leave with the address of its device.
    await this.#egress.close();
    await this.#kernelCounts.stop();
  }

  // ---- what links ask ------------------------------------------------------------------------

  wake({ number }: WorkerLink): boolean {
    const { addon, queues } = this.#system;
    const { wake } = queues[number]!;
    if (addon === null || wake < 0) return false;
    addon.wake(wake);
    return true;
  }

  workerOptions({ number }: WorkerLink): Omit<WorkerOptions, 'port'> {
    const { engine, queues, tunTakesUdp, tunTakesOwnSource } = this.#system;
    const wakes = queues.map((queue) => queue.wake);
    const { privateKey, ipv4, ipv6, mtu, defaultAction, allowsMetadata, relaysTcp } = this.#options;
    return {
      ...queues[number]!,
      team: { self: number, size: queues.length, memory: this.#memory, wakes },
      engine,
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      timestampFloorMs: this.#timestampFloorMs(),
      ipv4,
      ipv6,
      defaultAction,
      allowsMetadata,
      mtu,
      hostSockets: socketsOf(this.#options, this.#system),
      tunTakesUdp,
      tunTakesOwnSource,
      joinsForTun: relaysTcp ?? false,
      listenPort: this.#listenPort,
      flowLog: this.flowLog?.rings[number] ?? null,
      activity: this.#rests[number]!.activity,
    };
  }

  /** No earlier worker used a greater timestamp, even if the wall clock was changed meanwhile. */
  #timestampFloorMs(): number {
    const { wallMs, now } = this.#startedAt;
    return Math.max(this.#options.timestampFloorMs, wallMs) + performance.now() - now;
  }

  async initialize(link: WorkerLink, listenPort: number): Promise<void> {
    this.#listenPort = listenPort;
    if (this.#host.readAddresses()) this.#sendAddresses();
    link.send({ type: 'hostAddresses', addresses: this.#host.addresses });
    link.send({ type: 'doors', ports: this.#doors.ports });
    const all = this.#inForce.fromNothing();
    // A device may have moved since the start: it is resumed where it was heard last.
    const change = { ...all, added: all.added.map((peer) => this.#totals.resumed(peer)) };
    if (!isEmpty(change)) {
      await sendChange(link, change);
      sendElsewhere(link, this.#totals.elsewhere());
    }
    // Nobody waits for the answers.
    for (const { number, order, rings } of this.#captures.all)
      link.send({ type: 'capture', id: 0, number, order, ring: rings[link.number]! });
    this.#useQueue(link, true);
  }

  lost(link: WorkerLink): void {
    this.#sums.restart(link.number);
    this.#rests[link.number]!.forget();
  }

  /** From now on the kernel gives the packets of its queue to the other workers. */
  away(link: WorkerLink): void {
    this.#useQueue(link, false);
  }

  #useQueue({ number }: WorkerLink, isUsed: boolean): void {
    const { addon, queues } = this.#system;
    const { tun } = queues[number]!;
    if (queues.length === 1 || tun < 0 || this.#isTunGone) return;
    try {
      addon?.setQueue(tun, isUsed);
    } catch (error) {
      // EINVAL: it is so already.
      if ((error as { code?: string }).code !== 'EINVAL')
        this.log('warn', `worker ${number}: ${messageOf(error)}`);
    }
  }

  /** A worker cannot change its descriptors, so new workers start on a new interface. */
  tunGone(): void {
    if (this.#isTunGone) return;
    this.#isTunGone = true;
    const { interfaceName, log } = this.#options;
    log('warn', `the interface ${interfaceName} has vanished and is made again`);
    for (const link of this.#links) link.restart();
  }

  repair({ number }: WorkerLink): void {
    if (this.#isTunGone) {
      this.#system = reopenTun(this.#options, this.#system);
      this.#isTunGone = false;
      this.#hostRoutes?.renew();
    }
    this.#system = closeFormerTuns(this.#system, number);
  }

  // ---- what should be in force ---------------------------------------------------------------

  async apply(config: GatewayConfig): Promise<void> {
    if (this.#isClosing) throw closed();
    await this.amend(this.#inForce.amendmentTo(config));
  }

  async amend(amendment: Amendment): Promise<void> {
    if (this.#isClosing) throw closed();
    const changesRoutes = this.#inForce.changesRoutes(amendment);
    const endConnections = this.#egress.endOfConnections(amendment, this.#inForce.peers);
    await this.#obey(this.#inForce.amend(amendment));
    endConnections();
    if (changesRoutes) this.#hostRoutes?.set(this.#inForce.routes);
  }

  async #obey(change: Change): Promise<void> {
    this.#totals.forget(change.removed);
    if (isEmpty(change)) return;
    await Promise.all(this.#links.map((link) => sendChange(link, change)));
  }

  release(heardElsewhere: ReadonlyMap<string, number>): void {
    const moved = this.#totals.release(heardElsewhere, this.#inForce.peers);
    for (const link of this.#links) sendElsewhere(link, moved);
  }

  /** Sends the addresses of this host, to which no packet may come through the tunnel. */
  #sendAddresses(): void {
    this.#sendToAll({ type: 'hostAddresses', addresses: this.#host.addresses });
  }

  /** Sends a command to all workers; one that is not ready gets it when it is. */
  #sendToAll(command: Command): void {
    for (const link of this.#links) if (link.isReady) link.send(command);
  }

  // ---- questions -----------------------------------------------------------------------------

  readonly ask = askerOf({
    count: () => this.#links.length,
    ask: (...asked) => this.#askWorker(...asked),
    trial: (amendment) => this.#inForce.trial(amendment),
  });

  async #askWorker<Name extends WorkerQuestion>(
    worker: number,
    name: Name,
    ...asked: AskedOf<Name>
  ): Promise<AnswerTo<Name> | null> {
    if (this.#isClosing) throw closed();
    const link = this.#links[worker]!;
    if (!link.isReady && !waitsForWorker(name)) return null;
    const report = await link.request((id) => ({ type: 'ask', id, name, asked }));
    return report?.type === 'answer' ? (report.answer as AnswerTo<Name>) : null;
  }

  async capture(order: CaptureOrder): Promise<Capture | null> {
    if (this.#isClosing) throw closed();
    const running = this.#captures.begin(order, this.#links.length);
    if (running === null) return null;
    const { number, rings, capture } = running;
    capture.onStop = () => {
      for (const link of this.#links) link.send({ type: 'endCapture', number });
    };
    // A worker that is not ready gets it with its peers.
    const begin = async (link: WorkerLink): Promise<void> => {
      const ring = rings[link.number]!;
      await link.request((id) => ({ type: 'capture', id, number, order, ring }));
    };
    await Promise.all(this.#links.filter((link) => link.isReady).map(begin));
    return capture;
  }

  // ---- totals over all links -----------------------------------------------------------------

  sample(): Promise<Sample> {
    return this.#samples.sample();
  }

  whenArrived(call: () => void): void {
    this.arrivals = call;
  }

  async #takeSample(): Promise<Sample> {
    const samples = await Promise.all(this.#links.map((link) => this.#takeSampleOf(link)));
    const sums = this.#sums.all;
    const drops = { ...sums.drops, ...this.#kernelCounts.drops };
    return { ...joinSamples(samples), ...sums, drops };
  }

  /**
   * Requests part after part. If the worker ends before the last, the sample is what came. One at
   * rest is not asked: it has nothing new.
   */
  async #takeSampleOf(link: WorkerLink): Promise<Sample> {
    const whole = new WholeSample();
    const rest = this.#rests[link.number]!;
    if (rest.isAtRest) return whole.sample;
    const { work } = rest;
    while (link.isReady && !this.#isClosing && !whole.isWhole) {
      const report = await link.request((id) => ({ type: 'sample', id }));
      if (report?.type !== 'sample') break;
      this.#totals.add(report.sample.peers, this.#inForce.peers, Date.now());
      whole.add(report.sample);
      // At once: they are kept if the worker ends before the others have answered.
      this.#sums.set(link.number, report.sample);
    }
    if (whole.isWhole) rest.sampled(work);
    return whole.sample;
  }

  hasRouteTo(address: Uint8Array): boolean {
    if (this.#hostRoutes !== null) return this.#hostRoutes.has(address);
    return this.#inForce.routes.some((range) => isInNetwork(address, range));
  }

  openDoor(port: number, take: TakeConnection): () => void {
    return this.#doors.open(port, take);
  }

  readonly arrived = (connection: DoorConnection): void => this.#doors.arrived(connection);

  peers(): Iterable<PeerTotals> {
    return this.#totals.of(this.#inForce.peers);
  }
}

/** Sends a change; resolves when the worker obeys it. */
async function sendChange(link: WorkerLink, all: Change): Promise<void> {
  const change = { ...all, added: withInterfaces(all.added) };
  await link.request((id) => ({ type: 'apply', id, change }));
}

/** Sends which peers were heard elsewhere. A worker that is not ready gets it with its peers. */
function sendElsewhere(link: WorkerLink, heardElsewhere: ReadonlyMap<string, number>): void {
  if (!link.isReady) return;
  for (const page of pagesOf(heardElsewhere, MAX_RELEASED_PER_COMMAND))
    link.send({ type: 'release', heardElsewhere: page });
}

/** Waits for all steps, also when one fails; then throws the first error. */
async function allOf(steps: readonly Promise<void>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps))
    if (step.status === 'rejected') throw step.reason;
}

function closed(): Error {
  return new Error('the gateway is closed');
}
