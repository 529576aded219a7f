// The second_factors and recovery_codes tables: what a user shows beside a password or a provider.
// The secret of an authenticator is encrypted; a recovery code is 80 random bits, of which only a
// SHA-256 is kept, and serves once. Gateways do not act upon them.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { encryptedColumn, idColumn, type TableContext, timeColumn } from './columns.ts';

/** One authenticator of a user: codes by time (RFC 6238). */
export class SecondFactor extends Model<
  InferAttributes<SecondFactor>,
  InferCreationAttributes<SecondFactor>
> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  /** What its owner calls it. */
  declare name: string;
  /** Base32; encrypted in the database. */
  declare secret: string;
  /** The time step of the last code that was taken; earlier ones no longer work. */
  declare last_step: number;
  declare last_used_at: CreationOptional<Date | null>;
  declare inserted_at: Date;
}

/** One recovery code that was not used. */
export class RecoveryCode extends Model<
  InferAttributes<RecoveryCode>,
  InferCreationAttributes<RecoveryCode>
> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  /** 64 hex digits. */
  declare sha256: string;
}

/** Binds the table of authenticators to one database. */
export function initSecondFactor({ sequelize, keyring }: TableContext): typeof SecondFactor {
  return class extends SecondFactor {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      name: { type: DataTypes.STRING(255), allowNull: false },
      secret: encryptedColumn(keyring, 'second_factors', 'secret'),
      last_step: { type: DataTypes.BIGINT, allowNull: false },
      last_used_at: timeColumn(),
      inserted_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'second_factor', tableName: 'second_factors', timestamps: false },
  );
}

/** Binds the table of recovery codes to one database. */
export function initRecoveryCode({ sequelize }: TableContext): typeof RecoveryCode {
  return class extends RecoveryCode {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      sha256: { type: DataTypes.CHAR(64), allowNull: false },
    },
    { sequelize, modelName: 'recovery_code', tableName: 'recovery_codes', timestamps: false },
  );
}
