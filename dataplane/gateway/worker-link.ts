// The life of one worker thread. A link starts the worker, gives it options, sends commands and
// takes reports. It starts another worker when this one died, ends a worker that hangs, and stops
// it. All that a worker gets comes from the owner of the link: a link knows neither peers nor
// rules.

import process from 'node:process';
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Worker,
} from 'node:worker_threads';
import type { DoorConnection } from '../contract.ts';
import { messageOf, portError } from '../host/descriptors.ts';
import { startWorker } from './start-worker.ts';
import type { Command, Report, WorkerOptions } from '../worker/worker.ts';

/** What a link asks its owner for. */
export interface LinkOwner {
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
  /** Wakes a worker from `poll`; false where it waits in its event loop. */
  wake(link: WorkerLink): boolean;
  /** The options of a worker; asked for at the start of each worker. */
  workerOptions(link: WorkerLink): Omit<WorkerOptions, 'port'>;
  /**
   * Sends everything in force to a worker that is ready, listens on that port and has been sent
   * nothing yet. Resolves when the worker obeys it; only then the worker takes packets.
   */
  initialize(link: WorkerLink, listenPort: number): Promise<void>;
  /** Reports that the worker is gone; another one will be started. */
  lost(link: WorkerLink): void;
  /** Reports that the worker has been gone for so long that others must take its packets. */
  away(link: WorkerLink): void;
  /** Repairs what a new worker needs, before it is started; may throw. */
  repair(link: WorkerLink): void;
  /** Reports that the interface of the TUN has vanished. */
  tunGone(): void;
  /** Reports a connection of a device to the gateway's own address. */
  readonly arrived: (connection: DoorConnection) => void;
  /** Reports that peers came or moved; not again before the next sample. */
  readonly arrivals: () => void;
}

const RESTART_MS = 100;
/** A worker that is back within this time finds its packets in its sockets and its TUN queue. */
const AWAY_MS = 1_000;
const STOP_MS = 800;

/** After so long without an answer the worker no longer counts as healthy. */
const SILENT_MS = 3_000;
/** After so long without an answer the worker is ended, and another one is started. */
const HUNG_MS = 10_000;

/** A command that waits for its answer. */
interface Pending {
  /** Monotonic ms. */
  readonly askedAt: number;
  readonly resolve: (report: Report | null) => void;
  readonly reject: (error: Error) => void;
}

/** Links of this process whose worker takes commands. */
const readyLinks = new Set<WorkerLink>();

/** Node waits for its threads, and a thread in `poll` notices an end only when it wakes. */
function stopAll(): void {
  for (const link of readyLinks) link.send({ type: 'stop' });
}

/** Runs one worker after the other, never two at once. */
export class WorkerLink {
  /** The number of its workers in their gateway, from 0 on. */
  readonly number: number;
  readonly #owner: LinkOwner;
  #worker: Worker | null = null;
  #port: MessagePort | null = null;
  /** Whether there is a worker that takes commands. */
  #isReady = false;
  /** Whether the worker obeys everything in force. */
  #isInitialized = false;
  #isClosing = false;
  /** The last logged reason why no new worker could be started. */
  #restartError = '';
  readonly #pending = new Map<number, Pending>();
  /** Commands of workers that died; they are answered when the next worker is initialized. */
  #orphaned: Pending[] = [];
  #lastId = 0;
  /** Connections of devices that were taken, of which the worker does not know yet. */
  #taken = 0;

  constructor(owner: LinkOwner, number: number) {
    this.#owner = owner;
    this.number = number;
  }

  /** Whether there is a worker that takes commands. */
  get isReady(): boolean {
    return this.#isReady;
  }

  #setReady(isReady: boolean): void {
    this.#isReady = isReady;
    if (readyLinks.size === 0 && isReady) process.on('exit', stopAll);
    if (isReady) readyLinks.add(this);
    else readyLinks.delete(this);
    if (readyLinks.size === 0) process.off('exit', stopAll);
  }

  /** Whether the worker obeys everything in force, and answers. */
  get isWell(): boolean {
    return this.#isReady && this.#isInitialized && this.#silentMs() < SILENT_MS;
  }

  get #name(): string {
    return `worker ${this.number} of the data plane`;
  }

  // ---- start ---------------------------------------------------------------------------------

  /** Gives a worker its options and waits until it is ready. */
  async start(worker: Worker = startWorker()): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    const options: WorkerOptions = { ...this.#owner.workerOptions(this), port: port2 };
    worker.ref();
    worker.postMessage(options, [port2]);
    this.#worker = worker;
    this.#port = port1;
    await new Promise<void>((resolve, reject) => {
      const hear = (report: Report): void => {
        if (report.type === 'ready') {
          this.#setReady(true);
          void this.#initialize(report.listenPort);
          resolve();
        } else if (report.type === 'failed' && !this.#isReady) {
          reject(startError(report.message, options.listenPort));
        } else {
          this.#take(report);
        }
      };
      port1.on('message', hear);
      worker.on('error', (error) => {
        reject(error);
        this.#owner.log('error', `${this.#name} failed: ${error.stack ?? error.message}`);
      });
      worker.on('exit', () => {
        readLastReports(port1, hear);
        reject(new Error('the data plane ended before it was ready'));
        this.#onExit(worker);
      });
    });
  }

  async #initialize(listenPort: number): Promise<void> {
    const orphaned = this.#orphaned;
    this.#orphaned = [];
    try {
      await this.#owner.initialize(this, listenPort);
      this.send({ type: 'begin' });
      this.#isInitialized = true;
      for (const pending of orphaned) pending.resolve(null);
    } catch (error) {
      for (const pending of orphaned) pending.reject(error as Error);
    }
  }

  // ---- commands and reports ------------------------------------------------------------------

  /** Sends a command without waiting for an answer. */
  send(command: Command): void {
    this.#port?.postMessage(command);
    if (!this.#owner.wake(this)) this.#worker?.postMessage(null);
  }

  /**
   * Sends a command and waits for its answer. The answer is null when there was no worker, or it
   * died first, and a later worker has been initialized since.
   */
  request(command: (id: number) => Command): Promise<Report | null> {
    return new Promise((resolve, reject) => {
      const pending = { askedAt: performance.now(), resolve, reject };
      if (!this.#isReady) {
        this.#orphaned.push(pending);
        return;
      }
      const id = ++this.#lastId;
      this.#pending.set(id, pending);
      this.send(command(id));
    });
  }

  #take(report: Report): void {
    if ('id' in report) {
      this.#pending.get(report.id)?.resolve(report);
      this.#pending.delete(report.id);
      return;
    }
    switch (report.type) {
      case 'error':
        return this.#owner.log('error', `a packet made ${this.#name} fail: ${report.message}`);
      case 'failed':
        return this.#owner.log('error', `${this.#name} failed: ${report.message}`);
      case 'tunGone':
        return this.#owner.tunGone();
      case 'arrived':
        // Counted first: an error of who takes it must not leave it on the way for ever.
        this.#sayTaken();
        return this.#owner.arrived(report.connection);
      case 'arrivals':
        return this.#owner.arrivals();
      case 'ready':
        return;
    }
  }

  /** Says how many connections were taken: once for those that came together. */
  #sayTaken(): void {
    this.#taken += 1;
    if (this.#taken > 1) return;
    setImmediate(() => {
      this.send({ type: 'taken', count: this.#taken });
      this.#taken = 0;
    });
  }

  // ---- restart -------------------------------------------------------------------------------

  /** Stops the worker after its current turn; another one is started. */
  restart(): void {
    this.send({ type: 'stop' });
  }

  /** Ends a worker that does not answer; another one is started. */
  endIfHung(): void {
    if (this.#silentMs() < HUNG_MS) return;
    this.#owner.log('error', `${this.#name} has not answered for ${HUNG_MS / 1_000} s`);
    void this.#worker?.terminate();
  }

  /** How long the oldest command has waited for its answer. */
  #silentMs(): number {
    const [oldest] = this.#pending.values();
    return oldest === undefined ? 0 : performance.now() - oldest.askedAt;
  }

  #onExit(worker: Worker): void {
    if (worker !== this.#worker) return;
    const wasReady = this.#isReady;
    this.#setReady(false);
    this.#isInitialized = false;
    if (this.#isClosing || !wasReady) return;
    this.#owner.lost(this);
    this.#owner.log('warn', `${this.#name} ended and is started again`);
    this.#orphaned.push(...this.#pending.values());
    this.#pending.clear();
    setTimeout(() => void this.#startAgain(), RESTART_MS).unref();
    setTimeout(() => {
      if (!this.#isInitialized && !this.#isClosing) this.#owner.away(this);
    }, AWAY_MS).unref();
  }

  async #startAgain(): Promise<void> {
    if (this.#isClosing) return;
    try {
      this.#owner.repair(this);
      await this.start();
      this.#restartError = '';
      this.#owner.log('info', `${this.#name} serves again`);
    } catch (error) {
      // It is tried every second; the same error is logged once.
      const message = messageOf(error);
      if (message !== this.#restartError)
        this.#owner.log('error', `${this.#name} could not be started again: ${message}`);
      this.#restartError = message;
      setTimeout(() => void this.#startAgain(), 10 * RESTART_MS).unref();
    }
  }

  // ---- stop ----------------------------------------------------------------------------------

  /** Stops the worker and starts no other; waiting commands are rejected with `error`. */
  async close(error: Error): Promise<void> {
    this.#isClosing = true;
    for (const pending of [...this.#pending.values(), ...this.#orphaned]) pending.reject(error);
    const worker = this.#worker;
    if (worker === null) return;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    if (!this.#isReady) {
      await worker.terminate();
      return;
    }
    this.send({ type: 'stop' });
    const late = setTimeout(() => void worker.terminate(), STOP_MS);
    await exited;
    clearTimeout(late);
  }
}

/**
 * Reads what the worker reported at last, which says why it ended. The exit event can come first.
 */
function readLastReports(port: MessagePort, hear: (report: Report) => void): void {
  for (;;) {
    const received = receiveMessageOnPort(port) as { message: Report } | undefined;
    if (received === undefined) break;
    hear(received.message);
  }
  port.close();
}

/**
 * The error for a worker that could not start. Only the twin opens its sockets in the worker;
 * another error keeps its message.
 */
function startError(message: string, port: number): Error {
  return /\bE(ADDRINUSE|ACCES)\b|\bbind\b/.test(message)
    ? portError(new Error(message), port)
    : new Error(`the data plane cannot start: ${message}`);
}
