// The api_tokens table: what opens the API. Only a SHA-256 of each token is kept; a token is 32
// random bytes, so the hash cannot be guessed back and needs no salt. docs/api.md#authentication.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
  type NonAttribute,
} from 'sequelize';
import {
  idColumn,
  timeColumn,
  timestampColumns,
  timestamps,
  type TableContext,
} from './columns.ts';
import type { User } from './user.ts';

/** One API token. */
export class ApiToken extends Model<InferAttributes<ApiToken>, InferCreationAttributes<ApiToken>> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  declare name: string;
  /** SHA-256 of the whole token, 64 hex digits; unique. */
  declare sha256: string;
  /** Null: does not expire. */
  declare expires_at: CreationOptional<Date | null>;
  /** Written by `touchToken` only, at most once a minute. */
  declare last_used_at: CreationOptional<Date | null>;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
  /** Present when the query included it. */
  declare user?: NonAttribute<User>;
}

/** Binds the table to one database. */
export function initApiToken({ sequelize }: TableContext): typeof ApiToken {
  return class extends ApiToken {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      name: { type: DataTypes.STRING(255), allowNull: false },
      sha256: { type: DataTypes.CHAR(64), allowNull: false },
      expires_at: timeColumn(),
      last_used_at: timeColumn(),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'api_token', tableName: 'api_tokens', ...timestamps },
  );
}
