// From which network each sign-in under way began, as hashes, so that few networks cannot take the
// places of all others. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, addIndex } from './schema.ts';

/** Adds both columns, and an index by which they are counted. */
export async function up(database: Database): Promise<void> {
  const column = { type: DataTypes.CHAR(64), allowNull: true };
  await addColumn(database, 'sign_in_requests', 'network_sha256', column);
  await addColumn(database, 'sign_in_requests', 'scope_sha256', column);
  const counted = ['network_sha256', 'scope_sha256', 'inserted_at'];
  await addIndex(database, 'sign_in_requests', counted);
}
