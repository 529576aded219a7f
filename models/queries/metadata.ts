// Reads and writes what was fetched from the metadata addresses of SAML providers. One gateway
// claims a fetch; a version says whether somebody else wrote meanwhile.

import { createHash } from 'node:crypto';
import { type InferAttributes, Op, type Transaction, UniqueConstraintError } from 'sequelize';
import type { SamlIdentityProvider } from '../fields/provider.ts';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import type { FetchedMetadata } from '../tables/fetched-metadata.ts';

/** What of an entry a row is about. */
export type MetadataEntry = Pick<
  SamlIdentityProvider,
  'id' | 'metadata' | 'metadata_url' | 'entity_id'
>;

/** Reads the row of an entry as it is now; null where nothing was asked for since it is so. */
export async function readFetchedMetadata(
  { models: { FetchedMetadata: table } }: Database,
  entry: MetadataEntry,
  transaction?: Transaction,
): Promise<FetchedMetadata | null> {
  if (entry.metadata_url === undefined) return null;
  const row = await table.findByPk(
    entry.id,
    transaction === undefined ? {} : { transaction, lock: true },
  );
  return row?.basis === basisOf(entry) ? row : null;
}

/**
 * Claims the fetch of an entry's metadata, where `isWanted` says so of the row; null where it does
 * not, or where another gateway was faster.
 */
export async function claimMetadata(
  database: Database,
  entry: MetadataEntry,
  now: Date,
  isWanted: (row: FetchedMetadata) => boolean,
): Promise<FetchedMetadata | null> {
  const { FetchedMetadata: table } = database.models;
  const row = (await readFetchedMetadata(database, entry)) ?? (await begin(database, entry, now));
  if (row === null || !isWanted(row)) return null;
  const where = { provider_id: row.provider_id, version: row.version };
  const values = { asked_at: now, version: row.version + 1 };
  const [count] = await rerunOnConflict(database, () => table.update(values, { where }));
  return count === 0 ? null : row.set(values);
}

/** Makes the row of an entry; replaces one that was, for example, of another address. */
async function begin(
  database: Database,
  entry: MetadataEntry,
  now: Date,
): Promise<FetchedMetadata | null> {
  const { FetchedMetadata: table } = database.models;
  const fresh = { provider_id: entry.id, basis: basisOf(entry), refresh_at: now };
  const where = { provider_id: entry.id, basis: { [Op.ne]: fresh.basis } };
  await rerunOnConflict(database, () => table.destroy({ where }));
  try {
    return await rerunOnConflict(database, () => table.create(fresh));
  } catch (error) {
    if (error instanceof UniqueConstraintError) return null;
    throw error;
  }
}

/** What an attempt, an answer or an administrator changes of a row. */
export type MetadataChanges = Partial<
  Pick<
    InferAttributes<FetchedMetadata>,
    | 'document'
    | 'former_certificates'
    | 'awaited_certificates'
    | 'fetched_at'
    | 'refresh_at'
    | 'problem'
  >
>;

/** Saves changes of a row that was read; false where somebody else wrote it meanwhile. */
export async function settleMetadata(
  { models: { FetchedMetadata: table } }: Database,
  { provider_id, version }: Pick<FetchedMetadata, 'provider_id' | 'version'>,
  changes: MetadataChanges,
  transaction: Transaction,
): Promise<boolean> {
  const row = await table.findOne({ where: { provider_id, version }, transaction, lock: true });
  if (row === null) return false;
  await row.update({ ...changes, version: version + 1 }, { transaction });
  return true;
}

/** Forgets the rows of entries that are gone, or have no address any more. */
export async function forgetMetadata(
  database: Database,
  entries: readonly MetadataEntry[],
): Promise<void> {
  const { FetchedMetadata: table } = database.models;
  const ids = entries.filter(({ metadata_url: url }) => url !== undefined).map(({ id }) => id);
  const where = { provider_id: { [Op.notIn]: ids } };
  await rerunOnConflict(database, () => table.destroy({ where }));
}

function basisOf({ metadata_url: url = '', metadata, entity_id }: MetadataEntry): string {
  // Certificates of another provider in the same document are not those of this one.
  const basis = entity_id === undefined ? [url, metadata] : [url, metadata, entity_id];
  return createHash('sha256').update(JSON.stringify(basis)).digest('hex');
}
