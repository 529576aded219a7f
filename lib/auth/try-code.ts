// A code that somebody typed: it is counted before it is checked, and used up in the transaction of
// the change that needs it. docs/api.md#sign-in.

import type { Database, Transaction } from '../../models/index.ts';
import type { Caller } from '../kit/process/caller.ts';
import type { Shared } from '../kit/process/shared.ts';
import { type Counted, forgiveAttempt, fromAddress, noteLocks, takeAttempt } from './attempts.ts';
import { spendCode } from './second-factors.ts';

/** Whether a code is a good one of that user; from then on it no longer works. */
export type SpendsCode = (userId: string, transaction: Transaction) => Promise<boolean>;

/** How the codes that a user types are counted. */
export function codesOf({ config }: Pick<Shared, 'config'>, { userId, origin }: Caller): Counted[] {
  return [{ kind: 'code', subject: userId ?? '' }, fromAddress(config, origin.address)];
}

/** Spends a code; a good one takes back what was counted. */
export function spends(database: Database, counted: readonly Counted[], code: string): SpendsCode {
  return async (userId, transaction) => {
    const isGood = await spendCode(database, userId, code, transaction);
    if (isGood) await forgiveAttempt(database, counted, transaction);
    return isGood;
  };
}

/**
 * Does what a code is asked for; `act` spends the code in its transaction. Null where the code was
 * wrong, or came after too many wrong ones (`isLocked`); `count` counts that.
 */
export async function tryCode<T>(
  services: Pick<Shared, 'config' | 'database' | 'log'>,
  caller: Caller,
  { code, count }: { readonly code: string; readonly count: (isLocked: boolean) => void },
  act: (spend: SpendsCode) => Promise<T | null>,
): Promise<T | null> {
  const { database } = services;
  const counted = codesOf(services, caller);
  const taken = await takeAttempt(database, counted);
  const done = taken.refusedBy === null ? await act(spends(database, counted, code)) : null;
  if (done !== null) return done;
  count(taken.refusedBy !== null);
  await noteLocks(services, caller, taken, caller.userId);
  return null;
}
