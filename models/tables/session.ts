// The sessions table: browsers that signed in. Only a SHA-256 of the secret in the browser's cookie
// is kept. Gateways do not act upon sessions, so they leave no change rows; code that signs
// somebody in or out adds it to the audit trail. A user who is disabled, or gets another password
// or role, loses every session in that same transaction. docs/api.md#sign-in.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
  type NonAttribute,
} from 'sequelize';
import { idColumn, nullable, type TableContext } from './columns.ts';
import type { User } from './user.ts';

/** What a session is good for: everything, or nothing but showing a second factor. */
export type SessionState = 'open' | 'second factor';

/** One signed-in browser. */
export class Session extends Model<InferAttributes<Session>, InferCreationAttributes<Session>> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  /** SHA-256 of the cookie's secret, 64 hex digits; unique. */
  declare sha256: string;
  declare state: SessionState;
  /** `email` for a password, else the provider's kind and id: `oidc/okta`. */
  declare method: string;
  /** The account at the provider, as `identityKey` makes it; null for a password. */
  declare account_key: CreationOptional<string | null>;
  /** SHA-256 of what the provider calls the session (SAML: SessionIndex), where it says so. */
  declare provider_session: CreationOptional<string | null>;
  /** Where to go once the second factor was shown; a path of this gateway. */
  declare return_to: CreationOptional<string | null>;
  /** Where the sign-in came from. */
  declare address: CreationOptional<string | null>;
  declare user_agent: CreationOptional<string | null>;
  /** When the person signed in; a session that continues another one keeps it. */
  declare inserted_at: Date;
  /** When the last request came, to the minute. */
  declare seen_at: Date;
  /** Present when the query included it. */
  declare user?: NonAttribute<User>;
}

/** A session as the provider knows it that began it. */
export type SessionAtProvider = Pick<Session, 'account_key' | 'provider_session'>;

/** Binds the table to one database. */
export function initSession({ sequelize }: TableContext): typeof Session {
  return class extends Session {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      sha256: { type: DataTypes.CHAR(64), allowNull: false },
      state: { type: DataTypes.STRING(16), allowNull: false },
      method: { type: DataTypes.STRING(80), allowNull: false },
      account_key: nullable(DataTypes.CHAR(64)),
      provider_session: nullable(DataTypes.CHAR(64)),
      return_to: nullable(DataTypes.STRING(1024)),
      address: nullable(DataTypes.STRING(45)),
      user_agent: nullable(DataTypes.STRING(255)),
      inserted_at: { type: DataTypes.DATE(6), allowNull: false },
      seen_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'session', tableName: 'sessions', timestamps: false },
  );
}

/** Ends the sessions of users whose rights or password change, whoever changes them. */
export function endSessionsOfChangedUsers(
  users: typeof User,
  sessions: () => typeof Session,
): void {
  users.addHook('afterUpdate', 'sessions end', async (user: User, { transaction }) => {
    const isShutOut = user.disabled_at !== null && user.previous('disabled_at') === null;
    const isOther = (['password_hash', 'role'] as const).some(
      (name) => user.previous(name) !== user[name],
    );
    if (isShutOut || isOther)
      await sessions().destroy({ where: { user_id: user.id }, transaction: transaction ?? null });
  });
}
