// Since when each device is at the gateway that heard it last, and an index, so that the others
// learn which devices went there at the cost of those. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, addIndex } from './schema.ts';

/** Adds the column, says what is known, and adds the index. */
export async function up(database: Database): Promise<void> {
  const column = { type: DataTypes.DATE(6), allowNull: true };
  await addColumn(database, 'device_statuses', 'arrived_at', column);
  await database.sequelize.query(
    'UPDATE device_statuses SET arrived_at = latest_handshake WHERE arrived_at IS NULL',
  );
  await addIndex(database, 'device_statuses', ['gateway_id', 'arrived_at']);
}
