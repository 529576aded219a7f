// Which API token each gateway's environment asks for, so that several gateways on one database do
// not void each other's. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  const column = { type: DataTypes.CHAR(64), allowNull: true };
  await addColumn(database, 'gateways', 'bootstrap_sha256', column);
}
