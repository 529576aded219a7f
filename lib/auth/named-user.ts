// The user whom somebody names by an e-mail address, and whether a new address could be taken for
// that of somebody else.

import {
  type Database,
  emailKey,
  emailLook,
  findLookAlikes,
  type Transaction,
  type User,
} from '../../models/index.ts';

/** Finds the user with an e-mail address, and locks it in a transaction; null if there is none. */
export function findByEmail(
  database: Database,
  email: string,
  transaction?: Transaction,
): Promise<User | null> {
  const where = { email_key: emailKey(email.trim()) };
  const locked = transaction === undefined ? {} : { transaction, lock: true };
  return database.models.User.findOne({ where, ...locked });
}

/**
 * True if a new address of a user (null: of a new one) looks like that of another user. An address
 * that looks like the present one of its user makes no new pair. The configuration must be locked.
 */
export async function looksTaken(
  database: Database,
  email: string,
  user: Pick<User, 'id' | 'email'> | null,
  transaction: Transaction,
): Promise<boolean> {
  if (user !== null && emailLook(user.email) === emailLook(email)) return false;
  const found = await findLookAlikes(database, [email], transaction);
  return found.some(({ id }) => id !== user?.id);
}
