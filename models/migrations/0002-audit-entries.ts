// The audit trail: who changed what, when, and from where. Entries refer to nothing, so that they
// outlive the users and records that they are about. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable, longText } from './schema.ts';

const { CHAR, DATE, STRING } = DataTypes;

/** Makes the table. Its key begins with the time, so it needs no other index. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'audit_entries', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      happened_at: { type: DATE(6), allowNull: false },
      actor: { type: STRING(16), allowNull: false },
      user_id: { type: CHAR(36), allowNull: true },
      email: { type: STRING(255), allowNull: true },
      token_id: { type: CHAR(36), allowNull: true },
      action: { type: STRING(32), allowNull: false },
      kind: { type: STRING(32), allowNull: false },
      record_id: { type: STRING(64), allowNull: false },
      changes: { type: longText(database), allowNull: false },
      request_id: { type: STRING(64), allowNull: true },
      address: { type: STRING(45), allowNull: true },
    },
  });
}
