// Signing in with e-mail and password. Whatever the fault (nobody has the e-mail, no password is
// set, a wrong one) the answer is the same and takes the same work, so that nobody learns who has
// an account; too many attempts are a wait, for names that nobody has too. Only who typed the right
// password is told that the account is disabled: a good sign-in would tell as much.
// docs/api.md#sign-in.

import type { Request } from '@hapi/hapi';
import { actAs, emailKey, noteAction, type User, writeTransaction } from '../../models/index.ts';
import { originOf } from '../records/audit.ts';
import type { Shared } from '../process/shared.ts';
import { accountOf, forgiveAttempt, fromAddress, noteLocks, takeAttempt } from './attempts.ts';
import { KnownAddresses } from './known-addresses.ts';
import { askerAt } from './password-queue.ts';
import { DEFAULT_COST, standInHash, verifyPassword } from './passwords.ts';
import { maySignIn } from '../records/session-life.ts';

/** What `last_signed_in_method` says of a password. */
export const LOCAL_METHOD = 'email';

/** Longest e-mail that anybody has. */
const EMAIL_CHARACTERS_MAX = 255;

/** Whose e-mail and password are right. */
export interface JudgedPassword {
  readonly userId: string;
  /** What it was compared with: it may be another one when the sign-in is completed. */
  readonly passwordHash: string;
}

/** That it is time to wait, and until when. */
export interface Wait {
  readonly waitsUntil: Date;
}

/** The user whose e-mail and password these are; otherwise what may be said of the refusal. */
export async function judgePassword(
  services: Shared & { readonly passwordCost?: number },
  request: Request,
  email: string,
  password: string,
): Promise<JudgedPassword | 'refused' | 'disabled' | Wait> {
  const { database, counters, passwordCost = DEFAULT_COST } = services;
  const counted = [accountOf(email), fromAddress(request.app.address)];
  const taken = await takeAttempt(database, counted);
  const { refusedBy, waitsUntil } = taken;
  // That an address tried too often tells nothing about anybody, and must cost little.
  if (refusedBy === 'address' && waitsUntil !== null) {
    counters.add('sign_ins', 'too_many_from_address');
    return { waitsUntil };
  }
  const { address = '' } = request.app;
  const known = await KnownAddresses.of(database);
  const user = await findUser(database, email);
  const hash = user?.password_hash ?? standInHash(passwordCost);
  const isSame = await verifyPassword(password, hash, askerAt(address, known.has(address)));
  const isTheirs = user !== null && user.password_hash !== null && isSame && refusedBy === null;
  const isGood = isTheirs && maySignIn(user, LOCAL_METHOD);
  await writeTransaction(database, async (transaction) => {
    if (isGood) return forgiveAttempt(database, counted, transaction);
    actAs(transaction, originOf(request));
    const recordId = user?.id ?? 'unknown';
    return noteAction(transaction, { action: 'sign-in refused', kind: 'user', recordId });
  });
  if (isGood) known.add(address);
  else counters.add('sign_ins', refusedBy === null ? 'refused' : 'too_many_for_account');
  if (!isGood) await noteLocks(services, request, taken, user?.id ?? null);
  if (isGood) return { userId: user.id, passwordHash: hash };
  if (isTheirs) return 'disabled';
  // Names that nobody has are counted alike, so a wait tells nothing of anybody.
  return waitsUntil === null ? 'refused' : { waitsUntil };
}

async function findUser(database: Shared['database'], email: string): Promise<User | null> {
  // What no account can have is looked for as something that none has.
  const isPossible = email.length <= EMAIL_CHARACTERS_MAX && email.isWellFormed();
  const key = isPossible && !email.includes('\0') ? emailKey(email) : '';
  return database.models.User.findOne({ where: { email_key: key } });
}
