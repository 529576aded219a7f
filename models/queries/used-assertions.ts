// Marks a SAML assertion as used, so that it signs nobody in twice, at any gateway.

import { Op, UniqueConstraintError } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';

/** Uses an assertion up; false when it was used before, here or at another gateway. */
export async function useAssertion(
  database: Database,
  { id, expiresAt }: { id: string; expiresAt: Date },
): Promise<boolean> {
  database.refuseLater();
  const { UsedAssertion: table } = database.models;
  try {
    await rerunOnConflict(database, () => table.create({ id, expires_at: expiresAt }));
    return true;
  } catch (error) {
    if (error instanceof UniqueConstraintError) return false;
    throw error;
  }
}

/** Forgets assertions that have expired by a time; returns how many there were. */
export async function forgetAssertions(database: Database, now: Date): Promise<number> {
  const { UsedAssertion: table } = database.models;
  const where = { expires_at: { [Op.lte]: now } };
  return rerunOnConflict(database, () => table.destroy({ where }));
}
