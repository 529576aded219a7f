// Devices have limits: their own, those of their owner, or those of the configuration.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the columns. */
export async function up(database: Database): Promise<void> {
  const limit = { type: DataTypes.BIGINT, allowNull: true };
  for (const direction of ['down', 'up']) {
    await addColumn(database, 'configurations', `default_limit_${direction}`, limit);
    await addColumn(database, 'users', `limit_${direction}`, limit);
    await addColumn(database, 'devices', `limit_${direction}`, limit);
  }
}
