// A timer that is set again after every packet, mostly to a later time. It lets the timer of Node
// run and looks at the time when that fires, because to stop and start one costs more than the rest
// of a packet's way through a queue.

/** The longest wait that timers of Node take. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/** Calls back at a time that may move. */
export class LateTimer {
  readonly #call: () => void;
  #timer: NodeJS.Timeout | null = null;
  /** When the timer of Node fires, and when the call is wanted, ms. */
  #firesAt = Number.POSITIVE_INFINITY;
  #wantedAt = Number.POSITIVE_INFINITY;

  constructor(call: () => void) {
    this.#call = call;
  }

  /** Calls back once after so many ms, one at least, in place of what was set; infinite: never. */
  set(wait: number): void {
    this.#wantedAt = performance.now() + Math.max(1, wait);
    if (this.#wantedAt < this.#firesAt) this.#start();
  }

  #start(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    // Its time may have passed meanwhile, and Node warns of a negative wait.
    const left = Math.max(1, Math.ceil(this.#wantedAt - performance.now()));
    const wait = Math.min(WAIT_MS_MAX, left);
    this.#firesAt = performance.now() + wait;
    // It does not keep a test process alive.
    this.#timer = setTimeout(() => this.#fire(), wait).unref();
  }

  #fire(): void {
    this.#timer = null;
    this.#firesAt = Number.POSITIVE_INFINITY;
    if (this.#wantedAt === Number.POSITIVE_INFINITY) return;
    if (this.#wantedAt > performance.now() + 1) return this.#start();
    this.#wantedAt = Number.POSITIVE_INFINITY;
    this.#call();
  }

  /** Calls back no more. */
  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#firesAt = Number.POSITIVE_INFINITY;
    this.#wantedAt = Number.POSITIVE_INFINITY;
  }
}
