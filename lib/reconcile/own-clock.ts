// What the gateway does by its own clock, whether or not the database answers. Devices and sessions
// whose end it knows end at that time, and rules begin and end at theirs. Where the database cannot
// be read for longer than the administrator allows, no packet passes until it can be read again: by
// then anything may have been revoked elsewhere.

import type { Amendment, Gateway } from '../../dataplane/index.ts';
import { BEAT_MS, eachBeat } from '../kit/process/beat.ts';
import type { Log } from '../kit/process/log.ts';
import type { Translation } from './translation.ts';

/** How late it acts, so that a turn of the reconciler, which does the same, comes first. */
const LATE_MS = 100;
/** When it tries again what the data plane did not take. */
const RETRY_MS = 250;

/** What the clock is made of. */
export interface OwnClockOptions {
  readonly translation: Translation;
  readonly gateway: Pick<Gateway, 'amend'> | Promise<Pick<Gateway, 'amend'>>;
  /** How long packets pass while the database cannot be read; may be infinite. */
  readonly awayLimitMs: number;
  readonly log: Log;
  /** Unix time in ms. */
  readonly wallMs: () => number;
  /** Hears what of it the data plane acknowledged. */
  readonly onAcknowledged: (amendment: Amendment) => void;
}

/** The clock of one gateway. */
export class OwnClock {
  readonly #options: OwnClockOptions;
  #stopBeat: (() => void) | null = null;
  /** Runs where something is due before the next beat. */
  #timer: NodeJS.Timeout | undefined;
  /** When the database was read last, monotonic ms. */
  #readAt = performance.now();
  #isClosed = false;
  /** Resolves when nothing is on its way. */
  #idle: Promise<void> = Promise.resolve();
  #isBusy = false;

  constructor(options: OwnClockOptions) {
    this.#options = options;
  }

  start(): void {
    this.#readAt = performance.now();
    // A clock that is set is noticed by the beat.
    this.#stopBeat = eachBeat(() => this.#tick());
    this.#aim();
  }

  stop(): void {
    this.#stopBeat?.();
    this.#stopBeat = null;
    clearTimeout(this.#timer);
  }

  /** True while no packet passes. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when nothing is on its way to the data plane; never rejects. */
  get idle(): Promise<void> {
    return this.#idle;
  }

  /** Notes that the data plane obeys what the database says, and lets packets pass again. */
  async noteRead(): Promise<void> {
    this.#readAt = performance.now();
    this.#aim();
    if (!this.#isClosed) return;
    await this.#idle;
    await this.#setClosed(false);
    this.#options.log.info({}, 'the database can be read again; packets pass');
  }

  #tick(): void {
    // A data plane that takes nothing passes nothing.
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#idle = this.#act()
      .then(
        () => this.#aim(),
        () => this.#aim(RETRY_MS),
      )
      .finally(() => {
        this.#isBusy = false;
      });
  }

  /** Sets the timer for what is due before the next beat; `waitMs`: for what is due by then. */
  #aim(waitMs = this.#untilDueMs()): void {
    clearTimeout(this.#timer);
    if (this.#stopBeat === null || waitMs >= BEAT_MS) return;
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, waitMs));
  }

  #untilDueMs(): number {
    const { awayLimitMs, translation, wallMs } = this.#options;
    const untilChange = translation.nextChangeAtMs - wallMs();
    const untilClosed = this.#isClosed
      ? Number.POSITIVE_INFINITY
      : this.#readAt + awayLimitMs - performance.now();
    return LATE_MS + Math.min(untilChange, untilClosed);
  }

  async #act(): Promise<void> {
    await this.#putDueInForce();
    const { awayLimitMs, log } = this.#options;
    if (this.#isClosed || performance.now() - this.#readAt < awayLimitMs) return;
    await this.#setClosed(true);
    const seconds = awayLimitMs / 1_000;
    log.error(
      {},
      `the database could not be read for ${seconds} s (DATABASE_AWAY_LIMIT); no device passes until it can`,
    );
  }

  async #putDueInForce(): Promise<void> {
    const { translation, gateway, wallMs, onAcknowledged } = this.#options;
    translation.passTo(wallMs());
    const due = translation.handOverDue();
    if (due === null) return;
    try {
      await (await gateway).amend(due);
    } catch (error) {
      translation.takeBackDue(due);
      throw error;
    }
    onAcknowledged(due);
  }

  async #setClosed(isClosed: boolean): Promise<void> {
    const { gateway } = this.#options;
    await (await gateway).amend({ peers: new Map(), rules: new Map(), isClosed });
    this.#isClosed = isClosed;
  }
}
