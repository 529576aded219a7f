// Signing in with e-mail and password. An unknown e-mail address, a user without a password and a
// wrong password get the same answer after the same work, so that nobody learns who has an account.
// Too many attempts mean a wait, also for names that nobody has. Only a person who typed the right
// password reads that the account is disabled: the sign-in itself would have proved that it exists.
// docs/api.md#sign-in.

import { actAs, emailKey, noteAction, type User, writeTransaction } from '../../models/index.ts';
import type { Caller } from '../kit/process/caller.ts';
import type { Shared } from '../kit/process/shared.ts';
import { accountOf, forgiveAttempt, fromAddress, noteLocks, takeAttempt } from './attempts.ts';
import { EMAIL_CHARACTERS_MAX } from './email.ts';
import { KnownAddresses } from './known-addresses.ts';
import { askerAt } from './password-queue.ts';
import { DEFAULT_COST, standInHash, verifyPassword } from './passwords.ts';
import { maySignIn } from '../kit/records/session-life.ts';

/** What programs are answered where passwords are switched off. */
export const LOCAL_OFF = 'Local auth disabled';
/** The value of `last_signed_in_method` for a sign-in by password. */
export const LOCAL_METHOD = 'email';

/** The user whose e-mail address and password are right. */
export interface CheckedPassword {
  readonly userId: string;
  /** The hash that was compared; the user may have another one when the sign-in is completed. */
  readonly passwordHash: string;
}

/** A refusal until a time. */
export interface Wait {
  readonly waitsUntil: Date;
}

/** Finds the user with this e-mail address and password; else why the sign-in is refused. */
export async function checkPassword(
  services: Shared & { readonly passwordCost?: number },
  caller: Caller,
  email: string,
  password: string,
): Promise<CheckedPassword | 'refused' | 'disabled' | Wait> {
  const { config, database, counters, passwordCost = DEFAULT_COST } = services;
  const { address = '' } = caller.origin;
  const counted = [accountOf(email), fromAddress(config, address)];
  const taken = await takeAttempt(database, counted);
  const { refusedBy, waitsUntil } = taken;
  // This answer depends on the address alone, so it reveals no account; it must cost little.
  if (refusedBy === 'address' && waitsUntil !== null) {
    counters.add('sign_ins', 'too_many_from_address');
    return { waitsUntil };
  }
  const known = await KnownAddresses.of(database, config);
  const user = await findUser(database, email);
  const hash = user?.password_hash ?? standInHash(passwordCost);
  const asker = askerAt(config, address, known.has(address));
  const isSame = await verifyPassword(password, hash, asker);
  const isTheirs = user !== null && user.password_hash !== null && isSame && refusedBy === null;
  const isGood = isTheirs && maySignIn(user, LOCAL_METHOD);
  await writeTransaction(database, async (transaction) => {
    if (isGood) return forgiveAttempt(database, counted, transaction);
    actAs(transaction, caller.origin);
    const recordId = user?.id ?? 'unknown';
    return noteAction(transaction, { action: 'sign-in refused', kind: 'user', recordId });
  });
  if (isGood) known.add(address);
  else counters.add('sign_ins', refusedBy === null ? 'refused' : 'too_many_for_account');
  if (!isGood) await noteLocks(services, caller, taken, user?.id ?? null);
  if (isGood) return { userId: user.id, passwordHash: hash };
  if (isTheirs) return 'disabled';
  // Names that nobody has are counted too, so a wait does not reveal an account.
  return waitsUntil === null ? 'refused' : { waitsUntil };
}

async function findUser(database: Shared['database'], email: string): Promise<User | null> {
  // For an e-mail address that no account can have, the search must find nothing.
  const isPossible = email.length <= EMAIL_CHARACTERS_MAX && email.isWellFormed();
  const key = isPossible && !email.includes('\0') ? emailKey(email) : '';
  return database.models.User.findOne({ where: { email_key: key } });
}
