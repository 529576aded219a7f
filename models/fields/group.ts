// The fields of a group of users, and of a membership in one. docs/api.md#groups.

import { type ColumnsOf, fieldsOf, type NewColumnsOf } from './field.ts';

/** The source of a membership that an administrator made. */
export const MANUAL = 'manual';

/** The most groups; the packet path gives each a number. */
export const GROUPS_MAX = 10_000;
/**
 * The most groups that a user is in: a packet that opens a flow may ask the rules of all of them.
 */
export const GROUPS_OF_USER_MAX = 16;
/** The most groups of a provider for which an entry may name groups of Postern. */
export const GROUPS_MAPPED_MAX = 1_000;
/** The most characters of the name of a group. */
export const GROUP_NAME_CHARACTERS_MAX = 255;
/** Characters of a name that nobody sees, such as those that turn the direction of what follows. */
export const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** The form of an id. A name of this form could mean two groups. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The name of a group that a text means: texts that look alike by Unicode give the same name. */
export function groupNameOf(text: string): string {
  return text.trim().normalize('NFC');
}

/** The table of the record. */
export const groupFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    api: { kind: 'id', description: 'Names the group; never changes.', readOnly: true },
  },
  // Unique.
  name: {
    column: { kind: 'text', size: GROUP_NAME_CHARACTERS_MAX },
    audit: 'value',
    api: {
      kind: 'name',
      description: 'What people call it; no other group has the same name.',
      required: true,
      atLeast: 1,
      atMost: GROUP_NAME_CHARACTERS_MAX,
    },
  },
  description: {
    column: { kind: 'text', size: 255, nullable: true },
    audit: 'value',
    api: { kind: 'trimmed', description: 'Free text.', atMost: 255 },
  },
  // The entry that made the group may name it by the group's own name.
  provider: {
    column: { kind: 'text', size: 80, nullable: true },
    audit: 'value',
    api: {
      kind: 'text',
      description:
        'The identity provider whose entry made the group, as `oidc/okta`; null: an administrator did, or the entry is gone.',
      readOnly: true,
    },
  },
  inserted_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the group was made.', readOnly: true },
  },
  updated_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the group was changed last.', readOnly: true },
  },
});

/** The columns of a group. */
export type GroupColumns = ColumnsOf<typeof groupFields>;

/** The columns of a group that is to be made. */
export type NewGroupColumns = NewColumnsOf<typeof groupFields>;

/** The table of memberships. Each source may say once that a user is a member. */
export const groupMembershipFields = fieldsOf({
  id: { column: { kind: 'id' }, audit: 'nothing' },
  group_id: { column: { kind: 'char', size: 36 }, audit: 'value' },
  user_id: { column: { kind: 'char', size: 36 }, audit: 'value' },
  // Who says so: an administrator, or an identity provider, as `oidc/okta`.
  source: { column: { kind: 'text', size: 80, default: MANUAL }, audit: 'value' },
  inserted_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
  updated_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
});

/** The columns of a membership. */
export type GroupMembershipColumns = ColumnsOf<typeof groupMembershipFields>;

/** The columns of a membership that is to be made. */
export type NewGroupMembershipColumns = NewColumnsOf<typeof groupMembershipFields>;
