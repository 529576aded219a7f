// Until when the account of an identity may be replaced by another one of the same provider. Never
// edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  const column = { type: DataTypes.DATE(6), allowNull: true };
  await addColumn(database, 'identities', 'relink_until', column);
}
