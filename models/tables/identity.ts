// The identities table: which account at an identity provider is which user. The key is a hash of
// provider, issuer and subject together, so that it has a limited length, and an entry that is
// changed to another issuer admits no strangers. docs/api.md#sign-in.

import { createHash } from 'node:crypto';
import {
  type IdentityColumns,
  identityFields,
  type NewIdentityColumns,
} from '../fields/identity.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** An account as a provider names it. */
export type ProviderAccount = Pick<IdentityColumns, 'kind' | 'provider_id' | 'issuer' | 'subject'>;

/** One account at a provider, bound to one user; its columns are properties of it. */
export class Identity extends modelOf<IdentityColumns, NewIdentityColumns>() {}

/** The key under which an account is kept: SHA-256, 64 hex digits. */
export function identityKey({ kind, provider_id, issuer, subject }: ProviderAccount): string {
  const text = JSON.stringify([kind, provider_id, issuer, subject]);
  return createHash('sha256').update(text).digest('hex');
}

/** Binds the table to one database. */
export function initIdentity(context: TableContext): typeof Identity {
  const { sequelize } = context;
  return class extends Identity {}.init(columnsFrom(identityFields, 'identities', context), {
    sequelize,
    modelName: 'identity',
    tableName: 'identities',
    ...timestamps,
  });
}
