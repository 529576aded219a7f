// What a device's client file was made with, so that a page can say when it is out of date. Never
// edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Makes the column. */
export async function up(database: Database): Promise<void> {
  const type = DataTypes.CHAR(64);
  await addColumn(database, 'devices', 'client_file_sha256', { type, allowNull: true });
}
