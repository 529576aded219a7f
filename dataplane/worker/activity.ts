// Shows the work of a worker without waking any thread: the worker notes in shared memory that it
// begins to work and that it waits. Without new work a sample has nothing new, so the main thread
// need not wake a worker at rest for one. A worker that hangs is never at rest: it does not wait.

/** How often it began to work. */
const WORK = 0;
/** 1 while it waits in the kernel for packets, commands and deadlines. */
const WAITS = 1;

/** The notes of the workers of one place, in shared memory. */
export type Activity = Int32Array<SharedArrayBuffer>;

export function createActivity(): Activity {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Notes that the worker begins to work; before it does, so that the next sample has all of it. */
export function noteWork(activity: Activity): void {
  Atomics.add(activity, WORK, 1);
}

/** Notes that the worker waits, or that it has waited. */
export function noteWait(activity: Activity, waits: boolean): void {
  Atomics.store(activity, WAITS, waits ? 1 : 0);
}

/** How much work all of them have begun; null while one of them works. */
export function workOf(rests: readonly Rest[]): number | null {
  return rests.every((rest) => rest.waits) ? rests.reduce((sum, { work }) => sum + work, 0) : null;
}

/** The notes of one place, as the main thread reads them. */
export class Rest {
  readonly activity: Activity = createActivity();
  /** The work that the last whole sample has; null: there is none of this worker. */
  #sampled: number | null = null;

  /** Whether the worker waits. */
  get waits(): boolean {
    return Atomics.load(this.activity, WAITS) === 1;
  }

  /** Whether the worker waits and has done nothing since its last whole sample. */
  get isAtRest(): boolean {
    return this.waits && this.work === this.#sampled;
  }

  /** How much work was begun; read it before a sample is asked for. */
  get work(): number {
    return Atomics.load(this.activity, WORK);
  }

  /** Notes that a whole sample was taken, which was asked for after so much work. */
  sampled(work: number): void {
    this.#sampled = work;
  }

  /** Forgets a worker that has ended; it may have ended while it waited. */
  forget(): void {
    this.#sampled = null;
    noteWait(this.activity, false);
  }
}
