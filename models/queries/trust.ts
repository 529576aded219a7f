// Marks identity providers as trusted, and says which are. docs/api.md#sign-in.

import { type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { methodOf } from '../fields/identity.ts';
import type { TrustedProvider } from '../tables/trusted-provider.ts';
import { withdrawRoles } from './administrators.ts';

/** An entry of the configuration, and the provider that it leads to. */
export type Authority = Pick<TrustedProvider, 'kind' | 'provider_id' | 'authority'>;

/**
 * Marks an entry as trusted, or removes the mark, and with it the role of administrators who have
 * this role because of the entry. The scope of the configuration must be locked.
 */
export async function markTrusted(
  database: Database,
  { kind, provider_id, authority }: Authority,
  isTrusted: boolean,
  transaction: Transaction,
): Promise<void> {
  const { TrustedProvider: table } = database.models;
  const where = { kind, provider_id };
  const row = await table.findOne({ where, transaction, lock: true });
  if (!isTrusted) {
    await row?.destroy({ transaction });
    await withdrawRoles(database, [methodOf(kind, provider_id)], transaction);
  } else if (row === null) await table.create({ ...where, authority }, { transaction });
  else await row.update({ authority }, { transaction });
}

/** Tells whether an entry is marked, as it is now. */
export async function isTrusted(
  { models: { TrustedProvider: table } }: Database,
  { kind, provider_id, authority }: Authority,
  transaction?: Transaction,
): Promise<boolean> {
  const row = await table.findOne({
    where: { kind, provider_id },
    ...(transaction === undefined ? {} : { transaction }),
  });
  return row !== null && row.authority === authority;
}
