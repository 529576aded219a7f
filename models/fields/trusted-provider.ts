// The fields of a mark that an identity provider is trusted. docs/api.md#trusted-providers.

import { type ColumnsOf, fieldsOf, type NewColumnsOf } from './field.ts';

/** The table of the record. */
export const trustedProviderFields = fieldsOf({
  id: { column: { kind: 'id' }, audit: 'nothing' },
  kind: { column: { kind: 'text', size: 8, words: ['oidc', 'saml'] }, audit: 'value' },
  // The id of the provider's entry; marked at most once.
  provider_id: { column: { kind: 'text', size: 64 }, audit: 'value' },
  // Who it was: the address of the discovery document, or the entity id.
  authority: { column: { kind: 'long text' }, audit: 'value' },
  inserted_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
  updated_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
});

/** The columns of a mark. */
export type TrustedProviderColumns = ColumnsOf<typeof trustedProviderFields>;

/** The columns of a mark that is to be made. */
export type NewTrustedProviderColumns = NewColumnsOf<typeof trustedProviderFields>;
