// The api_tokens table: tokens that open the API. Only a SHA-256 of each token is kept; a token is
// 32 random bytes, so nobody can find it from the hash, and the hash needs no salt.
// docs/api.md#authentication.

import type { NonAttribute } from 'sequelize';
import {
  type ApiTokenColumns,
  apiTokenFields,
  type NewApiTokenColumns,
} from '../fields/api-token.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';
import type { User } from './user.ts';

/** One API token; its columns are properties of it. */
export class ApiToken extends modelOf<ApiTokenColumns, NewApiTokenColumns>() {
  /** Present when the query included it. */
  declare user?: NonAttribute<User>;
}

/** Binds the table to one database. */
export function initApiToken(context: TableContext): typeof ApiToken {
  const { sequelize } = context;
  return class extends ApiToken {}.init(columnsFrom(apiTokenFields, 'api_tokens', context), {
    sequelize,
    modelName: 'api_token',
    tableName: 'api_tokens',
    ...timestamps,
  });
}
