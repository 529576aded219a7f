// One worker thread's life: it is started, given what it needs, sent commands and heard, started
// again when it has died, ended when it hangs, and stopped. What it is given comes from its owner:
// a link knows neither peers nor rules. Several links can be used side by side.

import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import { messageOf, portFault } from './descriptors.ts';
import type { Command, Report, WorkerOptions } from './worker.ts';

/** What a link asks of whoever owns it. */
export interface LinkOwner {
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
  /** Wakes the worker out of a native poll; null: it waits in its event loop. */
  readonly wake: (() => void) | null;
  /** What a worker is given at its start; asked for each worker. */
  workerOptions(): Omit<WorkerOptions, 'port'>;
  /**
   * A worker is ready, listens on that port, and has been sent nothing yet. Sends it all that is in
   * force; resolves when it obeys that.
   */
  initialize(link: WorkerLink, listenPort: number): Promise<void>;
  /** Makes again, before another worker is started, what has vanished; may throw. */
  repair(): void;
  /** The interface of the TUN has vanished. */
  tunGone(): void;
}

/** Starts a worker, which waits for its options and until then holds up no exit. */
export function startWorker(): Worker {
  const worker = new Worker(WORKER, {
    resourceLimits: { maxYoungGenerationSizeMb: WORKER_YOUNG_MB },
  });
  worker.unref();
  return worker;
}

/** Beside this file, TypeScript here and JavaScript in the package that others install. */
const WORKER = new URL(import.meta.url.replace(/worker-link(?=\.\w+$)/, 'worker'));
const RESTART_MS = 100;
/** Packets allocate nothing in the worker, handshakes little: what is young there stays small. */
const WORKER_YOUNG_MB = 12;
const STOP_MS = 800;

/** A worker that answers nothing for so long is not well, */
const SILENT_MS = 3_000;
/** and after so long it is ended, and another one started. */
const HUNG_MS = 10_000;

/** A command that waits for its answer. */
interface Pending {
  /** Monotonic ms. */
  readonly askedAt: number;
  readonly resolve: (report: Report | null) => void;
  readonly reject: (error: Error) => void;
}

/** One worker after the other, never two at once. */
export class WorkerLink {
  readonly #owner: LinkOwner;
  #worker: Worker | null = null;
  #port: MessagePort | null = null;
  /** Whether there is a worker that hears, and whether it obeys all that is in force. */
  #isReady = false;
  #isInitialized = false;
  #isClosing = false;
  /** Why there is no worker again yet, as it was logged last. */
  #restartFault = '';
  readonly #pending = new Map<number, Pending>();
  /** Commands that no worker has answered: they are answered when the next one is initialized. */
  #orphaned: Pending[] = [];
  #lastId = 0;

  constructor(owner: LinkOwner) {
    this.#owner = owner;
  }

  /** Whether there is a worker that takes commands. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether the worker obeys all that is in force, and answers. */
  get isWell(): boolean {
    return this.#isReady && this.#isInitialized && this.#silentMs() < SILENT_MS;
  }

  // ---- start ---------------------------------------------------------------------------------

  /** Gives a worker what it needs, and waits until it is ready. */
  async start(worker: Worker = startWorker()): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    const options: WorkerOptions = { ...this.#owner.workerOptions(), port: port2 };
    worker.ref();
    worker.postMessage(options, [port2]);
    this.#worker = worker;
    this.#port = port1;
    await new Promise<void>((resolve, reject) => {
      const hear = (report: Report): void => {
        if (report.type === 'ready') {
          this.#isReady = true;
          void this.#initialize(report.listenPort);
          resolve();
        } else if (report.type === 'failed' && !this.#isReady) {
          reject(startFault(report.message, options.listenPort));
        } else {
          this.#take(report);
        }
      };
      port1.on('message', hear);
      worker.on('error', (error) => {
        reject(error);
        this.#owner.log('error', `the data plane failed: ${error.stack ?? error.message}`);
      });
      worker.on('exit', () => {
        hearLastWords(port1, hear);
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
      this.#isInitialized = true;
      for (const pending of orphaned) pending.resolve(null);
    } catch (error) {
      for (const pending of orphaned) pending.reject(error as Error);
    }
  }

  // ---- commands and reports ------------------------------------------------------------------

  /** Sends a command that nobody waits for. `transfer`: buffers that the worker takes over. */
  send(command: Command, transfer: readonly ArrayBuffer[] = []): void {
    this.#port?.postMessage(command, transfer);
    const { wake } = this.#owner;
    if (wake === null) this.#worker?.postMessage(null);
    else wake();
  }

  /**
   * Sends a command and waits for its answer. Null: there was no worker, or it died before it
   * answered, and another one has been initialized since.
   */
  request(
    command: (id: number) => Command,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Report | null> {
    return new Promise((resolve, reject) => {
      const pending = { askedAt: performance.now(), resolve, reject };
      if (!this.#isReady) {
        this.#orphaned.push(pending);
        return;
      }
      const id = ++this.#lastId;
      this.#pending.set(id, pending);
      this.send(command(id), transfer);
    });
  }

  #take(report: Report): void {
    switch (report.type) {
      case 'applied':
      case 'sample':
        this.#pending.get(report.id)?.resolve(report);
        this.#pending.delete(report.id);
        return;
      case 'fault':
        return this.#owner.log('error', `a packet made the data plane fail: ${report.message}`);
      case 'failed':
        return this.#owner.log('error', `the data plane failed: ${report.message}`);
      case 'tunGone':
        return this.#owner.tunGone();
      case 'ready':
        return;
    }
  }

  // ---- restart -------------------------------------------------------------------------------

  /** Ends the worker in order; another one is started. */
  restart(): void {
    this.send({ type: 'stop' });
  }

  /** Ends a worker that does not answer; another one is started. */
  endIfHung(): void {
    if (this.#silentMs() < HUNG_MS) return;
    this.#owner.log('error', `the data plane has not answered for ${HUNG_MS / 1_000} s`);
    void this.#worker?.terminate();
  }

  /** For how long the oldest command has not been answered. */
  #silentMs(): number {
    const [oldest] = this.#pending.values();
    return oldest === undefined ? 0 : performance.now() - oldest.askedAt;
  }

  #onExit(worker: Worker): void {
    if (worker !== this.#worker) return;
    const wasReady = this.#isReady;
    this.#isReady = false;
    this.#isInitialized = false;
    if (this.#isClosing || !wasReady) return;
    this.#owner.log('warn', 'the data plane ended and is started again');
    this.#orphaned.push(...this.#pending.values());
    this.#pending.clear();
    setTimeout(() => void this.#startAgain(), RESTART_MS).unref();
  }

  async #startAgain(): Promise<void> {
    if (this.#isClosing) return;
    try {
      this.#owner.repair();
      await this.start();
      this.#restartFault = '';
      this.#owner.log('info', 'the data plane serves again');
    } catch (error) {
      // Tried every second: the same fault is logged once.
      const fault = messageOf(error);
      if (fault !== this.#restartFault)
        this.#owner.log('error', `the data plane could not be started again: ${fault}`);
      this.#restartFault = fault;
      setTimeout(() => void this.#startAgain(), 10 * RESTART_MS).unref();
    }
  }

  // ---- stop ----------------------------------------------------------------------------------

  /** Stops the worker for good; `error` answers all commands that wait. */
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
