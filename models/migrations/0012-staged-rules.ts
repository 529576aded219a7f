// Rules may name ICMP.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'rules', 'protocol', { type: DataTypes.STRING(8), allowNull: true });
}
