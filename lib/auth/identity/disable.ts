// Disables a user because an identity provider refuses them. A user whom an administrator disabled
// before stays disabled by the administrator. docs/api.md#disabled-users.

import type { Database, Transaction } from '../../../models/index.ts';

/**
 * Disables a user until they sign in by the same method; false if the user is deleted or disabled
 * already. The caller has locked the scope of the configuration.
 */
export async function disableByProvider(
  database: Database,
  userId: string,
  method: string,
  transaction: Transaction,
): Promise<boolean> {
  const user = await database.models.User.findByPk(userId, { transaction, lock: true });
  if (user === null || user.disabled_at !== null) return false;
  await user.update(
    { disabled_at: new Date(), disabled_by: 'provider', disabled_provider: method },
    { transaction },
  );
  return true;
}
