// Says which users are over their quota: what they may carry in a calendar month (UTC), and what
// they have carried, as far as it was read. A user without a quota costs nothing.
// docs/state.md#quotas.

import { type Month, monthOf, type ObeyedUser } from '../../models/index.ts';

/** Whether a quota is used up; null: there is none. */
export function isUsedUp(quota: number | null, used: number): boolean {
  return quota !== null && used >= quota;
}

/** The quotas of all users, and who is over theirs. */
export class Quotas {
  #default: number | null = null;
  /** By user: the quota of their own; null: the default counts. */
  readonly #own = new Map<string, number | null>();
  /** By user with a quota: what was read of this month. */
  readonly #used = new Map<string, number>();
  readonly #unread = new Set<string>();
  readonly #over = new Set<string>();
  #month: Month = 0;

  /**
   * True: a user who is over their quota stays so, in a new month too, because on a later schema a
   * quota may be for another period. Once it is false again, quotas are computed again.
   */
  opensNothing = false;

  /** How many users are over their quota. */
  get overCount(): number {
    return this.#over.size;
  }

  /** The users who have a quota. */
  get limited(): string[] {
    return [...this.#own.keys()].filter((userId) => this.has(userId));
  }

  /** The users with a quota whose sum was not read yet. */
  get unread(): string[] {
    return [...this.#unread];
  }

  /** Whether a user has a quota. */
  has(userId: string): boolean {
    return this.#quotaOf(userId) !== null;
  }

  /** Whether no packet of a user passes. */
  isOver(userId: string): boolean {
    return this.#over.has(userId);
  }

  /** Whether a user with this quota (null: the default) who carried so much would be over it. */
  wouldBeOver(own: number | null, used: number): boolean {
    return isUsedUp(own ?? this.#default, used);
  }

  /**
   * Takes quotas that are lower than those that are known; `byDefault` is for users who are not in
   * `own`. The next `hear` says who is over theirs.
   */
  lower(own: ReadonlyMap<string, number>, byDefault: number | null): void {
    for (const userId of this.#own.keys()) {
      const quota = own.get(userId) ?? byDefault;
      if (quota !== null && quota < (this.#quotaOf(userId) ?? Number.POSITIVE_INFINITY))
        this.#own.set(userId, quota);
    }
  }

  // Each of these methods returns the users for whom the answer of `isOver` has changed.

  /** Takes the quota of a user from a row; null: the user is gone. */
  take(userId: string, row: Pick<ObeyedUser, 'quota'> | null): string[] {
    if (row === null) this.#own.delete(userId);
    else this.#own.set(userId, row.quota);
    return this.#check([userId]);
  }

  /** Takes the quota of users without one of their own. */
  setDefault(quota: number | null): string[] {
    if (quota === this.#default) return [];
    this.#default = quota;
    return this.#check(this.#own.keys());
  }

  /** Sets the time: in another month everybody begins again. */
  passTo(nowMs: number): string[] {
    const month = monthOf(nowMs);
    if (month === this.#month) return [];
    this.#month = month;
    this.#used.clear();
    return this.#check(this.#own.keys());
  }

  /** Takes what users carried in a month; a user who is not in `used` carried nothing. */
  hear(month: Month, userIds: readonly string[], used: ReadonlyMap<string, number>): string[] {
    // The month may have ended while the sums were read.
    if (month !== this.#month) return [];
    for (const userId of userIds) this.#used.set(userId, used.get(userId) ?? 0);
    return this.#check(userIds);
  }

  #quotaOf(userId: string): number | null {
    const own = this.#own.get(userId);
    return own === undefined ? null : (own ?? this.#default);
  }

  #check(userIds: Iterable<string>): string[] {
    return [...userIds].filter((userId) => {
      const quota = this.#quotaOf(userId);
      // A sum that is not read again is soon wrong.
      if (quota === null) this.#used.delete(userId);
      const used = this.#used.get(userId);
      if (quota !== null && used === undefined) this.#unread.add(userId);
      else this.#unread.delete(userId);
      const isOver = used !== undefined && isUsedUp(quota, used);
      if (isOver === this.#over.has(userId) || (this.opensNothing && !isOver)) return false;
      if (isOver) this.#over.add(userId);
      else this.#over.delete(userId);
      return true;
    });
  }
}
