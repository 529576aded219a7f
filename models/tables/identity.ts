// The identities table: which account at an identity provider is which user. The key is a hash of
// provider, issuer and subject together, so that it has a bounded length and a provider's entry
// that is turned to another issuer does not let strangers in. docs/api.md#sign-in.

import { createHash } from 'node:crypto';
import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import {
  idColumn,
  type TableContext,
  timeColumn,
  timestampColumns,
  timestamps,
} from './columns.ts';

/** Which protocol a provider speaks; ids of providers are unique within one. */
export type ProviderKind = 'oidc' | 'saml';

/** An account as a provider names it. */
export interface ProviderAccount {
  kind: ProviderKind;
  /** The id of the provider's entry in the configuration. */
  provider_id: string;
  /** How the provider names itself: the issuer, or the entity id. */
  issuer: string;
  /** How it names the account; never reused for another one. */
  subject: string;
}

/** One account at a provider, bound to one user. */
export class Identity extends Model<InferAttributes<Identity>, InferCreationAttributes<Identity>> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  declare kind: ProviderKind;
  declare provider_id: string;
  declare issuer: string;
  declare subject: string;
  /** See `identityKey`; unique. */
  declare account_key: string;
  /** Until when another account may take its place; null: never. See queries/relinking.ts. */
  declare relink_until: CreationOptional<Date | null>;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
}

/** The key under which an account is kept: SHA-256, 64 hex digits. */
export function identityKey({ kind, provider_id, issuer, subject }: ProviderAccount): string {
  const text = JSON.stringify([kind, provider_id, issuer, subject]);
  return createHash('sha256').update(text).digest('hex');
}

/** Binds the table to one database. */
export function initIdentity({ sequelize }: TableContext): typeof Identity {
  return class extends Identity {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      kind: { type: DataTypes.STRING(8), allowNull: false },
      provider_id: { type: DataTypes.STRING(64), allowNull: false },
      issuer: { type: DataTypes.TEXT, allowNull: false },
      subject: { type: DataTypes.TEXT, allowNull: false },
      account_key: { type: DataTypes.CHAR(64), allowNull: false },
      relink_until: timeColumn(),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'identity', tableName: 'identities', ...timestamps },
  );
}
