// Keeps of each user whether they put the first steps of the dashboard away.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  const column = { type: DataTypes.DATE(6), allowNull: true };
  await addColumn(database, 'users', 'first_steps_dismissed_at', column);
}
