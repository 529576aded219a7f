// What a test sign-in found that a SAML provider signs. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

const { CHAR, DATE, STRING } = DataTypes;

/** Makes the table. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'saml_tests', {
    columns: {
      provider_id: { type: STRING(64), primaryKey: true, allowNull: false },
      metadata_sha256: { type: CHAR(64), allowNull: false },
      signed: { type: STRING(16), allowNull: false },
      tested_at: { type: DATE(6), allowNull: false },
    },
  });
}
