// Shuts a user out because an identity provider refuses them. An administrator's switch beats it:
// whom an administrator disabled stays disabled by the administrator. docs/api.md#disabled-users.

import type { Database, Transaction } from '../../../models/index.ts';

/**
 * Disables a user until they sign in by the same method; false where they are gone or disabled
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
