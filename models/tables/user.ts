// The users table: who may own devices and administer. The unique key is not the e-mail as given
// but its key, NFC and lower case. api.md, sections 1, 4 and 8.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import {
  idColumn,
  nullable,
  type TableContext,
  timeColumn,
  timestampColumns,
  timestamps,
} from './columns.ts';

/** What a user may do: everything, or look after their own devices. */
export type Role = 'admin' | 'unprivileged';

/** Who disabled a user; only the same cause can enable them again (api.md, section 8). */
export type DisabledBy = 'administrator' | 'provider';

/** What a user has who is not disabled. */
export const ENABLED = { disabled_at: null, disabled_by: null, disabled_provider: null } as const;

/** One user. */
export class User extends Model<InferAttributes<User>, InferCreationAttributes<User>> {
  declare id: CreationOptional<string>;
  /** As given, case kept. Setting it sets `email_key`. */
  declare email: string;
  /** Unique; set through `email` only. */
  declare email_key: CreationOptional<string>;
  declare role: CreationOptional<Role>;
  /** A bcrypt hash; null for users who sign in through a provider. */
  declare password_hash: CreationOptional<string | null>;
  /** Null while the user is enabled. */
  declare disabled_at: CreationOptional<Date | null>;
  /** Null exactly when `disabled_at` is. */
  declare disabled_by: CreationOptional<DisabledBy | null>;
  /** Which provider's error disabled the user, as `oidc/okta`; null for any other cause. */
  declare disabled_provider: CreationOptional<string | null>;
  declare last_signed_in_at: CreationOptional<Date | null>;
  /** `email` for a password, else the provider's id; null before the first sign-in. */
  declare last_signed_in_method: CreationOptional<string | null>;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
}

/** Turns an e-mail into the key by which users are found: NFC, lower case. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Binds the table to one database. */
export function initUser({ sequelize }: TableContext): typeof User {
  return class extends User {}.init(
    {
      id: idColumn(),
      email: {
        type: DataTypes.STRING(255),
        allowNull: false,
        set(this: User, email: string) {
          this.setDataValue('email', email);
          this.setDataValue('email_key', emailKey(email));
        },
      },
      email_key: { type: DataTypes.STRING(768), allowNull: false },
      role: { type: DataTypes.STRING(16), allowNull: false, defaultValue: 'unprivileged' },
      password_hash: nullable(DataTypes.STRING(255)),
      disabled_at: timeColumn(),
      disabled_by: nullable(DataTypes.STRING(16)),
      disabled_provider: nullable(DataTypes.STRING(80)),
      last_signed_in_at: timeColumn(),
      last_signed_in_method: nullable(DataTypes.STRING(64)),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'user', tableName: 'users', ...timestamps },
  );
}
