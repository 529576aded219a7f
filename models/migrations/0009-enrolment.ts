// Adds the table of one-time links, by which people add a device or choose another password.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

const { CHAR, DATE, STRING } = DataTypes;

/** Makes the table. */
export async function up(database: Database): Promise<void> {
  const owner = { model: 'users', key: 'id' };
  await createTable(database, 'one_time_links', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      user_id: { type: CHAR(36), allowNull: false, references: owner, onDelete: 'RESTRICT' },
      purpose: { type: STRING(16), allowNull: false },
      sha256: { type: CHAR(64), allowNull: false },
      created_by: { type: CHAR(36), allowNull: true },
      expires_at: { type: DATE(6), allowNull: false },
      used_at: { type: DATE(6), allowNull: true },
      mailed_at: { type: DATE(6), allowNull: true },
      mail_fault: { type: STRING(255), allowNull: true },
      inserted_at: { type: DATE(6), allowNull: false },
    },
    unique: [['sha256'], ['user_id', 'purpose']],
    indexes: [['expires_at']],
  });
}
