// A gateway says which schema it knows.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  const type = DataTypes.STRING(64);
  await addColumn(database, 'gateways', 'schema_step', { type, allowNull: true });
}
