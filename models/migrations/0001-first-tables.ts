// The first tables: users and what is theirs, the configuration, what gateways report, and the
// revision by which they follow changes. Never edited once released; later changes are later
// migrations. It imports nothing of the tables' classes, which will have moved on by then.

import { DataTypes, type ModelAttributeColumnOptions } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable, insertIfAbsent, longText } from './schema.ts';

const { BIGINT, BOOLEAN, CHAR, DATE, INTEGER, STRING, TEXT, TINYINT } = DataTypes;

/** Makes the tables and the rows that are always there. */
export async function up(database: Database): Promise<void> {
  await createUsers(database);
  await createDevices(database);
  await createRules(database);
  await createConfigurations(database);
  await createApiTokens(database);
  await createSecrets(database);
  await createGateways(database);
  await createRevisions(database);
}

async function createUsers(database: Database): Promise<void> {
  await createTable(database, 'users', {
    columns: {
      id: id(),
      email: { type: STRING(255), allowNull: false },
      // NFC may make three code points of one; 768 is also the most that MySQL can index.
      email_key: { type: STRING(768), allowNull: false },
      role: { type: STRING(16), allowNull: false },
      password_hash: { type: STRING(255), allowNull: true },
      disabled_at: time(),
      disabled_by: { type: STRING(16), allowNull: true },
      last_signed_in_at: time(),
      last_signed_in_method: { type: STRING(64), allowNull: true },
      ...timestamps(),
    },
    unique: [['email_key']],
    indexes: [['inserted_at', 'id']],
  });
}

async function createDevices(database: Database): Promise<void> {
  await createTable(database, 'devices', {
    columns: {
      id: id(),
      user_id: { ...owner(), allowNull: false },
      name: { type: STRING(255), allowNull: false },
      description: { type: STRING(2048), allowNull: true },
      public_key: { type: CHAR(44), allowNull: false },
      preshared_key: { type: TEXT, allowNull: false },
      ipv4: { type: STRING(15), allowNull: true },
      ipv4_key: { type: CHAR(8), allowNull: true },
      ipv6: { type: STRING(45), allowNull: true },
      ipv6_key: { type: CHAR(32), allowNull: true },
      use_default_allowed_ips: flag(),
      use_default_dns: flag(),
      use_default_endpoint: flag(),
      use_default_mtu: flag(),
      use_default_persistent_keepalive: flag(),
      allowed_ips: { type: longText(database), allowNull: true },
      dns: { type: longText(database), allowNull: true },
      endpoint: { type: TEXT, allowNull: true },
      mtu: { type: INTEGER, allowNull: true },
      persistent_keepalive: { type: INTEGER, allowNull: true },
      ...timestamps(),
    },
    unique: [['user_id', 'name'], ['public_key'], ['ipv4_key'], ['ipv6_key']],
    indexes: [['inserted_at', 'id']],
  });
}

async function createRules(database: Database): Promise<void> {
  await createTable(database, 'rules', {
    columns: {
      id: id(),
      action: { type: STRING(16), allowNull: false },
      destination: { type: STRING(64), allowNull: false },
      family: { type: TINYINT, allowNull: false },
      range_start: { type: STRING(32), allowNull: false },
      range_end: { type: STRING(32), allowNull: false },
      port_type: { type: STRING(8), allowNull: true },
      port_start: { type: INTEGER, allowNull: true },
      port_end: { type: INTEGER, allowNull: true },
      user_id: { ...owner(), allowNull: true },
      ...timestamps(),
    },
    indexes: [
      ['user_id', 'action', 'family', 'range_start', 'range_end'],
      ['inserted_at', 'id'],
    ],
  });
}

async function createConfigurations(database: Database): Promise<void> {
  await createTable(database, 'configurations', {
    columns: {
      id: id(),
      singleton: { type: TINYINT, allowNull: false },
      allow_unprivileged_device_management: flag(),
      allow_unprivileged_device_configuration: flag(),
      default_client_allowed_ips: { type: longText(database), allowNull: false },
      default_client_dns: { type: longText(database), allowNull: false },
      default_client_endpoint: { type: TEXT, allowNull: true },
      default_client_mtu: { type: INTEGER, allowNull: true },
      default_client_persistent_keepalive: integer(),
      disable_vpn_on_oidc_error: flag(),
      local_auth_enabled: flag(),
      vpn_session_duration: integer(),
      logo: { type: longText(database), allowNull: false },
      openid_connect_providers: { type: longText(database), allowNull: true },
      saml_identity_providers: { type: longText(database), allowNull: false },
      ...timestamps(),
    },
    unique: [['singleton']],
  });
}

async function createApiTokens(database: Database): Promise<void> {
  await createTable(database, 'api_tokens', {
    columns: {
      id: id(),
      user_id: { ...owner(), allowNull: false },
      name: { type: STRING(255), allowNull: false },
      sha256: { type: CHAR(64), allowNull: false },
      expires_at: time(),
      last_used_at: time(),
      ...timestamps(),
    },
    unique: [['sha256']],
    indexes: [['user_id', 'inserted_at']],
  });
}

async function createSecrets(database: Database): Promise<void> {
  await createTable(database, 'secrets', {
    columns: {
      name: { type: STRING(64), primaryKey: true, allowNull: false },
      value: { type: TEXT, allowNull: false },
      ...timestamps(),
    },
  });
}

async function createGateways(database: Database): Promise<void> {
  await createTable(database, 'gateways', {
    columns: {
      id: id(),
      name: { type: STRING(255), allowNull: false },
      started_at: { type: DATE(6), allowNull: false },
      seen_at: { type: DATE(6), allowNull: false },
      applied_revision: { type: BIGINT, allowNull: false },
      clock_floor: time(),
    },
  });
  await createTable(database, 'device_statuses', {
    columns: {
      device_id: {
        type: CHAR(36),
        primaryKey: true,
        allowNull: false,
        references: { model: 'devices', key: 'id' },
        onDelete: 'RESTRICT',
      },
      gateway_id: { type: CHAR(36), allowNull: false },
      latest_handshake: time(),
      remote_ip: { type: STRING(45), allowNull: true },
      remote_port: { type: INTEGER, allowNull: true },
      rx_bytes: { type: BIGINT, allowNull: false },
      tx_bytes: { type: BIGINT, allowNull: false },
      updated: { type: DATE(6), allowNull: false },
    },
  });
}

async function createRevisions(database: Database): Promise<void> {
  await createTable(database, 'revisions', {
    columns: {
      id: { type: INTEGER, primaryKey: true, allowNull: false },
      number: { type: BIGINT, allowNull: false },
    },
  });
  await createTable(database, 'changes', {
    columns: {
      revision: { type: BIGINT, primaryKey: true, allowNull: false },
      table_name: { type: STRING(32), primaryKey: true, allowNull: false },
      row_id: { type: STRING(64), primaryKey: true, allowNull: false },
    },
  });
  await createTable(database, 'scopes', {
    columns: { name: { type: STRING(32), primaryKey: true, allowNull: false } },
  });
  // On MySQL the number moves by a statement of its own, which also locks it.
  if (database.kind === 'sqlite')
    await database.sequelize.query(
      `CREATE TRIGGER IF NOT EXISTS changes_move_the_revision AFTER INSERT ON changes BEGIN
         UPDATE revisions SET number = NEW.revision WHERE id = 1 AND number < NEW.revision;
       END`,
    );
  await insertIfAbsent(database, 'revisions', { id: 1, number: 0 });
  await insertIfAbsent(database, 'scopes', { name: 'configuration' });
  await insertIfAbsent(database, 'scopes', { name: 'address_pool' });
}

/** RESTRICT: a user whose children are forgotten cannot go, so their removal is never silent. */
function owner(): ModelAttributeColumnOptions {
  return { type: CHAR(36), references: { model: 'users', key: 'id' }, onDelete: 'RESTRICT' };
}

// Columns are made anew for each table: Sequelize turns types into those of its database in place.

function id(): ModelAttributeColumnOptions {
  return { type: CHAR(36), primaryKey: true, allowNull: false };
}

function flag(): ModelAttributeColumnOptions {
  return { type: BOOLEAN, allowNull: false };
}

function integer(): ModelAttributeColumnOptions {
  return { type: INTEGER, allowNull: false };
}

function time(): ModelAttributeColumnOptions {
  return { type: DATE(6), allowNull: true };
}

function timestamps() {
  return {
    inserted_at: { type: DATE(6), allowNull: false },
    updated_at: { type: DATE(6), allowNull: false },
  };
}
