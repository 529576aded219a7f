// Devices may have networks behind them, and the files of other devices may name these.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the columns. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'devices', 'routes', { type: DataTypes.TEXT, allowNull: true });
  await addColumn(database, 'configurations', 'default_client_include_routes', {
    type: DataTypes.BOOLEAN,
    allowNull: false,
    defaultValue: false,
  });
}
