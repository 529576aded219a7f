// Entries of the audit trail say by name which record they are about, whose it is, and which token
// was used. Entries of before have no names. Never edited.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn } from './schema.ts';

/** Adds the columns; it may run again. */
export async function up(database: Database): Promise<void> {
  for (const column of ['record_name', 'owner_name', 'token_name'])
    await addColumn(database, 'audit_entries', column, {
      type: DataTypes.STRING(255),
      allowNull: true,
    });
}
