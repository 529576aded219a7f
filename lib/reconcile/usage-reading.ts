// Reads how much users with a quota have carried: for all of them now and then, and at once for
// users whose sum was not read yet. docs/state.md#quotas.

import { type Database, monthOf, readQuotas, readQuotaUsage } from '../../models/index.ts';
import type { Log } from '../kit/process/log.ts';
import type { TranslateSettings } from './translate.ts';
import type { Translation } from './translation.ts';

/** How often the sums of users with a quota, over all gateways, are read. */
const USAGE_MS = 1_900;

/** What could not be read on a later schema, for the log. */
const NOT_STOPPED =
  'what users carried could not be read on the later schema; users who reach their quota are not stopped here until this gateway is upgraded';
const NOT_LOWERED =
  'quotas could not be read on the later schema; lower ones are not obeyed here until this gateway is upgraded';

/** What the readings need. */
interface UsageOptions {
  readonly database: Database;
  readonly log: Log;
  readonly settings: Pick<TranslateSettings, 'fixed'>;
}

/** What takes the sums. */
type Heard = Pick<Translation, 'hearUsage' | 'quotas'>;

/** Reads the sums for one translation. */
export class UsageReading {
  readonly #options: UsageOptions;
  readonly #translation: Heard;
  #readAtMs = 0;
  readonly #failing = new Set<string>();

  constructor(options: UsageOptions, heard: Heard) {
    this.#options = options;
    this.#translation = heard;
  }

  /** Reads what is due at `nowMs` (Unix time). */
  async read(nowMs: number): Promise<void> {
    const { quotas } = this.#translation;
    const isDue = this.#isDue(nowMs);
    const userIds = isDue ? quotas.limited : quotas.unread;
    if (isDue) this.#readAtMs = nowMs;
    if (userIds.length === 0) return;
    const month = monthOf(nowMs);
    const used = await readQuotaUsage(this.#options.database, month, userIds);
    this.#translation.hearUsage(month, userIds, used);
    this.#failing.delete(NOT_STOPPED);
  }

  /**
   * Reads on a later schema, whose step may have changed the tables; never rejects. Quotas are read
   * too, because lower ones are obeyed there.
   */
  async tryRead(nowMs: number): Promise<void> {
    if (this.#isDue(nowMs)) await this.#try(() => this.#readLower(), NOT_LOWERED);
    await this.#try(() => this.read(nowMs), NOT_STOPPED);
  }

  async #readLower(): Promise<void> {
    const { database, settings } = this.#options;
    const { own, byDefault } = await readQuotas(database);
    const { default_quota: fixed = byDefault } = settings.fixed;
    this.#translation.quotas.lower(own, fixed);
    this.#failing.delete(NOT_LOWERED);
  }

  async #try(read: () => Promise<void>, failure: string): Promise<void> {
    try {
      await read();
    } catch (error) {
      if (!this.#failing.has(failure)) this.#options.log.warn({ err: error }, failure);
      this.#failing.add(failure);
    }
  }

  #isDue(nowMs: number): boolean {
    return Math.abs(nowMs - this.#readAtMs) >= USAGE_MS;
  }
}
