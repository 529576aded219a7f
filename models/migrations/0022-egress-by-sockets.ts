// What a gateway that has no TUN needs to know and to say. A database that an earlier version has
// used is marked as such: there the setting `auto` opens no network that was closed before. Never
// edited.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds all of it; it may run again. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'configurations', 'auto_sockets', {
    type: DataTypes.BOOLEAN,
    allowNull: false,
    defaultValue: false,
  });
  await addColumn(database, 'gateways', 'egress', { type: DataTypes.STRING(16), allowNull: true });
  await addColumn(database, 'gateways', 'egress_reason', { type: DataTypes.TEXT, allowNull: true });
}
