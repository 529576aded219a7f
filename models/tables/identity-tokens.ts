// The identity_tokens table: what an OpenID provider gave for an account, encrypted, and when it is
// asked again. A gateway claims a row before it refreshes, so that no two gateways use one refresh
// token; a version tells whether a sign-in replaced the row meanwhile. Written without change rows:
// the data plane does not read it. docs/api.md#sign-in.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { encryptedJsonColumn, nullable, type TableContext, timeColumn } from './columns.ts';

/** What is kept of a token response. */
export interface ProviderTokens {
  /** What asks for new tokens; left out where the provider gave none. */
  refreshToken?: string;
  /** Tells the provider at sign-out who it is about. */
  idToken?: string;
}

/** The tokens of one identity. */
export class IdentityTokens extends Model<
  InferAttributes<IdentityTokens>,
  InferCreationAttributes<IdentityTokens>
> {
  declare identity_id: string;
  /** Encrypted in the database. */
  declare tokens: CreationOptional<ProviderTokens>;
  /** Grows with every write of the tokens. */
  declare version: CreationOptional<number>;
  /** When the provider is to be asked again; null: never. */
  declare refresh_at: CreationOptional<Date | null>;
  /** The gateway that refreshes the tokens, until `claimed_until`. */
  declare claimed_by: CreationOptional<string | null>;
  declare claimed_until: CreationOptional<Date | null>;
  /** When the provider last answered well. */
  declare refreshed_at: CreationOptional<Date | null>;
  /** A word for why the last attempt failed; null: it succeeded. */
  declare error: CreationOptional<string | null>;
}

/** Binds the table to one database. */
export function initIdentityTokens({ sequelize, keyring }: TableContext): typeof IdentityTokens {
  return class extends IdentityTokens {}.init(
    {
      identity_id: { type: DataTypes.CHAR(36), primaryKey: true },
      tokens: encryptedJsonColumn(keyring, 'identity_tokens', 'tokens', {}),
      version: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 1 },
      refresh_at: timeColumn(),
      claimed_by: nullable(DataTypes.CHAR(36)),
      claimed_until: timeColumn(),
      refreshed_at: timeColumn(),
      error: nullable(DataTypes.STRING(64)),
    },
    { sequelize, modelName: 'identity_tokens', tableName: 'identity_tokens', timestamps: false },
  );
}
