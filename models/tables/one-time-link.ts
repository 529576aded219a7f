// The one_time_links table: addresses by which a person gets in once, to add a device or to choose
// another password. Only a SHA-256 of the secret in the address is kept; the secret is 32 random
// bytes, so nobody can find it from the hash. A user has one link of each purpose at most. Gateways
// do not act upon links, so they leave no change rows; code that makes or uses one adds it to the
// audit trail. A user who is disabled, or gets another e-mail, password or role, loses the unused
// ones in that same transaction. docs/api.md#enrolment.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { addLast } from '../storage/tracking.ts';
import { idColumn, nullable, type TableContext } from './columns.ts';
import type { User } from './user.ts';

/** What a link is for. */
export type LinkPurpose = 'enrolment' | 'password_reset';

/** One link. */
export class OneTimeLink extends Model<
  InferAttributes<OneTimeLink>,
  InferCreationAttributes<OneTimeLink>
> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  declare purpose: LinkPurpose;
  /** SHA-256 of the secret, 64 hex digits; unique. */
  declare sha256: string;
  /** The administrator who made it; null: a command, or the person at the sign-in page. */
  declare created_by: string | null;
  declare expires_at: Date;
  /** Null until it is used. */
  declare used_at: CreationOptional<Date | null>;
  /** When the mail server took the mail with it; null where none did. */
  declare mailed_at: CreationOptional<Date | null>;
  /**
   * Why no mail was sent, in a sentence; null if no mail was asked for, or if it was sent. A link
   * whose mail still waits says so here from the start, so that a crash loses no mail without a
   * trace.
   */
  declare mail_fault: CreationOptional<string | null>;
  declare inserted_at: Date;
}

/** Binds the table to one database. */
export function initOneTimeLink({ sequelize }: TableContext): typeof OneTimeLink {
  return class extends OneTimeLink {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      purpose: { type: DataTypes.STRING(16), allowNull: false },
      sha256: { type: DataTypes.CHAR(64), allowNull: false },
      created_by: nullable(DataTypes.CHAR(36)),
      expires_at: { type: DataTypes.DATE(6), allowNull: false },
      used_at: nullable(DataTypes.DATE(6)),
      mailed_at: nullable(DataTypes.DATE(6)),
      mail_fault: nullable(DataTypes.STRING(255)),
      inserted_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'one_time_link', tableName: 'one_time_links', timestamps: false },
  );
}

/** Ends the links of users who are disabled, or get another e-mail, password or role. */
export function endLinksOfChangedUsers(users: typeof User, links: () => typeof OneTimeLink): void {
  users.addHook('afterUpdate', 'links end', (user: User, options) => {
    const isShutOut = user.disabled_at !== null && user.previous('disabled_at') === null;
    const isOther = (['email_key', 'password_hash', 'role'] as const).some(
      (name) => user.previous(name) !== user[name],
    );
    if (!isShutOut && !isOther) return;
    const where = { user_id: user.id, used_at: null };
    const { transaction = null } = options;
    addLast(users, options, () => links().destroy({ where, transaction }));
  });
}
