// The fields of an API token. It is no record of /v0. docs/api.md#authentication.

import { type ColumnsOf, fieldsOf, type NewColumnsOf } from './field.ts';

/** The table of the record. */
export const apiTokenFields = fieldsOf({
  id: { column: { kind: 'id' }, audit: 'nothing' },
  user_id: { column: { kind: 'char', size: 36 }, audit: 'value' },
  name: { column: { kind: 'text', size: 255 }, audit: 'value' },
  // Words with spaces between; docs/api.md#scopes.
  scopes: { column: { kind: 'text', size: 64, default: 'admin' }, audit: 'value' },
  // SHA-256 of the whole token, 64 hex digits; unique.
  sha256: { column: { kind: 'char', size: 64 }, audit: 'nothing' },
  // Null: does not expire.
  expires_at: { column: { kind: 'time', nullable: true }, audit: 'value' },
  // `touchToken` alone writes it, at most once a minute.
  last_used_at: { column: { kind: 'time', nullable: true }, audit: 'nothing' },
  inserted_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
  updated_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
});

/** The columns of a token. */
export type ApiTokenColumns = ColumnsOf<typeof apiTokenFields>;

/** The columns of a token that is to be made. */
export type NewApiTokenColumns = NewColumnsOf<typeof apiTokenFields>;
