// Reads how much users with a quota have carried: for all of them now and then, and at once for
// users whose sum was not read yet. docs/state.md#quotas.

import { type Database, monthOf, readQuotaUsage } from '../../models/index.ts';
import type { Log } from '../kit/process/log.ts';
import type { Translation } from './translation.ts';

/** How often the sums of users with a quota, over all gateways, are read. */
const USAGE_MS = 1_900;

/** What takes the sums. */
type Heard = Pick<Translation, 'hearUsage' | 'quotas'>;

/** Reads the sums for one translation. */
export class UsageReading {
  readonly #database: Database;
  readonly #translation: Heard;
  readonly #log: Log;
  #readAtMs = 0;
  #isFailing = false;

  constructor(database: Database, translation: Heard, log: Log) {
    this.#database = database;
    this.#translation = translation;
    this.#log = log;
  }

  /** Reads what is due at `nowMs` (Unix time). */
  async read(nowMs: number): Promise<void> {
    const { quotas } = this.#translation;
    const isDue = Math.abs(nowMs - this.#readAtMs) >= USAGE_MS;
    const userIds = isDue ? quotas.limited : quotas.unread;
    if (isDue) this.#readAtMs = nowMs;
    if (userIds.length === 0) return;
    const month = monthOf(nowMs);
    const used = await readQuotaUsage(this.#database, month, userIds);
    this.#translation.hearUsage(month, userIds, used);
    this.#isFailing = false;
  }

  /** Reads on a later schema, whose step may have changed the table; never rejects. */
  async tryRead(nowMs: number): Promise<void> {
    try {
      await this.read(nowMs);
    } catch (error) {
      if (!this.#isFailing)
        this.#log.warn(
          { err: error },
          'what users carried could not be read on the later schema; users who reach their quota are not stopped here until this gateway is upgraded',
        );
      this.#isFailing = true;
    }
  }
}
