// Rules say what they are for, may be switched off, and may have a start and an end.

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
  for (const name of ['starts_at', 'ends_at'])
    await addColumn(database, 'rules', name, { type: DataTypes.DATE(6), allowNull: true });
}
