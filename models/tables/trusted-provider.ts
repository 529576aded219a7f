// The trusted_providers table: identity providers whose word on e-mail addresses an administrator
// believes. The mark is for an entry and for the address that it had then: an entry that is changed
// to another provider must be marked again. It is no part of /v0. docs/api.md#trusted-providers.

import {
  type NewTrustedProviderColumns,
  type TrustedProviderColumns,
  trustedProviderFields,
} from '../fields/trusted-provider.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** One mark; its columns are properties of it. */
export class TrustedProvider extends modelOf<TrustedProviderColumns, NewTrustedProviderColumns>() {}

/** Binds the table to one database. */
export function initTrustedProvider(context: TableContext): typeof TrustedProvider {
  const { sequelize } = context;
  const columns = columnsFrom(trustedProviderFields, 'trusted_providers', context);
  return class extends TrustedProvider {}.init(columns, {
    sequelize,
    modelName: 'trusted_provider',
    tableName: 'trusted_providers',
    ...timestamps,
  });
}
