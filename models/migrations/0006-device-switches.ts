// Devices that administrators switch off, or let end on a date. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the columns. */
export async function up(database: Database): Promise<void> {
  for (const column of ['disabled_at', 'expires_at'])
    await addColumn(database, 'devices', column, { type: DataTypes.DATE(6), allowNull: true });
}
