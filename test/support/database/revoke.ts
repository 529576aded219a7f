// Taking rights away, as another gateway or a command does it meanwhile.

import { switchedUser } from '../../../lib/auth/accounts.ts';
import { findByEmail } from '../../../lib/auth/named-user.ts';
import { type Database, writeTransaction } from '../../../models/index.ts';

/** Revokes a token; false if there is none. */
export async function revokeToken(database: Database, id: string): Promise<boolean> {
  const { result } = await writeTransaction(database, (transaction) =>
    database.models.ApiToken.destroy({ where: { id }, transaction }),
  );
  return result > 0;
}

/** Disables a user. */
export async function disableUser(database: Database, email: string): Promise<void> {
  await writeTransaction(database, async (transaction) => {
    const user = await findByEmail(database, email, transaction);
    if (user === null) throw new Error(`there is no user ${email}`);
    await user.update(switchedUser(user, false), { transaction });
  });
}
