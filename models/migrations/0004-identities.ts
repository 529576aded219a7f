// Sign-in through identity providers: who is bound to whom, what providers gave, sign-ins under
// way, assertions that were used, providers that are trusted. Never edited once released.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

const { CHAR, DATE, INTEGER, STRING, TEXT } = DataTypes;

/** Makes the tables. */
export async function up(database: Database): Promise<void> {
  await createIdentities(database);
  await createSignIns(database);
  await createTable(database, 'trusted_providers', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      kind: { type: STRING(8), allowNull: false },
      provider_id: { type: STRING(64), allowNull: false },
      authority: { type: TEXT, allowNull: false },
      ...timestamps(),
    },
    unique: [['kind', 'provider_id']],
  });
}

async function createIdentities(database: Database): Promise<void> {
  await createTable(database, 'identities', {
    columns: {
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      user_id: {
        type: CHAR(36),
        allowNull: false,
        references: { model: 'users', key: 'id' },
        onDelete: 'RESTRICT',
      },
      kind: { type: STRING(8), allowNull: false },
      provider_id: { type: STRING(64), allowNull: false },
      issuer: { type: TEXT, allowNull: false },
      subject: { type: TEXT, allowNull: false },
      account_key: { type: CHAR(64), allowNull: false },
      ...timestamps(),
    },
    unique: [['account_key']],
    indexes: [['user_id']],
  });
  await createTable(database, 'identity_tokens', {
    columns: {
      identity_id: {
        type: CHAR(36),
        primaryKey: true,
        allowNull: false,
        references: { model: 'identities', key: 'id' },
        onDelete: 'RESTRICT',
      },
      tokens: { type: TEXT, allowNull: true },
      version: { type: INTEGER, allowNull: false },
      refresh_at: { type: DATE(6), allowNull: true },
      claimed_by: { type: CHAR(36), allowNull: true },
      claimed_until: { type: DATE(6), allowNull: true },
      refreshed_at: { type: DATE(6), allowNull: true },
      error: { type: STRING(64), allowNull: true },
    },
    indexes: [['refresh_at']],
  });
}

async function createSignIns(database: Database): Promise<void> {
  await createTable(database, 'sign_in_requests', {
    columns: {
      id: { type: CHAR(64), primaryKey: true, allowNull: false },
      kind: { type: STRING(8), allowNull: false },
      provider_id: { type: STRING(64), allowNull: false },
      browser_sha256: { type: CHAR(64), allowNull: false },
      user_id: { type: CHAR(36), allowNull: true },
      secrets: { type: TEXT, allowNull: true },
      inserted_at: { type: DATE(6), allowNull: false },
      expires_at: { type: DATE(6), allowNull: false },
    },
    indexes: [['inserted_at'], ['expires_at']],
  });
  await createTable(database, 'used_assertions', {
    columns: {
      id: { type: CHAR(64), primaryKey: true, allowNull: false },
      expires_at: { type: DATE(6), allowNull: false },
    },
    indexes: [['expires_at']],
  });
}

// Made anew for each table: Sequelize turns types into those of its database in place.
function timestamps() {
  return {
    inserted_at: { type: DATE(6), allowNull: false },
    updated_at: { type: DATE(6), allowNull: false },
  };
}
