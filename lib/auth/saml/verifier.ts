// The main thread's side of verifying SAML: one worker thread for the whole process gets one task
// at a time, and ends where a task takes longer than its deadline. So no XML holds up the API,
// whatever it costs a parser. The thread starts at the first task.

import { Worker } from 'node:worker_threads';
import { ProviderRefusal } from '../identity/refusal.ts';
import { SamlMetadataError } from '../saml-metadata.ts';
import type { Verifications } from './verifications.ts';
import type { Task, ThreadReport } from './verifier-thread.ts';

/** Beside this file, in whatever language it is: packages hold JavaScript. */
const THREAD = new URL(import.meta.url.replace(/verifier(?=\.\w+$)/, 'verifier-thread'));

/** What verifying may cost. */
export interface VerifierLimits {
  /** For one task; messages take some 20 ms, the worst under all bounds some 200 ms. */
  readonly taskMs: number;
  /** Until the thread has loaded node-saml. */
  readonly startMs: number;
  /** Tasks that wait; further ones are refused. */
  readonly waitingMax: number;
}

const LIMITS: VerifierLimits = { taskMs: 3_000, startMs: 30_000, waitingMax: 32 };
const HEAP_MEGABYTES_MAX = 256;

interface Job {
  readonly task: Task;
  readonly resolve: (report: ThreadReport) => void;
  readonly reject: (error: Error) => void;
}

type Name = keyof Verifications;
type Result<N extends Name> = Awaited<ReturnType<Verifications[N]>>;

/** A thread that verifies, with the tasks that wait for it. */
export class Verifier {
  readonly #limits: VerifierLimits;
  readonly #waiting: Job[] = [];
  #worker: Worker | null = null;
  #isReady = false;
  #current: Job | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(limits: VerifierLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Verifies in the thread; rejects with what the verification throws, and with ProviderRefusal
   * where it takes too long (`answer_invalid`) or too many wait (`too_busy`).
   */
  async verify<N extends Name>(name: N, ...args: Parameters<Verifications[N]>): Promise<Result<N>> {
    if (this.#waiting.length >= this.#limits.waitingMax) throw new ProviderRefusal('too_busy');
    const report = await new Promise<ThreadReport>((resolve, reject) => {
      this.#waiting.push({ task: { name, args }, resolve, reject });
      this.#next();
    });
    if (report.kind === 'done') return report.result as Result<N>;
    if (report.kind === 'refused') throw new ProviderRefusal(report.reason, report.detail);
    if (report.kind === 'metadata') throw new SamlMetadataError(report.message);
    throw new Error(report.kind === 'failed' ? report.message : 'no verdict');
  }

  /** Ends the thread, and refuses what it was verifying; the next task starts another one. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    if (worker !== null) this.#onEnd(worker, 'the thread that verifies was stopped');
    await worker?.terminate();
  }

  #next(): void {
    if (this.#current !== null) return;
    if (this.#waiting.length === 0) return;
    const worker = (this.#worker ??= this.#start());
    if (!this.#isReady) return;
    this.#current = this.#waiting.shift() ?? null;
    if (this.#current === null) return;
    this.#setTimer(worker, this.#limits.taskMs, 'it took too long to verify');
    worker.postMessage(this.#current.task);
  }

  #start(): Worker {
    const worker = new Worker(THREAD, {
      // Flags of tests and debuggers are not for this thread.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES_MAX },
    });
    this.#isReady = false;
    worker.on('message', (report: ThreadReport) => this.#onReport(worker, report));
    worker.on('error', () => this.#onEnd(worker, 'it broke the thread that verifies'));
    worker.on('exit', () => this.#onEnd(worker, 'the thread that verifies ended'));
    // The process ends where nothing but this thread is left; a task has a timer that counts.
    // Listening to the thread counts too, so this comes last.
    worker.unref();
    this.#setTimer(worker, this.#limits.startMs, 'the thread that verifies did not start');
    return worker;
  }

  #onReport(worker: Worker, report: ThreadReport): void {
    if (worker !== this.#worker) return;
    this.#clearTimer();
    if (report.kind === 'ready') this.#isReady = true;
    else {
      const job = this.#current;
      this.#current = null;
      job?.resolve(report);
    }
    this.#next();
  }

  /** What was being verified is refused; what waits gets another thread. */
  #onEnd(worker: Worker, detail: string): void {
    if (worker !== this.#worker) return;
    this.#clearTimer();
    this.#worker = null;
    // A thread that cannot even start would be started for ever.
    const job = this.#isReady ? this.#current : (this.#waiting.shift() ?? null);
    this.#current = null;
    this.#isReady = false;
    job?.reject(new ProviderRefusal('answer_invalid', detail));
    void worker.terminate();
    this.#next();
  }

  #setTimer(worker: Worker, ms: number, detail: string): void {
    this.#clearTimer();
    this.#timer = setTimeout(() => this.#onEnd(worker, detail), ms);
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** The verifier of this process. */
export const verifier = new Verifier();
