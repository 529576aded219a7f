// The saml_tests table: which parts of its answers a SAML provider signs, as the last test sign-in
// found it. Metadata do not say it, and any gateway may get the answer or show the form, so it is a
// row. It holds nothing about people. Written without change rows.

import { DataTypes, type InferAttributes, type InferCreationAttributes, Model } from 'sequelize';
import type { TableContext } from './columns.ts';

/** The parts of an answer that have a signature of the provider. */
export type SignedParts = 'response' | 'assertion' | 'both';

/** What one entry's last test found. */
export class SamlTest extends Model<InferAttributes<SamlTest>, InferCreationAttributes<SamlTest>> {
  /** The id of the provider's entry. */
  declare provider_id: string;
  /** SHA-256 of what its metadata said; with other metadata the finding does not hold. */
  declare metadata_sha256: string;
  declare signed: SignedParts;
  declare tested_at: Date;
}

/** Binds the table to one database. */
export function initSamlTest({ sequelize }: TableContext): typeof SamlTest {
  return class extends SamlTest {}.init(
    {
      provider_id: { type: DataTypes.STRING(64), primaryKey: true },
      metadata_sha256: { type: DataTypes.CHAR(64), allowNull: false },
      signed: { type: DataTypes.STRING(16), allowNull: false },
      tested_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'saml_test', tableName: 'saml_tests', timestamps: false },
  );
}
