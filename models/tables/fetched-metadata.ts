// The fetched_metadata table: what was fetched last from the metadata address of each SAML
// provider, when it is fetched again, and which certificates serve beside those of the document. A
// row is of an entry as it was then: after a change of the entry's address or of its own metadata,
// a new row begins. A version tells whether somebody else wrote meanwhile. Written without change
// rows: the data plane does not care.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { jsonColumn, nullable, type TableContext, timeColumn } from './columns.ts';

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
