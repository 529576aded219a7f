// The main thread's half: it opens what the operating system has to give (TUN, sockets, eventfd),
// hands it to the worker, and carries configuration in and statistics out. Because the descriptors
// are its own, a worker that dies of an exception is started again on the same interface and port.

import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import { MAX_LET_GO_PER_COMMAND } from './constants.ts';
import type { Amendment, GatewayConfig, Sample } from './contract.ts';
import {
  closeDescriptors,
  type Descriptors,
  type GatewayOptions,
  messageOf,
  openDescriptors,
  portFault,
  reopenTun,
} from './descriptors.ts';
import { type Change, isEmpty, Standing } from './diff.ts';
import { Egress } from './egress.ts';
import { buffersOf } from './filter/compile.ts';
import { KernelCounts, type TableFill } from './io/kernel-counts.ts';
import { readLocalAddresses } from './io/system.ts';
import { openUapi, type Uapi } from './io/uapi.ts';
import { derivePublicKey } from './noise/keys.ts';
import { WholeSample } from './sample.ts';
import { pagesOf } from './slices.ts';
import { type PeerTotals, Totals } from './totals.ts';
import type { Command, Report, WorkerOptions } from './worker.ts';

/** What runs, for people and for health. */
export interface GatewayFacts {
  readonly engine: 'native' | 'typescript';
  readonly listenPort: number;
  /** Name of the TUN, null without one. */
  readonly tun: string | null;
  readonly masquerade: boolean;
  /** The kernel's table of connections, which masquerading needs; null where there is none. */
  readonly connections: TableFill | null;
  /** False while the worker does not answer or is being started again, or without its TUN. */
  readonly alive: boolean;
}

/** A running data plane. */
export interface Gateway {
  readonly facts: GatewayFacts;
  /** Makes a configuration the one in force; resolves when every further packet obeys it. */
  apply(config: GatewayConfig): Promise<void>;
  /** The same for some entries alone, at the cost of those. */
  amend(amendment: Amendment): Promise<void>;
  /**
   * Says when other gateways with the same key shook hands with peers: by public key, Unix time in
   * ms. Those that did not do so here since are let go of, and packets for them are dropped.
   */
  letGo(heardElsewhere: ReadonlyMap<string, number>): void;
  /** Takes what moved since the last sample. */
  sample(): Promise<Sample>;
  /** Every peer that is served, and its totals as of the last sample. */
  peers(): Iterable<PeerTotals>;
  /** Stops: keys are wiped, the TUN and the nft table go. */
  close(): Promise<void>;
}

/**
 * Starts a data plane; rejects with a message that names the mend. A worker that was started before
 * has loaded by now what it needs.
 */
export async function createGateway(options: GatewayOptions, worker?: Worker): Promise<Gateway> {
  const system = openDescriptors(options);
  const shell = new Shell(options, system);
  try {
    // Without peers the worker lets nothing pass, so the way out may be made meanwhile.
    await allOf([shell.start(worker), shell.openEgress()]);
    await shell.openUapi();
    shell.watch();
  } catch (error) {
    await shell.close();
    throw error;
  }
  return shell;
}

/** Starts a worker, which waits for its options and until then holds up no exit. */
export function startWorker(): Worker {
  const worker = new Worker(WORKER, {
    resourceLimits: { maxYoungGenerationSizeMb: WORKER_YOUNG_MB },
  });
  worker.unref();
  return worker;
}

// ---- the shell -----------------------------------------------------------------------------

/** Beside this file, TypeScript here and JavaScript in the package that others install. */
const WORKER = new URL(import.meta.url.replace(/gateway(?=\.\w+$)/, 'worker'));
const RESTART_MS = 100;
/** Packets allocate nothing in the worker, handshakes little: what is young there stays small. */
const WORKER_YOUNG_MB = 12;
const STOP_MS = 800;

/** A worker that answers nothing for so long is not well, */
const SILENT_MS = 3_000;
/** and after so long it is ended, and another one started. */
const HUNG_MS = 10_000;
const WATCH_MS = 1_000;

interface Pending {
  /** Monotonic ms. */
  readonly askedAt: number;
  readonly resolve: (report: Report) => void;
  readonly reject: (error: Error) => void;
}

class Shell implements Gateway {
  readonly #options: GatewayOptions;
  #system: Descriptors;
  readonly #startedAt = { wallMs: Date.now(), now: performance.now() };
  #listenPort: number;
  #worker: Worker | null = null;
  #port: MessagePort | null = null;
  /** Whether there is a worker that hears, and whether it obeys what stands. */
  #alive = false;
  #obeysAll = false;
  #closing = false;
  readonly #egress: Egress;
  readonly #kernelCounts: KernelCounts;
  #isTunGone = false;
  /** Why there is no worker again yet, as it was told last. */
  #restartFault = '';
  /** What the worker was told last of the addresses of this host. */
  #localAddresses = '';
  /** What the worker obeys, or will once it has taken what was sent. */
  readonly #standing = new Standing();
  readonly #totals = new Totals();
  #uapi: Uapi | null = null;
  #watch: NodeJS.Timeout | undefined;
  readonly #pending = new Map<number, Pending>();
  /** Applies that a dead worker left unanswered: the next worker's first one answers them. */
  #orphaned: Pending[] = [];
  #lastId = 0;
  /** When the sample that was asked for last is taken. */
  #sampled: Promise<unknown> = Promise.resolve();

  constructor(options: GatewayOptions, system: Descriptors) {
    this.#options = options;
    this.#system = system;
    this.#listenPort = system.listenPort;
    this.#egress = new Egress(options);
    this.#kernelCounts = new KernelCounts({
      listenPort: () => this.#listenPort,
      masqueraded: () => (this.#egress.isMasqueraded ? options.interfaceName : null),
    });
  }

  get facts(): GatewayFacts {
    return {
      engine: this.#system.engine,
      listenPort: this.#listenPort,
      tun: this.#system.tun >= 0 && !this.#isTunGone ? this.#options.interfaceName : null,
      masquerade: this.#egress.isMasqueraded,
      connections: this.#kernelCounts.fill,
      alive: this.#alive && this.#obeysAll && !this.#isTunGone && this.#silentMs() < SILENT_MS,
    };
  }

  // ---- the worker ----

  /** Gives a worker what it needs, and waits until it is ready. */
  async start(worker: Worker = startWorker()): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    const { privateKey } = this.#options;
    const { engine, udp4, udp6, wake, tun, tunTakesUdp } = this.#system;
    const { ipv4, ipv6, mtu, x25519, defaultAction, allowsMetadata } = this.#options;
    const options: WorkerOptions = {
      engine,
      x25519,
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      timestampFloorMs: this.#timestampFloorMs(),
      ipv4,
      ipv6,
      defaultAction,
      allowsMetadata,
      mtu,
      udp4,
      udp6,
      wake,
      tun,
      tunTakesUdp,
      listenPort: this.#listenPort,
      port: port2,
    };
    worker.ref();
    worker.postMessage(options, [port2]);
    this.#worker = worker;
    this.#port = port1;
    await new Promise<void>((resolve, reject) => {
      const hear = (report: Report): void => {
        if (report.type === 'ready') {
          this.#listenPort = report.listenPort;
          this.#alive = true;
          this.#localAddresses = '';
          this.#tellLocalAddresses();
          void this.#tellAll();
          resolve();
        } else if (report.type === 'failed' && !this.#alive) {
          reject(startFault(report.message, this.#listenPort));
        } else {
          this.#take(report);
        }
      };
      port1.on('message', hear);
      worker.on('error', (error) => {
        reject(error);
        this.#options.log('error', `the data plane failed: ${error.stack ?? error.message}`);
      });
      worker.on('exit', () => {
        hearLastWords(port1, hear);
        reject(new Error('the data plane ended before it was ready'));
        this.#onExit(worker);
      });
    });
  }

  /** Tells a worker all that stands, before it hears of any change. */
  async #tellAll(): Promise<void> {
    const orphaned = this.#orphaned;
    this.#orphaned = [];
    const all = this.#standing.fromNothing();
    // Devices are found where they were heard last, which may be elsewhere than at the start.
    const change = { ...all, added: all.added.map((peer) => this.#totals.resumed(peer)) };
    this.#obeysAll = isEmpty(change);
    if (this.#obeysAll && orphaned.length === 0) return;
    try {
      const applied = await this.#request((id) => ({ type: 'apply', id, change }));
      this.#obeysAll = true;
      this.#tellElsewhere(this.#totals.elsewhere());
      for (const pending of orphaned) pending.resolve(applied);
    } catch (error) {
      for (const pending of orphaned) pending.reject(error as Error);
    }
  }

  /** Where an earlier worker's timestamps may have come to, whatever became of the wall clock. */
  #timestampFloorMs(): number {
    const { wallMs, now } = this.#startedAt;
    return Math.max(this.#options.timestampFloorMs, wallMs) + performance.now() - now;
  }

  #take(report: Report): void {
    switch (report.type) {
      case 'applied':
      case 'sample':
        this.#pending.get(report.id)?.resolve(report);
        this.#pending.delete(report.id);
        return;
      case 'fault':
        return this.#options.log('error', `a packet made the data plane fail: ${report.message}`);
      case 'failed':
        return this.#options.log('error', `the data plane failed: ${report.message}`);
      case 'tunGone':
        return this.#onTunGone();
      case 'ready':
        return;
    }
  }

  /** A worker keeps its descriptors for life: another one begins, on an interface made again. */
  #onTunGone(): void {
    this.#isTunGone = true;
    const { interfaceName, log } = this.#options;
    log('warn', `the interface ${interfaceName} has vanished and is made again`);
    this.#send({ type: 'stop' });
  }

  #onExit(worker: Worker): void {
    if (worker !== this.#worker) return;
    const wasAlive = this.#alive;
    this.#alive = false;
    this.#obeysAll = false;
    if (this.#closing || !wasAlive) return;
    this.#options.log('warn', 'the data plane ended and is started again');
    this.#orphaned.push(...this.#pending.values());
    this.#pending.clear();
    setTimeout(() => void this.#restart(), RESTART_MS).unref();
  }

  async #restart(): Promise<void> {
    if (this.#closing) return;
    try {
      if (this.#isTunGone) this.#system = reopenTun(this.#options, this.#system);
      this.#isTunGone = false;
      await this.start();
      this.#restartFault = '';
      this.#options.log('info', 'the data plane serves again');
    } catch (error) {
      // Tried every second: the same fault is told once.
      const fault = messageOf(error);
      if (fault !== this.#restartFault)
        this.#options.log('error', `the data plane could not be started again: ${fault}`);
      this.#restartFault = fault;
      setTimeout(() => void this.#restart(), 10 * RESTART_MS).unref();
    }
  }

  #send(command: Command): void {
    this.#port?.postMessage(command, command.type === 'apply' ? buffersIn(command.change) : []);
    const { addon, wake } = this.#system;
    if (addon !== null && wake >= 0) addon.wake(wake);
    else this.#worker?.postMessage(null);
  }

  #request(command: (id: number) => Command): Promise<Report> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#pending.set(id, { askedAt: performance.now(), resolve, reject });
      if (this.#alive) this.#send(command(id));
    });
  }

  // ---- the gateway ----

  async apply(config: GatewayConfig): Promise<void> {
    if (this.#closing) throw closed();
    await this.#obey(this.#standing.replace(config));
  }

  async amend(amendment: Amendment): Promise<void> {
    if (this.#closing) throw closed();
    await this.#obey(this.#standing.amend(amendment));
  }

  async #obey(change: Change): Promise<void> {
    this.#totals.forget(change.removed);
    if (isEmpty(change)) return;
    if (!this.#alive) {
      // The next worker begins with the whole configuration.
      await new Promise<Report>((resolve, reject) =>
        this.#orphaned.push({ askedAt: performance.now(), resolve, reject }),
      );
      return;
    }
    await this.#request((id) => ({ type: 'apply', id, change }));
  }

  letGo(heardElsewhere: ReadonlyMap<string, number>): void {
    this.#tellElsewhere(this.#totals.letGo(heardElsewhere, this.#standing.peers));
  }

  /** A worker that is to come is told when it has its peers. */
  #tellElsewhere(heardElsewhere: ReadonlyMap<string, number>): void {
    if (!this.#alive) return;
    for (const page of pagesOf(heardElsewhere, MAX_LET_GO_PER_COMMAND))
      this.#send({ type: 'letGo', heardElsewhere: page });
  }

  /** One after the other: two at once would share the parts of one. */
  sample(): Promise<Sample> {
    const sample = this.#sampled.then(() => this.#takeSample());
    this.#sampled = sample.catch(() => undefined);
    return sample;
  }

  /** Asks for part after part; of a worker that ends meanwhile, what it told is the sample. */
  async #takeSample(): Promise<Sample> {
    const whole = new WholeSample();
    while (this.#alive && !this.#closing && !whole.isWhole) {
      const report = await this.#request((id) => ({ type: 'sample', id }));
      if (report.type !== 'sample') break;
      this.#totals.add(report.sample.peers, this.#standing.peers, Date.now());
      whole.add(report.sample);
    }
    const { sample } = whole;
    return { ...sample, drops: { ...sample.drops, ...this.#kernelCounts.drops } };
  }

  peers(): Iterable<PeerTotals> {
    return this.#totals.of(this.#standing.peers);
  }

  /** How long the worker owes an answer. */
  #silentMs(): number {
    const [oldest] = this.#pending.values();
    return oldest === undefined ? 0 : performance.now() - oldest.askedAt;
  }

  /** Looks after what nobody tells: that the worker hangs, that this host got an address. */
  watch(): void {
    this.#watch = setInterval(() => {
      this.#endHungWorker();
      if (this.#alive) this.#tellLocalAddresses();
    }, WATCH_MS).unref();
  }

  #endHungWorker(): void {
    if (this.#silentMs() < HUNG_MS) return;
    this.#options.log('error', `the data plane has not answered for ${HUNG_MS / 1_000} s`);
    void this.#worker?.terminate();
  }

  /** Packets for the gateway's own socket must not come through the tunnel, at any address. */
  #tellLocalAddresses(): void {
    const addresses = readLocalAddresses();
    const text = addresses.join(' ');
    if (text === this.#localAddresses) return;
    this.#localAddresses = text;
    this.#send({ type: 'localAddresses', addresses });
  }

  /** Where `wg show` asks; without rights to make a socket there it cannot. */
  async openUapi(): Promise<void> {
    const { interfaceName, privateKey, uapi, log } = this.#options;
    if (uapi === 'off') return;
    try {
      this.#uapi = await openUapi(interfaceName, () => ({
        privateKey,
        listenPort: this.#listenPort,
        peers: this.peers(),
      }));
    } catch (error) {
      log('info', `"wg show ${interfaceName}" cannot ask this gateway: ${messageOf(error)}`);
    }
  }

  /** Without a TUN nothing leaves. */
  async openEgress(): Promise<void> {
    if (this.#system.tun >= 0) await this.#egress.open();
    void this.#kernelCounts.look();
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    clearInterval(this.#watch);
    await this.#uapi?.close();
    for (const pending of [...this.#pending.values(), ...this.#orphaned]) pending.reject(closed());
    await this.#stopWorker();
    closeDescriptors(this.#system);
    // After the last packet, which would leave with the address of its device.
    await this.#egress.close();
    await this.#kernelCounts.stop();
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    if (!this.#alive) {
      await worker.terminate();
      return;
    }
    this.#send({ type: 'stop' });
    const late = setTimeout(() => void worker.terminate(), STOP_MS);
    await exited;
    clearTimeout(late);
  }
}

/** Waits for all, whichever fails; then the first fault is told. */
async function allOf(steps: readonly Promise<void>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps))
    if (step.status === 'rejected') throw step.reason;
}

function closed(): Error {
  return new Error('the gateway is closed');
}

/** The exit may be heard of before what the worker said at last, which says why. */
function hearLastWords(port: MessagePort, hear: (report: Report) => void): void {
  for (;;) {
    const received = receiveMessageOnPort(port) as { message: Report } | undefined;
    if (received === undefined) break;
    hear(received.message);
  }
  port.close();
}

/** Only the twin opens its sockets in the worker; whatever else fails there is said as it is. */
function startFault(message: string, port: number): Error {
  return /\bE(ADDRINUSE|ACCES)\b|\bbind\b/.test(message)
    ? portFault(new Error(message), port)
    : new Error(`the data plane cannot start: ${message}`);
}

function buffersIn(change: Change): ArrayBuffer[] {
  return change.scopes.flatMap(({ compiled }) => (compiled === null ? [] : buffersOf(compiled)));
}
