// Removes records that have children. Each child is deleted by a statement of its own, so that
// every child leaves its change row; the foreign keys refuse to delete a parent whose children were
// forgotten. removed-history.ts deletes the history.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { removeLinks } from './relinking.ts';
import { lockScopes } from '../database/transaction.ts';
import type { PolicyTest } from '../tables/policy-test.ts';
import { takeHistoryAlong } from './removed-history.ts';

/** Deletes a user with all that is theirs; false when there is no such user. */
export async function removeUser(
  database: Database,
  userId: string,
  transaction: Transaction,
): Promise<boolean> {
  const { User, Device, Rule, ApiToken, Session, SecondFactor, RecoveryCode } = database.models;
  const { GroupMembership, OneTimeLink, PolicyTest } = database.models;
  await lockScopes(database, transaction, { userId });
  const user = await User.findByPk(userId, { transaction });
  if (user === null) return false;
  const [devices, rules, tests] = await Promise.all([
    Device.findAll({ attributes: ['id'], where: { user_id: userId }, transaction, lock: true }),
    Rule.findAll({ attributes: ['id'], where: { user_id: userId }, transaction, lock: true }),
    PolicyTest.findAll({ attributes: ['id'], where: { user_id: userId }, transaction }),
  ]);
  await removeDevices(
    database,
    devices.map(({ id }) => id),
    transaction,
  );
  await removePolicyTests(database, tests, transaction);
  await removeRules(
    database,
    rules.map(({ id }) => id),
    transaction,
  );
  await GroupMembership.destroy({ where: { user_id: userId }, transaction });
  await ApiToken.destroy({ where: { user_id: userId }, transaction });
  for (const table of [Session, SecondFactor, RecoveryCode, OneTimeLink] as (typeof Session)[])
    await table.destroy({ where: { user_id: userId }, transaction });
  await removeIdentities(database, userId, transaction);
  await user.destroy({ transaction });
  return true;
}

async function removeIdentities(
  database: Database,
  userId: string,
  transaction: Transaction,
): Promise<void> {
  const links = await database.models.Identity.findAll({
    attributes: ['id'],
    where: { user_id: userId },
    transaction,
    lock: true,
  });
  await removeLinks(database, links, transaction);
}

/** Deletes devices with their statuses; returns how many there were. */
export async function removeDevices(
  database: Database,
  deviceIds: readonly string[],
  transaction: Transaction,
): Promise<number> {
  const { Device, DeviceStatus, PolicyTest } = database.models;
  // Locked first: a gateway that reports on a device meanwhile waits, and then finds it gone.
  const [present, tests] = await Promise.all([
    Device.findAll({ attributes: ['id'], where: { id: [...deviceIds] }, transaction, lock: true }),
    PolicyTest.findAll({ attributes: ['id'], where: { device_id: [...deviceIds] }, transaction }),
  ]);
  const ids = present.map(({ id }) => id);
  await removePolicyTests(database, tests, transaction);
  // Together: the database may be far away.
  await Promise.all([
    DeviceStatus.destroy({ where: { device_id: ids }, transaction }),
    takeHistoryAlong(database, 'devices', ids, transaction),
  ]);
  return Device.destroy({ where: { id: ids }, transaction });
}

/** Deletes rules. */
export async function removeRules(
  database: Database,
  ids: readonly string[],
  transaction: Transaction,
): Promise<void> {
  if (ids.length === 0) return;
  await takeHistoryAlong(database, 'rules', ids, transaction);
  await database.models.Rule.destroy({ where: { id: [...ids] }, transaction });
}

/** Most users and devices have no children, and then no statement is sent. */
async function removePolicyTests(
  { models }: Database,
  tests: readonly Pick<PolicyTest, 'id'>[],
  transaction: Transaction,
): Promise<void> {
  if (tests.length === 0) return;
  await models.PolicyTest.destroy({ where: { id: tests.map(({ id }) => id) }, transaction });
}
