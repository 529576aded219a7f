// What the gateway does by its own clock, whether or not the database answers. Devices and sessions
// whose end it knows end at that time, and rules begin and end at theirs. Where the database cannot
// be read for longer than the administrator allows, no packet passes until it can be read again: by
// then anything may have been revoked elsewhere.

import type { Amendment, Gateway } from '../../dataplane/index.ts';
import type { Log } from '../process/log.ts';
import type { Translation } from './translation.ts';

/** How late an end or a start may be. */
const TICK_MS = 250;

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
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
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
      // The next tick tries again.
      .catch(() => undefined)
      .finally(() => {
        this.#isBusy = false;
      });
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
