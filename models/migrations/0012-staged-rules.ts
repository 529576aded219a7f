// Rules may name ICMP, and may be staged.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the columns. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'rules', 'protocol', { type: DataTypes.STRING(8), allowNull: true });
  await addColumn(database, 'rules', 'enforced', {
    type: DataTypes.BOOLEAN,
    allowNull: false,
    defaultValue: true,
  });
}
