// The user whom somebody names by an e-mail address.

import { type Database, emailKey, type Transaction, type User } from '../../models/index.ts';
import { noUser } from '../process/absent.ts';

/** Finds and locks the user with an e-mail address; null if there is none. */
export function findByEmail(
  database: Database,
  email: string,
  transaction: Transaction,
): Promise<User | null> {
  const where = { email_key: emailKey(email.trim()) };
  return database.models.User.findOne({ where, transaction, lock: true });
}

/** Finds and locks the user with an e-mail address; throws a sentence if there is none. */
export async function lockUserOf(
  database: Database,
  email: string,
  transaction: Transaction,
): Promise<User> {
  const user = await findByEmail(database, email, transaction);
  if (user === null) throw noUser(email);
  return user;
}
