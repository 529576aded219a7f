// The status of a device knows at which address of the gateway it was heard.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  const type = DataTypes.STRING(45);
  await addColumn(database, 'device_statuses', 'own_ip', { type, allowNull: true });
}
