// The trusted_providers table: identity providers whose word on e-mail addresses an administrator
// believes. The mark is for an entry and for the address that it had then: who changes the entry to
// another provider must mark it again. It is no part of /v0. docs/api.md#trusted-providers.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { idColumn, type TableContext, timestampColumns, timestamps } from './columns.ts';
import type { ProviderKind } from './identity.ts';

/** One mark. */
export class TrustedProvider extends Model<
  InferAttributes<TrustedProvider>,
  InferCreationAttributes<TrustedProvider>
> {
  declare id: CreationOptional<string>;
  declare kind: ProviderKind;
  /** The id of the provider's entry; marked at most once. */
  declare provider_id: string;
  /** Who it was: the address of the discovery document, or the entity id. */
  declare authority: string;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
}

/** Binds the table to one database. */
export function initTrustedProvider({ sequelize }: TableContext): typeof TrustedProvider {
  return class extends TrustedProvider {}.init(
    {
      id: idColumn(),
      kind: { type: DataTypes.STRING(8), allowNull: false },
      provider_id: { type: DataTypes.STRING(64), allowNull: false },
      authority: { type: DataTypes.TEXT, allowNull: false },
      ...timestampColumns(),
    },
    {
      sequelize,
      modelName: 'trusted_provider',
      tableName: 'trusted_providers',
      ...timestamps,
    },
  );
}
