// How an API token is made: `pst_` and 32 random bytes. docs/api.md#authentication.

import { randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** A new token, which nobody can guess. */
export function newApiToken(): string {
  return `pst_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}
