// What happens to a packet that no rule matches. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the column; its default is also what an earlier version that still runs writes. */
export async function up(database: Database): Promise<void> {
  const type = DataTypes.STRING(16);
  const column = { type, allowNull: false, defaultValue: 'accept' };
  await addColumn(database, 'configurations', 'default_action', column);
}
