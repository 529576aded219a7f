// Rules say what they are for, and may be switched off.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the columns. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'rules', 'description', {
    type: DataTypes.STRING(255),
    allowNull: true,
  });
  await addColumn(database, 'rules', 'enabled', {
    type: DataTypes.BOOLEAN,
    allowNull: false,
    defaultValue: true,
  });
}
