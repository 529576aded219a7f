// Adds what identity providers say of groups: which entry made a group, made a user an
// administrator, and why the groups of an account are not those that its provider means.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, widenText } from './schema.ts';

const { STRING } = DataTypes;

/** Adds the columns, and makes room for the kind of a provider before its id. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'user_groups', 'provider', { type: STRING(80), allowNull: true });
  await addColumn(database, 'users', 'role_provider', { type: STRING(80), allowNull: true });
  await addColumn(database, 'identities', 'groups_problem', { type: STRING(16), allowNull: true });
  await widenText(database, 'group_memberships', 'source', 80);
}
