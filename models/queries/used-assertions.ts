// Uses a SAML assertion up, so that it lets nobody in twice, at whichever gateway.

import { Op, UniqueConstraintError } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';

/** Uses an assertion up; false when it was used before, here or at another gateway. */
export async function useAssertion(
  database: Database,
  { id, expiresAt, now }: { id: string; expiresAt: Date; now: Date },
): Promise<boolean> {
  database.refuseLater();
  const { UsedAssertion: table } = database.models;
  await rerunOnConflict(database, () =>
    table.destroy({ where: { expires_at: { [Op.lte]: now } } }),
  );
  try {
    await rerunOnConflict(database, () => table.create({ id, expires_at: expiresAt }));
    return true;
  } catch (error) {
    if (error instanceof UniqueConstraintError) return false;
    throw error;
  }
}
