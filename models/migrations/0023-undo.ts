// Keeps which change of the console can be undone, and by which session.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

/** Makes the table. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'undos', {
    columns: {
      id: { type: DataTypes.CHAR(36), primaryKey: true, allowNull: false },
      session_id: { type: DataTypes.CHAR(36), allowNull: false },
      entries: { type: DataTypes.TEXT, allowNull: false },
      inserted_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    indexes: [['inserted_at']],
  });
}
