// Adds groups of users, who is in them, and rules for a group.

import { DataTypes, type ModelAttributeColumnOptions } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, addIndex, createTable } from './schema.ts';

const { CHAR, DATE, STRING } = DataTypes;

/** Makes the tables and the column. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'user_groups', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      name: { type: STRING(255), allowNull: false },
      description: { type: STRING(255), allowNull: true },
      ...timestamps(),
    },
    unique: [['name']],
    indexes: [['inserted_at', 'id']],
  });
  await createTable(database, 'group_memberships', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      group_id: { ...childOf('user_groups'), allowNull: false },
      user_id: { ...childOf('users'), allowNull: false },
      source: { type: STRING(64), allowNull: false },
      ...timestamps(),
    },
    unique: [['group_id', 'user_id', 'source']],
    indexes: [['user_id']],
  });
  await addColumn(database, 'rules', 'group_id', { ...childOf('user_groups'), allowNull: true });
  await addIndex(database, 'rules', ['group_id', 'action', 'family', 'range_start']);
}

/** RESTRICT: the removal of a group names its members and rules. */
function childOf(model: string): ModelAttributeColumnOptions {
  return { type: CHAR(36), references: { model, key: 'id' }, onDelete: 'RESTRICT' };
}

function timestamps(): Record<'inserted_at' | 'updated_at', ModelAttributeColumnOptions> {
  const time = (): ModelAttributeColumnOptions => ({ type: DATE(6), allowNull: false });
  return { inserted_at: time(), updated_at: time() };
}
