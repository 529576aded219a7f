// What each gateway runs with, so that commands in another shell say the same to devices. Never
// edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, longText } from './schema.ts';

/** Adds the columns. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'gateways', 'settings', { type: longText(database), allowNull: true });
  const key = { type: DataTypes.CHAR(44), allowNull: true };
  await addColumn(database, 'gateways', 'public_key', key);
}
