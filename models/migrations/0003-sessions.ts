// Signing in: sessions, second factors with their recovery codes, attempts that failed, and which
// provider shut a user out. Never edited once released.

import { DataTypes, type ModelAttributeColumnOptions } from 'sequelize';
import type { Database } from '../database/database.ts';
import { addColumn, createTable } from './schema.ts';

const { BIGINT, CHAR, DATE, INTEGER, STRING, TEXT } = DataTypes;

/** Makes the tables and the column. */
export async function up(database: Database): Promise<void> {
  await addColumn(database, 'users', 'disabled_provider', { type: STRING(80), allowNull: true });
  await createTable(database, 'sessions', {
    columns: {
      id: id(),
      user_id: owner(),
      sha256: { type: CHAR(64), allowNull: false },
      state: { type: STRING(16), allowNull: false },
      method: { type: STRING(80), allowNull: false },
      return_to: { type: STRING(1024), allowNull: true },
      address: { type: STRING(45), allowNull: true },
      user_agent: { type: STRING(255), allowNull: true },
      inserted_at: { type: DATE(6), allowNull: false },
      seen_at: { type: DATE(6), allowNull: false },
    },
    unique: [['sha256']],
    indexes: [['user_id', 'seen_at'], ['seen_at']],
  });
  await createTable(database, 'second_factors', {
    columns: {
      id: id(),
      user_id: owner(),
      name: { type: STRING(255), allowNull: false },
      secret: { type: TEXT, allowNull: false },
      last_step: { type: BIGINT, allowNull: false },
      last_used_at: { type: DATE(6), allowNull: true },
      inserted_at: { type: DATE(6), allowNull: false },
    },
    indexes: [['user_id', 'inserted_at']],
  });
  await createTable(database, 'recovery_codes', {
    columns: {
      id: id(),
      user_id: owner(),
      sha256: { type: CHAR(64), allowNull: false },
    },
    unique: [['user_id', 'sha256']],
  });
  await createTable(database, 'sign_in_attempts', {
    columns: {
      sha256: { type: CHAR(64), primaryKey: true, allowNull: false },
      kind: { type: STRING(16), allowNull: false },
      count: { type: INTEGER, allowNull: false },
      expires_at: { type: DATE(6), allowNull: false },
    },
    indexes: [['expires_at']],
  });
}

function id(): ModelAttributeColumnOptions {
  return { type: CHAR(36), primaryKey: true, allowNull: false };
}

/** RESTRICT: whoever removes a user removes these by name. */
function owner(): ModelAttributeColumnOptions {
  return {
    type: CHAR(36),
    allowNull: false,
    references: { model: 'users', key: 'id' },
    onDelete: 'RESTRICT',
  };
}
