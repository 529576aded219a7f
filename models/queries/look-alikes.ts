// Users whose e-mail a person could take for another one. Lock the configuration before a new
// address is written, or two writers could make such a pair at the same time. docs/api.md#users.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { emailLook, type User } from '../tables/user.ts';

/** A user whose e-mail looks like one of those that were asked for; the same e-mail does too. */
export type LookAlike = Pick<User, 'id' | 'email_key' | 'email_look'>;

/** Finds the users whose e-mails look like some of these, or are some of these. */
export function findLookAlikes(
  { models }: Database,
  emails: readonly string[],
  transaction: Transaction,
): Promise<LookAlike[]> {
  return models.User.findAll({
    attributes: ['id', 'email_key', 'email_look'],
    where: { email_look: emails.map(emailLook) },
    transaction,
  });
}
