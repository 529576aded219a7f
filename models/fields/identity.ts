// The fields of an identity: one account at an identity provider, bound to one user.
// docs/api.md#sign-in.

import { type ColumnsOf, fieldsOf, type NewColumnsOf } from './field.ts';

/** The table of the record. */
export const identityFields = fieldsOf({
  id: { column: { kind: 'id' }, audit: 'nothing' },
  user_id: { column: { kind: 'char', size: 36 }, audit: 'value' },
  // Which protocol the provider speaks.
  kind: { column: { kind: 'text', size: 8, words: ['oidc', 'saml'] }, audit: 'value' },
  // The id of the provider's entry in the configuration; unique within one protocol.
  provider_id: { column: { kind: 'text', size: 64 }, audit: 'value' },
  // How the provider names itself: the issuer, or the entity id.
  issuer: { column: { kind: 'long text' }, audit: 'value' },
  // How it names the account; never reused for another one.
  subject: { column: { kind: 'long text' }, audit: 'value' },
  // See `identityKey`; unique.
  account_key: { column: { kind: 'char', size: 64 }, audit: 'nothing' },
  // Until when another account may take its place; null: never. See queries/relinking.ts.
  relink_until: { column: { kind: 'time', nullable: true }, audit: 'value' },
  // Why the account's groups are not those that the provider means; null: they are.
  groups_problem: {
    column: {
      kind: 'text',
      size: 16,
      words: ['overage', 'unreadable', 'too_many_names', 'left_out'],
      nullable: true,
    },
    audit: 'value',
  },
  inserted_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
  updated_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
});

/** The columns of an identity. */
export type IdentityColumns = ColumnsOf<typeof identityFields>;

/** The columns of an identity that is to be made. */
export type NewIdentityColumns = NewColumnsOf<typeof identityFields>;

/** Why the groups of an account are not those that its provider means. */
export type GroupsError = NonNullable<IdentityColumns['groups_problem']>;

/** What a provider says of groups: their names as it writes them, or why they cannot be read. */
export type GroupsSaid =
  { readonly names: readonly string[] } | { readonly problem: Exclude<GroupsError, 'left_out'> };

/** Which protocol a provider speaks; ids of providers are unique within one. */
export type ProviderKind = IdentityColumns['kind'];

/** The method of a provider: `oidc/okta`. Ids hold no slash. */
export function methodOf(kind: ProviderKind, providerId: string): string {
  return `${kind}/${providerId}`;
}
