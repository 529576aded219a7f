// Who switched a device off: its owner, who may switch it on again, or an administrator. Never
// edited.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds it; it may run again. Devices that are off already were switched off by administrators. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'devices', 'disabled_by', {
    type: DataTypes.STRING(16),
    allowNull: true,
  });
}
