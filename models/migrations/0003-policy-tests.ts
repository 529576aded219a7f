// Adds the table of policy tests: packets that the rules must accept or drop.

import { DataTypes, type ModelAttributeColumnOptions } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

const { CHAR, DATE, INTEGER, STRING } = DataTypes;

/** Makes the table. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'policy_tests', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      name: text(255),
      user_id: childOf('users'),
      device_id: childOf('devices'),
      destination: text(45),
      protocol: text(8),
      port: { type: INTEGER, allowNull: true },
      expect: text(8),
      inserted_at: time(),
      updated_at: time(),
    },
    indexes: [['user_id'], ['device_id'], ['inserted_at', 'id']],
  });
}

function childOf(model: string): ModelAttributeColumnOptions {
  const references = { model, key: 'id' };
  return { type: CHAR(36), allowNull: true, references, onDelete: 'RESTRICT' };
}

function text(length: number): ModelAttributeColumnOptions {
  return { type: STRING(length), allowNull: false };
}

function time(): ModelAttributeColumnOptions {
  return { type: DATE(6), allowNull: false };
}
