// The names of people, beside their e-mails. Never edited.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds them; it may run again. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'users', 'name', { type: DataTypes.STRING(255), allowNull: true });
}
