// Which account at a provider a session began with, and which session of the provider it was, so
// that the provider can end exactly that one. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, addIndex } from './schema.ts';

/** Adds both columns and an index. */
export async function up(database: Database): Promise<void> {
  const column = { type: DataTypes.CHAR(64), allowNull: true };
  await addColumn(database, 'sessions', 'account_key', column);
  await addColumn(database, 'sessions', 'provider_session', column);
  await addIndex(database, 'sessions', ['account_key']);
}
