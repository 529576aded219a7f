// Second factors: codes of authenticators by time (RFC 6238), and recovery codes.

import type { Database, Transaction } from '../../models/index.ts';

/** Whether a user set up a second factor, which sign-in then demands. */
export async function hasSecondFactor(
  database: Database,
  userId: string,
  transaction?: Transaction,
): Promise<boolean> {
  const { SecondFactor } = database.models;
  const options = transaction === undefined ? {} : { transaction };
  return (await SecondFactor.count({ where: { user_id: userId }, ...options })) > 0;
}
