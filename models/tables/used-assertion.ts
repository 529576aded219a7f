// The used_assertions table: SAML assertions that signed somebody in, so that none does so twice,
// at any gateway. They are deleted when they have expired, and only validly signed ones are added,
// so strangers cannot fill the table. Written without change rows.

import { DataTypes, type InferAttributes, type InferCreationAttributes, Model } from 'sequelize';
import type { TableContext } from './columns.ts';

/** One assertion that was used. */
export class UsedAssertion extends Model<
  InferAttributes<UsedAssertion>,
  InferCreationAttributes<UsedAssertion>
> {
  /** SHA-256 of issuer and id, 64 hex digits. */
  declare id: string;
  /** When the assertion is of no use any more. */
  declare expires_at: Date;
}

/** Binds the table to one database. */
export function initUsedAssertion({ sequelize }: TableContext): typeof UsedAssertion {
  return class extends UsedAssertion {}.init(
    {
      id: { type: DataTypes.CHAR(64), primaryKey: true },
      expires_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'used_assertion', tableName: 'used_assertions', timestamps: false },
  );
}
