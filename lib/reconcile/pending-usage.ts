// What users carried, on its way into the database, for their quotas. Sums of users with a quota
// are written at each sample, so that all gateways know them soon; sums of all others once a
// minute, so that a quota that they get later counts what they carried before. Sums that cannot be
// written are kept, and added later: a number for each user. docs/state.md#quotas.

import { type Database, type Month, monthOf, recordQuotaUsage } from '../../models/index.ts';
import type { Log } from '../kit/process/log.ts';
import { GATHER_MS } from './pending-sums.ts';

/** What the pending usage is made of. */
export interface PendingUsageOptions {
  readonly database: Database;
  readonly gatewayId: string;
  /** The owner of the device that has a public key, or had it lately; null: there is none. */
  readonly ownerIdOf: (publicKey: string) => string | null;
  readonly hasQuota: (userId: string) => boolean;
  readonly log: Log;
  /** Unix time in ms. */
  readonly wallMs?: () => number;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

/** What waits to be written. */
export class PendingUsage {
  readonly #options: PendingUsageOptions;
  readonly #wallMs: () => number;
  readonly #nowMs: () => number;
  /** By month, then by user. */
  readonly #bytes = new Map<Month, Map<string, number>>();
  #wroteAllAtMs: number;
  #isFailing = false;

  constructor(options: PendingUsageOptions) {
    this.#options = options;
    this.#wallMs = options.wallMs ?? (() => Date.now());
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#wroteAllAtMs = this.#nowMs();
  }

  /** A device carried so many bytes inside the tunnel, both ways together. */
  device(publicKey: string, bytes: number): void {
    if (bytes === 0) return;
    const userId = this.#options.ownerIdOf(publicKey);
    if (userId !== null) this.#add(monthOf(this.#wallMs()), userId, bytes);
  }

  /** Writes what is due, at the stop all that waits. Never rejects. */
  async write(isStop = false): Promise<void> {
    const { database, gatewayId, log } = this.#options;
    const nowMs = this.#nowMs();
    const isAllDue = isStop || nowMs - this.#wroteAllAtMs >= GATHER_MS;
    if (isAllDue) this.#wroteAllAtMs = nowMs;
    const reports = this.#take(isAllDue);
    if (reports.length === 0) return;
    try {
      await recordQuotaUsage(database, gatewayId, reports);
      if (this.#isFailing) log.info({}, 'what users carried is written again');
      this.#isFailing = false;
    } catch (error) {
      for (const { month, userId, bytes } of reports) this.#add(month, userId, bytes);
      if (!this.#isFailing)
        log.warn(
          { err: error },
          'what users carried could not be written; it is kept and added later',
        );
      this.#isFailing = true;
    }
  }

  #add(month: Month, userId: string, bytes: number): void {
    const ofMonth = this.#bytes.get(month) ?? new Map<string, number>();
    ofMonth.set(userId, (ofMonth.get(userId) ?? 0) + bytes);
    this.#bytes.set(month, ofMonth);
  }

  #take(all: boolean): { month: Month; userId: string; bytes: number }[] {
    const taken = [];
    for (const [month, ofMonth] of this.#bytes) {
      for (const [userId, bytes] of ofMonth) {
        if (!all && !this.#options.hasQuota(userId)) continue;
        taken.push({ month, userId, bytes });
        ofMonth.delete(userId);
      }
      if (ofMonth.size === 0) this.#bytes.delete(month);
    }
    return taken;
  }
}
