// The turns of a worker. Each one waits, moves what came through the pipeline, fires timers that
// are due, and sends what is queued. The warm-up takes the same turns, so V8 has compiled them too.

import type { Batch, TunSubstitute } from '../contract.ts';
import { EVENT_HANDED, EVENT_SOCKETS, EVENT_TUN, EVENT_UDP } from '../native/index.ts';
import type { Pipeline } from './pipeline.ts';
import { reasons } from '../reasons.ts';

/** The part of an engine that waits, fills batches and sends; the pipeline uses the rest. */
export interface TurnEngine {
  readonly datagrams: Batch;
  readonly packets: Batch;
  /** What is in place of a TUN, or beside it; null: nothing. */
  readonly substitute: Pick<TunSubstitute, 'begin' | 'deadline'> | null;
  /** Waits at most so many ms; returns EVENT_ bits. */
  poll(timeoutMs: number): number;
  /** Fills `datagrams` from the sockets. */
  receive(): void;
  /** Fills `packets` from the TUN. */
  readTun(): void;
  /** Fills `packets` from what is in place of a TUN, or beside it. */
  readSockets(): void;
  /** Sends what is queued. */
  flush(): void;
}

/** The part of the pipeline that a turn calls. */
type TurnPipeline = Pick<
  Pipeline,
  'nextTimeout' | 'inbound' | 'outbound' | 'bySockets' | 'handed' | 'expire' | 'drop'
>;

/** Monotonic time and the time of day, both in ms. */
interface TurnClock {
  now(): number;
  wall(): number;
}

/** The longest wait for a deadline: after it, wall time and deadlines are read again. */
const WAIT_MS_MAX = 1_000;
/** The longest wait without a deadline; a process that is about to end may wait for it. */
const IDLE_MS_MAX = 2_000;
/**
 * Deadlines within this time share one wake-up. Deadlines are seconds away, so the difference does
 * not matter.
 */
const TIMER_GRAIN_MS = 64;

export class Turns {
  readonly #engine: TurnEngine;
  readonly #pipeline: TurnPipeline;
  readonly #clock: TurnClock;
  /** Takes an exception of the packet path, which loses the packets of its turn. */
  readonly #failed: (error: unknown, now: number) => void;
  #now: number;
  #events = 0;
  #hasMoved = false;

  constructor(
    engine: TurnEngine,
    pipeline: TurnPipeline,
    clock: TurnClock,
    failed: (error: unknown, now: number) => void,
  ) {
    this.#engine = engine;
    this.#pipeline = pipeline;
    this.#clock = clock;
    this.#failed = failed;
    this.#now = clock.now();
  }

  /** Monotonic ms. Each turn reads the clock once, because it may be for one packet. */
  get now(): number {
    return this.#now;
  }

  /** What the last wait ended with, as EVENT_ bits. */
  get events(): number {
    return this.#events;
  }

  /** Whether any packet moved in the last turn. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /** Whether the next `move` has something to do, which a sample may show. */
  get hasWork(): boolean {
    if ((this.#events & (EVENT_UDP | EVENT_TUN | EVENT_HANDED | EVENT_SOCKETS)) !== 0) return true;
    if (this.#substituteAt <= this.#now) return true;
    return this.#pipeline.nextTimeout(this.#now) <= this.#now;
  }

  /** Reads the clock after something else than a turn took time. */
  readClock(): void {
    this.#now = this.#clock.now();
  }

  /** How long nothing but packets is to be done, in ms. */
  get freeMs(): number {
    const next = this.#pipeline.nextTimeout(this.#now);
    const soonest = this.#substituteAt - this.#now;
    if (next <= this.#now || soonest <= 0) return 0;
    if (next === Number.POSITIVE_INFINITY) return Math.min(IDLE_MS_MAX, soonest);
    const grained = Math.ceil(next / TIMER_GRAIN_MS) * TIMER_GRAIN_MS - this.#now;
    return Math.min(WAIT_MS_MAX, grained, soonest);
  }

  /** When what is in place of a TUN has something to do; connections count milliseconds. */
  get #substituteAt(): number {
    return this.#engine.substitute?.deadline ?? Number.POSITIVE_INFINITY;
  }

  /** Waits for something to do, at most so many ms. */
  wait(longestMs: number): void {
    this.#events = this.#engine.poll(longestMs);
    this.readClock();
  }

  /** Moves what has come, as these EVENT_ bits say, and sends what is queued. */
  move(events: number): void {
    const engine = this.#engine;
    this.#hasMoved = false;
    try {
      this.#run(events, this.#now, this.#clock.wall());
    } catch (error) {
      this.#pipeline.drop(reasons.internal_error);
      this.#failed(error, this.#now);
    }
    engine.datagrams.count = 0;
    engine.packets.count = 0;
    engine.flush();
  }

  /** Datagrams in, packets out, timers. */
  #run(events: number, now: number, wallMs: number): void {
    const engine = this.#engine;
    const { substitute } = engine;
    if (substitute !== null) substitute.begin(now);
    if ((events & EVENT_UDP) !== 0) {
      engine.receive();
      this.#hasMoved = engine.datagrams.count > 0;
      this.#pipeline.inbound(now, wallMs);
    }
    if ((events & EVENT_TUN) !== 0) {
      engine.readTun();
      this.#hasMoved ||= engine.packets.count > 0;
      this.#pipeline.outbound(now, wallMs);
    }
    const isDue = substitute !== null && substitute.deadline <= now;
    if ((events & EVENT_SOCKETS) !== 0 || isDue) {
      engine.readSockets();
      this.#hasMoved ||= engine.packets.count > 0;
      this.#pipeline.bySockets(now, wallMs);
    }
    if ((events & EVENT_HANDED) !== 0) {
      this.#hasMoved = true;
      this.#pipeline.handed(now, wallMs);
    }
    this.#pipeline.expire(now, wallMs);
  }
}
