// The sign_in_attempts table: how often somebody tried to sign in lately, by account and by
// address, so that every gateway knows when the limit is reached. Keys are hashes, so that the
// table does not say who tried.

import { DataTypes, type InferAttributes, type InferCreationAttributes, Model } from 'sequelize';
import type { TableContext } from './columns.ts';

/** By what attempts are counted. */
export type AttemptKind = 'account' | 'address' | 'code' | 'reset';

/** The attempts of one account, from one address, or with the codes of one user. */
export class SignInAttempt extends Model<
  InferAttributes<SignInAttempt>,
  InferCreationAttributes<SignInAttempt>
> {
  /** A hash of the kind and of what is counted, 64 hex digits. */
  declare sha256: string;
  declare kind: AttemptKind;
  declare count: number;
  /** When the count begins again. */
  declare expires_at: Date;
}

/** Binds the table to one database. */
export function initSignInAttempt({ sequelize }: TableContext): typeof SignInAttempt {
  return class extends SignInAttempt {}.init(
    {
      sha256: { type: DataTypes.CHAR(64), primaryKey: true },
      kind: { type: DataTypes.STRING(16), allowNull: false },
      count: { type: DataTypes.INTEGER, allowNull: false },
      expires_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'sign_in_attempt', tableName: 'sign_in_attempts', timestamps: false },
  );
}
