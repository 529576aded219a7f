// The fetched_metadata table: what was fetched last from the metadata address of each SAML
// provider, when it is fetched again, and which certificates serve beside those of the document. A
// row is of an entry as it was then: whoever changes the entry's address or its own metadata begins
// anew. A version tells whether somebody else wrote meanwhile. Written without change rows: the
// data plane does not care.

import { createHash } from 'node:crypto';
import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
  Op,
  type Transaction,
  UniqueConstraintError,
} from 'sequelize';
import { jsonColumn, nullable, type TableContext, timeColumn } from './columns.ts';
import type { SamlIdentityProvider } from './configuration.ts';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';

/** What is known of one metadata address. */
export class FetchedMetadata extends Model<
  InferAttributes<FetchedMetadata>,
  InferCreationAttributes<FetchedMetadata>
> {
  /** The id of the entry. */
  declare provider_id: string;
  /** SHA-256 of the address and of the metadata in the entry itself. */
  declare basis: string;
  /** Grows with every write. */
  declare version: CreationOptional<number>;
  /** The last good document; null: none was fetched yet. */
  declare document: CreationOptional<string | null>;
  /** Certificates that the document has no more and that serve still, base64 of DER. */
  declare former_certificates: CreationOptional<string[]>;
  /** New certificates of the document; the first answer signed by one ends the former ones. */
  declare awaited_certificates: CreationOptional<string[]>;
  /** When the last good document was fetched. */
  declare fetched_at: CreationOptional<Date | null>;
  /** When a gateway last began to fetch. */
  declare asked_at: CreationOptional<Date | null>;
  /** When it is to be fetched again. */
  declare refresh_at: Date;
  /** Why the last attempt came to nothing, in words of ours; null where it went well. */
  declare problem: CreationOptional<string | null>;
}

/** Binds the table to one database. */
export function initFetchedMetadata({ sequelize }: TableContext): typeof FetchedMetadata {
  return class extends FetchedMetadata {}.init(
    {
      provider_id: { type: DataTypes.STRING(64), primaryKey: true },
      basis: { type: DataTypes.CHAR(64), allowNull: false },
      version: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 1 },
      document: nullable(DataTypes.TEXT),
      former_certificates: jsonColumn('former_certificates', []),
      awaited_certificates: jsonColumn('awaited_certificates', []),
      fetched_at: timeColumn(),
      asked_at: timeColumn(),
      refresh_at: { type: DataTypes.DATE(6), allowNull: false },
      problem: nullable(DataTypes.TEXT),
    },
    { sequelize, modelName: 'fetched_metadata', tableName: 'fetched_metadata', timestamps: false },
  );
}

/** What of an entry a row is about. */
export type MetadataEntry = Pick<SamlIdentityProvider, 'id' | 'metadata' | 'metadata_url'>;

/** Reads the row of an entry as it stands; null where nothing was asked for since it stands so. */
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

/** Makes the row of an entry, in place of one that was of another address, say. */
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

function basisOf({ metadata_url: url = '', metadata }: MetadataEntry): string {
  return createHash('sha256')
    .update(JSON.stringify([url, metadata]))
    .digest('hex');
}
