// The administrators who have this role because of an identity provider, and those who must keep
// it. docs/api.md#administrators-by-group.

import { Op, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import type { User } from '../tables/user.ts';

/**
 * True for an administrator if no other administrator is enabled; the scope of the configuration
 * must be locked.
 */
export async function isLastAdministrator(
  { models }: Database,
  user: User,
  transaction: Transaction,
): Promise<boolean> {
  if (user.role !== 'admin') return false;
  const others = { id: { [Op.ne]: user.id }, role: 'admin', disabled_at: null } as const;
  return (await models.User.count({ where: others, transaction })) === 0;
}

/**
 * Makes a user an administrator because a provider says so, or takes the role away that this very
 * provider gave; not from the last administrator. The scope of the configuration must be locked.
 */
export async function setRoleBy(
  database: Database,
  provider: string,
  { userId, isAdmin }: { readonly userId: string; readonly isAdmin: boolean },
  transaction: Transaction,
): Promise<void> {
  const found = { transaction, lock: true, rejectOnEmpty: true } as const;
  const user = await database.models.User.findByPk(userId, found);
  if (!isAdmin) await demote(database, provider, user, transaction);
  // For a user who is an administrator already, the first source of the role stays.
  else if (user.role !== 'admin')
    await user.update({ role: 'admin', role_provider: provider }, { transaction });
}

/** Takes the role away that these providers gave, but not from the last administrator. */
export async function withdrawRoles(
  database: Database,
  providers: readonly string[],
  transaction: Transaction,
): Promise<void> {
  const users = await database.models.User.findAll({
    where: { role: 'admin', role_provider: [...providers] },
    order: [['id', 'ASC']],
    transaction,
    lock: true,
  });
  for (const user of users) await demote(database, user.role_provider ?? '', user, transaction);
}

async function demote(
  database: Database,
  provider: string,
  user: User,
  transaction: Transaction,
): Promise<void> {
  if (user.role !== 'admin' || user.role_provider !== provider) return;
  if (await isLastAdministrator(database, user, transaction)) return;
  await user.update({ role: 'unprivileged' }, { transaction });
}
