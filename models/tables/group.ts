// The user_groups and group_memberships tables: users whom rules can name together. MySQL reserves
// the word GROUPS. docs/api.md#groups.

import {
  type GroupColumns,
  groupFields,
  type GroupMembershipColumns,
  groupMembershipFields,
  type NewGroupColumns,
  type NewGroupMembershipColumns,
} from '../fields/group.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** One group; its columns are properties of it. */
export class Group extends modelOf<GroupColumns, NewGroupColumns>() {}

/** One membership. Its change rows name the user: gateways read all groups of a user together. */
export class GroupMembership extends modelOf<GroupMembershipColumns, NewGroupMembershipColumns>() {}

/** Binds the table to one database. */
export function initGroup(context: TableContext): typeof Group {
  const { sequelize } = context;
  return class extends Group {}.init(columnsFrom(groupFields, 'user_groups', context), {
    sequelize,
    modelName: 'group',
    tableName: 'user_groups',
    ...timestamps,
  });
}

/** Binds the table of memberships to one database. */
export function initGroupMembership(context: TableContext): typeof GroupMembership {
  const { sequelize } = context;
  const columns = columnsFrom(groupMembershipFields, 'group_memberships', context);
  return class extends GroupMembership {}.init(columns, {
    sequelize,
    modelName: 'group_membership',
    tableName: 'group_memberships',
    ...timestamps,
  });
}
