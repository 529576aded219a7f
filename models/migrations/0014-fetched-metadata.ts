// What was fetched from the metadata addresses of SAML providers. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable, longText } from './schema.ts';

const { CHAR, DATE, INTEGER, STRING, TEXT } = DataTypes;

/** Makes the table. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'fetched_metadata', {
    columns: {
      provider_id: { type: STRING(64), primaryKey: true, allowNull: false },
      basis: { type: CHAR(64), allowNull: false },
      version: { type: INTEGER, allowNull: false },
      document: { type: longText(database), allowNull: true },
      former_certificates: { type: longText(database), allowNull: false },
      awaited_certificates: { type: longText(database), allowNull: false },
      fetched_at: { type: DATE(6), allowNull: true },
      asked_at: { type: DATE(6), allowNull: true },
      refresh_at: { type: DATE(6), allowNull: false },
      problem: { type: TEXT, allowNull: true },
    },
  });
}
