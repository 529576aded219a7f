// The worker thread: one loop that waits, moves batches through the pipeline, and takes one command
// of the main thread between two batches. An exception in the packet path loses the current batch,
// is counted and logged, and the loop goes on.

import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { type Activity, noteWait, noteWork } from './activity.ts';
import { type Answer, answer, type QuestionCommand } from './answers.ts';
import {
  type DoorConnection,
  ERROR_TUN_READ,
  ERROR_UDP_RECEIVE,
  type HostAddresses,
  type NetworkConfig,
  type PacketEngine,
  type SamplePart,
  type Team,
} from '../contract.ts';
import { MAX_PEERS } from '../constants.ts';
import { messageOf } from '../host/descriptors.ts';
import type { Change } from '../diff.ts';
import { systemClock } from '../io/clock.ts';
import { choosePrimitives, systemRandom } from '../io/crypto.ts';
import { createBatches } from '../io/engine.ts';
import { HeapKeeper } from '../io/heap.ts';
import { TwinEngine } from '../io/twin.ts';
import { EVENT_TUN_GONE, EVENT_WAKE, loadAddon, NativeEngine } from '../native/index.ts';
import type { Identity } from '../noise/handshake.ts';
import type { Primitives } from '../noise/primitives.ts';
import type { CaptureOrder } from '../path/capture.ts';
import type { SocketEgress } from '../sockets/egress.ts';
import { Arriving } from './arriving.ts';
import { openEgress, openTwinEgress } from './egress.ts';
import { Pipeline } from './pipeline.ts';
import { type TurnEngine, Turns } from './turns.ts';
import { warmUp } from './warm-up.ts';
import type { SocketsWanted } from '../socket-contract.ts';
import { createEndpointTable } from '../wire/address.ts';
import { endpointLayout } from '../wireguard/tunnel.ts';

/** The first message to a worker; it may come after the worker has loaded all files. */
export interface WorkerOptions {
  /** The workers of the gateway. */
  readonly team: Team;
  readonly engine: 'native' | 'typescript';
  readonly identity: Identity;
  readonly timestampFloorMs: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly defaultAction: 'accept' | 'drop';
  readonly allowsMetadata: boolean;
  readonly mtu: number;
  /** File descriptors of the native engine, -1 where there is none. */
  readonly udp4: number;
  readonly udp6: number;
  readonly wake: number;
  readonly tun: number;
  /** The sockets of this process that take packets of devices; null: there are none. */
  readonly hostSockets: SocketsWanted | null;
  readonly tunTakesUdp: boolean;
  /** Whether the host takes IPv4 packets from the TUN that have its own address. */
  readonly tunTakesOwnSource?: boolean | undefined;
  /** Whether pasta is behind the TUN, which drops fragments. */
  readonly joinsForTun: boolean;
  readonly listenPort: number;
  /** The ring to which it writes the flow log; null: nobody wants it. */
  readonly flowLog: SharedArrayBuffer | null;
  /** Where it says that it works, and that it waits. */
  readonly activity: Activity;
  readonly port: MessagePort;
}

/** What the main thread sends. */
export type Command =
  | { readonly type: 'apply'; readonly id: number; readonly change: Change }
  | { readonly type: 'sample'; readonly id: number }
  | QuestionCommand
  | {
      readonly type: 'capture';
      readonly id: number;
      /** The number of the capture, below MAX_CAPTURES. */
      readonly number: number;
      readonly order: CaptureOrder;
      readonly ring: SharedArrayBuffer;
    }
  | { readonly type: 'endCapture'; readonly number: number }
  | { readonly type: 'hostAddresses'; readonly addresses: HostAddresses }
  | { readonly type: 'doors'; readonly ports: readonly number[] }
  /** As many connections that have arrived were taken. */
  | { readonly type: 'taken'; readonly count: number }
  | { readonly type: 'release'; readonly heardElsewhere: ReadonlyMap<string, number> }
  /** Everything in force was sent: from now on the worker takes packets. */
  | { readonly type: 'begin' }
  | { readonly type: 'stop' };

/** What the worker reports. */
export type Report =
  | { readonly type: 'ready'; readonly listenPort: number }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'applied'; readonly id: number }
  | { readonly type: 'sample'; readonly id: number; readonly sample: SamplePart }
  | Answer
  | { readonly type: 'capturing'; readonly id: number }
  | { readonly type: 'error'; readonly message: string }
  | { readonly type: 'tunGone' }
  | { readonly type: 'arrived'; readonly connection: DoorConnection }
  /** Peers came or moved, and the next sample has them. */
  | { readonly type: 'arrivals' };

/** An engine that can wait. The native one waits in `poll`, the twin in `rest`. */
interface WorkerEngine extends PacketEngine, TurnEngine {
  /** Lets the event loop run once; the twin waits for packets there. */
  rest(timeoutMs: number): Promise<void>;
  /** Whether `poll` waits, so that the loop need not wait in `rest`. */
  readonly waitsInPoll: boolean;
  wake(): void;
  close(): void;
}

/** How long the event loop waits for its turn; one turn of it costs more than a packet. */
const YIELD_MS = 50;
/** How long no packet comes before an event loop that has waited gets its turn. */
const QUIET_MS = 1;
/** How long the event loop waits for its turn while packets come. */
const YIELD_MS_MAX = 100;
const ERROR_LOG_MS = 1_000;
/** A socket or TUN that fails stays readable. The loop pauses for so long, or it would spin. */
const ERROR_PAUSE_MS = 10;
/** How often a worker that has not begun looks for commands. */
const BEGIN_PAUSE_MS = 1;
/** How long a worker that stops waits for the reader of the flow log, and how often it looks. */
const LOG_MS = 500;
const LOG_PAUSE_MS = 1;

const { addon } = loadAddon();
/** The warm-up has the same clock, because V8 compiles for the functions in it. */
const clock = systemClock(addon?.bootTime ?? null);

class NativeWorkerEngine extends NativeEngine implements WorkerEngine {
  readonly waitsInPoll = true;

  async rest(): Promise<void> {
    await turn();
  }

  wake(): void {
    // The eventfd has woken `poll` already.
  }
}

class Loop {
  readonly #port: MessagePort;
  readonly #engine: WorkerEngine;
  readonly #egress: SocketEgress | null;
  readonly #arriving = new Arriving((connection) => this.#report({ type: 'arrived', connection }));
  readonly #pipeline: Pipeline;
  readonly #turns: Turns;
  readonly #activity: Activity;
  readonly #heap = new HeapKeeper();
  #hasBegun = false;
  #stopping = false;
  /** Whether more commands may wait: the loop does not wait for packets before it knows. */
  #mayHaveCommands = false;
  #errorLoggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: WorkerOptions, { engine, egress }: Opened) {
    this.#port = options.port;
    this.#engine = engine;
    this.#egress = egress;
    this.#activity = options.activity;
    this.#pipeline = new Pipeline({
      engine,
      team: options.team,
      identity: options.identity,
      random: systemRandom,
      timestampFloorMs: options.timestampFloorMs,
      ipv4: options.ipv4,
      ipv6: options.ipv6,
      defaultAction: options.defaultAction,
      allowsMetadata: options.allowsMetadata,
      listenPort: options.listenPort,
      mtu: options.mtu,
      hasTun: options.tun >= 0,
      egress,
      isForDoors: options.hostSockets?.isForDoors ?? false,
      arriving: this.#arriving,
      takesOwnSource: options.tunTakesOwnSource,
      joinsForTun: options.joinsForTun,
      flowLog: options.flowLog,
    });
    this.#turns = new Turns(engine, this.#pipeline, clock, (error, now) => {
      this.#reportError(error, now);
    });
  }

  /** Runs until the command `stop`, or until a command fails; then wipes all keys. */
  async run(): Promise<void> {
    try {
      await this.#untilBegin();
      if (!this.#stopping) await this.#untilStop();
      await this.#stopLogging();
    } finally {
      this.#engine.close();
      this.#egress?.close();
    }
  }

  /**
   * Takes commands only. Packets wait in the sockets and in the TUN, because a worker that does not
   * know all its peers yet would refuse them.
   */
  async #untilBegin(): Promise<void> {
    while (!this.#hasBegun && !this.#stopping) {
      this.#takeCommand();
      if (!this.#mayHaveCommands) await pause(BEGIN_PAUSE_MS);
    }
  }

  /** Writes the ends of all flows to the flow log, as fast as they are read. */
  async #stopLogging(): Promise<void> {
    const endAt = clock.now() + LOG_MS;
    for (;;) {
      const now = clock.now();
      if (this.#pipeline.stopLogging(now >= endAt, now, clock.wall())) return;
      await pause(LOG_PAUSE_MS);
    }
  }

  async #untilStop(): Promise<void> {
    const turns = this.#turns;
    turns.readClock();
    let yieldedAt = turns.now;
    for (;;) {
      const isDue = turns.now - yieldedAt >= YIELD_MS;
      const longest = this.#mayHaveCommands ? 0 : isDue ? QUIET_MS : Number.POSITIVE_INFINITY;
      const timeout = Math.min(turns.freeMs, longest);
      const errors = this.#readErrors;
      const waitedFrom = turns.now;
      this.#wait(timeout);
      turns.move(turns.events);
      const isWoken = (turns.events & EVENT_WAKE) !== 0;
      const isIdle = !turns.hasMoved && !isWoken;
      if ((turns.events & EVENT_TUN_GONE) !== 0) this.#report({ type: 'tunGone' });
      if (this.#pipeline.takeArrivals()) this.#report({ type: 'arrivals' });
      if (isWoken || this.#mayHaveCommands || !this.#engine.waitsInPoll) {
        this.#takeCommand();
        if (this.#stopping) return;
        turns.readClock();
      }
      if (!turns.hasMoved) this.#heap.look(turns.now);
      if (!turns.hasMoved && this.#readErrors > errors) await pause(ERROR_PAUSE_MS);
      // An answer to a packet comes soon after it; the event loop waits until both have passed.
      const isQuiet = isDue || turns.now - waitedFrom >= YIELD_MS;
      const mayRest = isIdle
        ? isQuiet || !this.#engine.waitsInPoll
        : turns.now - yieldedAt >= YIELD_MS_MAX;
      if (mayRest) {
        await this.#engine.rest(isIdle && !this.#mayHaveCommands ? timeout : 0);
        turns.readClock();
        yieldedAt = turns.now;
      }
    }
  }

  /** Waits for something to do, and notes that it waits and what comes of it. */
  #wait(timeout: number): void {
    const mayWait = timeout > 0 && this.#engine.waitsInPoll;
    if (mayWait) noteWait(this.#activity, true);
    this.#turns.wait(timeout);
    if (this.#turns.hasWork) noteWork(this.#activity);
    if (mayWait) noteWait(this.#activity, false);
  }

  /** How often reading from the sockets or the TUN has failed. */
  get #readErrors(): number {
    const { errors } = this.#engine;
    return errors[ERROR_UDP_RECEIVE]! + errors[ERROR_TUN_READ]!;
  }

  /** Takes one command, so that many commands do not delay packets. */
  #takeCommand(): void {
    const received = receiveMessageOnPort(this.#port) as { message: Command } | undefined;
    this.#mayHaveCommands = received !== undefined;
    if (received !== undefined) this.#obey(received.message);
  }

  #obey(command: Command): void {
    if (command.type !== 'sample') noteWork(this.#activity);
    switch (command.type) {
      case 'apply':
        this.#pipeline.apply(command.change, clock.now(), clock.wall());
        wipeKeys(command.change);
        return this.#report({ type: 'applied', id: command.id });
      case 'sample':
        return this.#report({
          type: 'sample',
          id: command.id,
          sample: this.#pipeline.samplePart(),
        });
      case 'capture':
        this.#pipeline.capture(command.number, command.order, command.ring);
        return this.#report({ type: 'capturing', id: command.id });
      case 'endCapture':
        return this.#pipeline.endCapture(command.number);
      case 'hostAddresses':
        return this.#pipeline.setHostAddresses(command.addresses);
      case 'doors':
        return this.#pipeline.setDoors(command.ports);
      case 'taken':
        return this.#arriving.taken(command.count);
      case 'release':
        return this.#pipeline.release(command.heardElsewhere, clock.now(), clock.wall());
      case 'begin':
        this.#hasBegun = true;
        return;
      case 'stop':
        this.#stopping = true;
        return;
      case 'ask': {
        const { id, name, asked } = command;
        return this.#report({
          type: 'answer',
          id,
          answer: answer(this.#pipeline, name, asked as never, clock.now(), clock.wall()),
        });
      }
    }
  }

  #reportError(error: unknown, now: number): void {
    if (now - this.#errorLoggedAt < ERROR_LOG_MS) return;
    this.#errorLoggedAt = now;
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#report({ type: 'error', message });
  }

  #report(report: Report): void {
    this.#port.postMessage(report);
  }
}

/** Wipes the preshared keys in a message; the peers have their own copies. */
function wipeKeys({ added, updated }: Change): void {
  for (const { presharedKey } of added) presharedKey.fill(0);
  for (const { presharedKey } of updated) presharedKey.fill(0);
}

/** What a worker has opened. */
interface Opened {
  readonly engine: WorkerEngine;
  readonly egress: SocketEgress | null;
  readonly listenPort: number;
}

async function openEngine(options: WorkerOptions, chosen: Primitives | null): Promise<Opened> {
  addon?.useShortSlices();
  const endpoints = createEndpointTable(endpointLayout.total);
  const { hostSockets, ipv4, ipv6 } = options;
  const batches = createBatches();
  const wanted =
    hostSockets === null
      ? null
      : { wanted: hostSockets, batches, ipv4, ipv6, random: systemRandom, devices: MAX_PEERS };
  if (options.engine === 'typescript' || addon === null) {
    const sockets = wanted === null ? null : openTwinEgress(wanted);
    const engine = await TwinEngine.open(choosePrimitives(null), endpoints, {
      port: options.listenPort,
      tun: options.tun,
      mtu: options.mtu,
      sockets,
    });
    return { engine, egress: sockets?.substitute ?? null, listenPort: engine.port };
  }
  const primitives = chosen ?? choosePrimitives(addon);
  const egress = wanted === null ? null : openEgress(addon, wanted);
  const engine = new NativeWorkerEngine(
    addon,
    primitives,
    endpoints,
    endpointLayout.total,
    { ...options, batches, substitute: egress, sockets: egress?.sockets.descriptor ?? -1 },
    options.team,
    endpointLayout.handed,
  );
  return { engine, egress, listenPort: options.listenPort };
}

/**
 * Compiles the packet path; where that fails, V8 does it as packets come. Returns the primitives
 * that it chose, because comparing them takes 20 ms; null where it chose none.
 */
function warmUpHere(hasSockets: boolean): Primitives | null {
  if (addon === null) return null;
  let primitives: Primitives | null = null;
  try {
    primitives = choosePrimitives(addon);
    warmUp({
      addon,
      Engine: NativeWorkerEngine,
      primitives,
      random: systemRandom,
      clock,
      isAwaited: () => takeOptions() !== null,
      hasSockets,
    });
  } catch {
    // For example where loopback is down. A difference of the primitives is found again, and stops
    // the start, when the worker has its options.
  }
  // Most of what the warm-up made is garbage now. Only this collection makes the young generation
  // small again.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  addon.releaseMemory();
  return primitives;
}

/** Whether packets leave by sockets; those of listeners alone need no warm-up. */
function hasSockets({ hostSockets }: Pick<WorkerOptions, 'hostSockets'>): boolean {
  return hostSockets !== null && hostSockets.isForDoors !== true;
}

/** `chosen`: the primitives of the warm-up, where it ran. */
async function main(options: WorkerOptions, chosen: Primitives | null): Promise<void> {
  const { port } = options;
  // Whether there is a TUN may show only when the gateway opens it.
  if (chosen !== null && hasSockets(options) && !start!.hasSockets) warmUpHere(true);
  try {
    const opened = await openEngine(options, chosen);
    const { engine, listenPort } = opened;
    parentPort?.on('message', () => engine.wake());
    port.postMessage({ type: 'ready', listenPort } satisfies Report);
    await new Loop({ ...options, listenPort }, opened).run();
  } catch (error) {
    port.postMessage({ type: 'failed', message: messageOf(error) } satisfies Report);
  } finally {
    port.close();
    parentPort?.close();
  }
}

/** What a worker is given when its thread starts; its options come later. */
export interface WorkerStart {
  /** Whether it compiles the packet path before it takes its options. */
  readonly warmsUp: boolean;
  /** Whether packets leave by sockets, where that is known already. */
  readonly hasSockets: boolean;
}

const start = workerData as WorkerStart | null;

let options: WorkerOptions | null = null;

/** The options, null before they come. */
function takeOptions(): WorkerOptions | null {
  if (options === null && parentPort !== null)
    options = receiveMessageOnPort(parentPort)?.message ?? null;
  return options;
}

const chosen = start?.warmsUp === true ? warmUpHere(start.hasSockets) : null;
const early = takeOptions();
if (early === null)
  parentPort?.once('message', (message: WorkerOptions) => void main(message, chosen));
else void main(early, chosen);
