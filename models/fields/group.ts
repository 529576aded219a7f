// The fields of a group of users, and of a membership in one. docs/api.md#groups.

import { type ColumnsOf, fieldsOf, type NewColumnsOf } from './field.ts';

/** The source of a membership that an administrator made. */
export const MANUAL = 'manual';

/** The table of the record. */
export const groupFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    api: { kind: 'id', description: 'Names the group; never changes.', readOnly: true },
  },
  // Unique.
  name: {
    column: { kind: 'text', size: 255 },
    audit: 'value',
    api: {
      kind: 'trimmed',
      description: 'What people call it; no other group has the same name.',
      required: true,
      atLeast: 1,
      atMost: 255,
    },
  },
  description: {
    column: { kind: 'text', size: 255, nullable: true },
    audit: 'value',
    api: { kind: 'trimmed', description: 'Free text.', atMost: 255 },
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
  // Who says so: an administrator, or the identity provider of that id.
  source: { column: { kind: 'text', size: 64, default: MANUAL }, audit: 'value' },
  inserted_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
  updated_at: { column: { kind: 'timestamp' }, audit: 'nothing' },
});

/** The columns of a membership. */
export type GroupMembershipColumns = ColumnsOf<typeof groupMembershipFields>;

/** The columns of a membership that is to be made. */
export type NewGroupMembershipColumns = NewColumnsOf<typeof groupMembershipFields>;
