// API tokens have scopes. Those that were made before have all rights, as they had.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'api_tokens', 'scopes', {
    type: DataTypes.STRING(64),
    allowNull: false,
    defaultValue: 'admin',
  });
}
