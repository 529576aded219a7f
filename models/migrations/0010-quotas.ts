// Users have quotas, and what they have used of them is kept by month and by gateway.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, createTable } from './schema.ts';

const { BIGINT, CHAR, INTEGER } = DataTypes;

/** Adds the columns and the table. */
export async function up(database: Database): Promise<void> {
  const quota = { type: BIGINT, allowNull: true };
  await addColumn(database, 'configurations', 'default_quota', quota);
  await addColumn(database, 'users', 'quota', quota);
  const key = { primaryKey: true, allowNull: false };
  await createTable(database, 'quota_usage', {
    columns: {
      user_id: {
        type: CHAR(36),
        ...key,
        references: { model: 'users', key: 'id' },
        onDelete: 'CASCADE',
      },
      // The year and the month in UTC: 202611.
      month: { type: INTEGER, ...key },
      gateway_id: { type: CHAR(36), ...key },
      bytes: { type: BIGINT, allowNull: false },
    },
  });
}
