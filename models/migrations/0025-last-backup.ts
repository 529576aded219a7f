// When the database was backed up last, for gateways and for those who watch them. Never edited.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds it; it may run again. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'gateways', 'last_backup_at', {
    type: DataTypes.DATE(6),
    allowNull: true,
  });
}
