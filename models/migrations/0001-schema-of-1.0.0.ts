// The schema of 1.0.0: all its tables, and the rows that are always there. Never edited; later
// changes are later migrations. It imports nothing of the tables' classes, which move on.

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
  await createAuditEntries(database);
  await createSignIns(database);
  await createIdentities(database);
  await createSignInRequests(database);
  await createProviders(database);
}

async function createUsers(database: Database): Promise<void> {
  await createTable(database, 'users', {
    columns: {
      id: id(),
      email: text(255),
      // NFC may make three code points of one; 768 is also the most that MySQL can index.
      email_key: text(768),
      role: text(16),
      password_hash: optionalText(255),
      disabled_at: optionalTime(),
      disabled_by: optionalText(16),
      last_signed_in_at: optionalTime(),
      last_signed_in_method: optionalText(64),
      ...timestamps(),
      disabled_provider: optionalText(80),
    },
    unique: [['email_key']],
    indexes: [['inserted_at', 'id']],
  });
}

async function createDevices(database: Database): Promise<void> {
  await createTable(database, 'devices', {
    columns: {
      id: id(),
      user_id: childOf('users'),
      name: text(255),
      description: optionalText(2048),
      public_key: { type: CHAR(44), allowNull: false },
      preshared_key: { type: TEXT, allowNull: false },
      ipv4: optionalText(15),
      ipv4_key: { type: CHAR(8), allowNull: true },
      ipv6: optionalText(45),
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
      client_file_sha256: optionalHash(),
      disabled_at: optionalTime(),
      expires_at: optionalTime(),
    },
    unique: [['user_id', 'name'], ['public_key'], ['ipv4_key'], ['ipv6_key']],
    indexes: [['inserted_at', 'id']],
  });
}

async function createRules(database: Database): Promise<void> {
  await createTable(database, 'rules', {
    columns: {
      id: id(),
      action: text(16),
      destination: text(64),
      family: { type: TINYINT, allowNull: false },
      range_start: text(32),
      range_end: text(32),
      port_type: optionalText(8),
      port_start: { type: INTEGER, allowNull: true },
      port_end: { type: INTEGER, allowNull: true },
      user_id: { ...childOf('users'), allowNull: true },
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
      default_action: { ...text(16), defaultValue: 'accept' },
    },
    unique: [['singleton']],
  });
}

async function createApiTokens(database: Database): Promise<void> {
  await createTable(database, 'api_tokens', {
    columns: {
      id: id(),
      user_id: childOf('users'),
      name: text(255),
      sha256: hash(),
      expires_at: optionalTime(),
      last_used_at: optionalTime(),
      ...timestamps(),
    },
    unique: [['sha256']],
    indexes: [['user_id', 'inserted_at']],
  });
}

async function createSecrets(database: Database): Promise<void> {
  await createTable(database, 'secrets', {
    columns: {
      name: key(STRING(64)),
      value: { type: TEXT, allowNull: false },
      ...timestamps(),
    },
  });
}

async function createGateways(database: Database): Promise<void> {
  await createTable(database, 'gateways', {
    columns: {
      id: id(),
      name: text(255),
      started_at: time(),
      seen_at: time(),
      applied_revision: { type: BIGINT, allowNull: false },
      clock_floor: optionalTime(),
      bootstrap_sha256: optionalHash(),
      settings: { type: longText(database), allowNull: true },
      public_key: { type: CHAR(44), allowNull: true },
    },
  });
  await createTable(database, 'device_statuses', {
    columns: {
      device_id: { ...childOf('devices'), primaryKey: true },
      gateway_id: { type: CHAR(36), allowNull: false },
      latest_handshake: optionalTime(),
      remote_ip: optionalText(45),
      remote_port: { type: INTEGER, allowNull: true },
      rx_bytes: { type: BIGINT, allowNull: false },
      tx_bytes: { type: BIGINT, allowNull: false },
      updated: time(),
      arrived_at: optionalTime(),
    },
    // Other gateways learn which devices came to one at the cost of those.
    indexes: [['gateway_id', 'arrived_at']],
  });
}

async function createRevisions(database: Database): Promise<void> {
  await createTable(database, 'revisions', {
    columns: { id: key(INTEGER), number: { type: BIGINT, allowNull: false } },
  });
  await createTable(database, 'changes', {
    columns: {
      revision: key(BIGINT),
      table_name: key(STRING(32)),
      row_id: key(STRING(64)),
    },
  });
  await createTable(database, 'scopes', { columns: { name: key(STRING(32)) } });
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

/** Entries refer to nothing, so that they outlive the users and records that they are about. */
async function createAuditEntries(database: Database): Promise<void> {
  await createTable(database, 'audit_entries', {
    columns: {
      // It begins with the time, so no other index is needed.
      id: id(),
      happened_at: time(),
      actor: text(16),
      user_id: { type: CHAR(36), allowNull: true },
      email: optionalText(255),
      token_id: { type: CHAR(36), allowNull: true },
      action: text(32),
      kind: text(32),
      record_id: text(64),
      changes: { type: longText(database), allowNull: false },
      request_id: optionalText(64),
      address: optionalText(45),
    },
  });
}

async function createSignIns(database: Database): Promise<void> {
  await createTable(database, 'sessions', {
    columns: {
      id: id(),
      user_id: childOf('users'),
      sha256: hash(),
      state: text(16),
      method: text(80),
      return_to: optionalText(1024),
      address: optionalText(45),
      user_agent: optionalText(255),
      inserted_at: time(),
      seen_at: time(),
      account_key: optionalHash(),
      provider_session: optionalHash(),
    },
    unique: [['sha256']],
    indexes: [['user_id', 'seen_at'], ['seen_at'], ['account_key']],
  });
  await createTable(database, 'second_factors', {
    columns: {
      id: id(),
      user_id: childOf('users'),
      name: text(255),
      secret: { type: TEXT, allowNull: false },
      last_step: { type: BIGINT, allowNull: false },
      last_used_at: optionalTime(),
      inserted_at: time(),
    },
    indexes: [['user_id', 'inserted_at']],
  });
  await createTable(database, 'recovery_codes', {
    columns: { id: id(), user_id: childOf('users'), sha256: hash() },
    unique: [['user_id', 'sha256']],
  });
  await createTable(database, 'sign_in_attempts', {
    columns: {
      sha256: key(CHAR(64)),
      kind: text(16),
      count: integer(),
      expires_at: time(),
    },
    indexes: [['expires_at']],
  });
}

async function createIdentities(database: Database): Promise<void> {
  await createTable(database, 'identities', {
    columns: {
      id: id(),
      user_id: childOf('users'),
      kind: text(8),
      provider_id: text(64),
      issuer: { type: TEXT, allowNull: false },
      subject: { type: TEXT, allowNull: false },
      account_key: hash(),
      ...timestamps(),
      relink_until: optionalTime(),
    },
    unique: [['account_key']],
    indexes: [['user_id']],
  });
  await createTable(database, 'identity_tokens', {
    columns: {
      identity_id: { ...childOf('identities'), primaryKey: true },
      tokens: { type: TEXT, allowNull: true },
      version: integer(),
      refresh_at: optionalTime(),
      claimed_by: { type: CHAR(36), allowNull: true },
      claimed_until: optionalTime(),
      refreshed_at: optionalTime(),
      error: optionalText(64),
    },
    indexes: [['refresh_at']],
  });
}

async function createSignInRequests(database: Database): Promise<void> {
  await createTable(database, 'sign_in_requests', {
    columns: {
      id: key(CHAR(64)),
      kind: text(8),
      provider_id: text(64),
      browser_sha256: hash(),
      user_id: { type: CHAR(36), allowNull: true },
      secrets: { type: TEXT, allowNull: true },
      inserted_at: time(),
      expires_at: time(),
      network_sha256: optionalHash(),
      scope_sha256: optionalHash(),
    },
    indexes: [
      ['inserted_at'],
      ['expires_at'],
      // Sign-ins under way are counted by it, so that few networks cannot take all places.
      ['network_sha256', 'scope_sha256', 'inserted_at'],
    ],
  });
  await createTable(database, 'used_assertions', {
    columns: { id: key(CHAR(64)), expires_at: time() },
    indexes: [['expires_at']],
  });
}

async function createProviders(database: Database): Promise<void> {
  await createTable(database, 'trusted_providers', {
    columns: {
      id: id(),
      kind: text(8),
      provider_id: text(64),
      authority: { type: TEXT, allowNull: false },
      ...timestamps(),
    },
    unique: [['kind', 'provider_id']],
  });
  await createTable(database, 'saml_tests', {
    columns: {
      provider_id: key(STRING(64)),
      metadata_sha256: hash(),
      signed: text(16),
      tested_at: time(),
    },
  });
  await createTable(database, 'fetched_metadata', {
    columns: {
      provider_id: key(STRING(64)),
      basis: hash(),
      version: integer(),
      document: { type: longText(database), allowNull: true },
      former_certificates: { type: longText(database), allowNull: false },
      awaited_certificates: { type: longText(database), allowNull: false },
      fetched_at: optionalTime(),
      asked_at: optionalTime(),
      refresh_at: time(),
      problem: { type: TEXT, allowNull: true },
    },
  });
}

// Columns are made anew for each table: Sequelize turns types into those of its database in place.

function key(type: ModelAttributeColumnOptions['type']): ModelAttributeColumnOptions {
  return { type, primaryKey: true, allowNull: false };
}

function id(): ModelAttributeColumnOptions {
  return key(CHAR(36));
}

/** RESTRICT: an owner whose children are forgotten cannot go, so their removal is never silent. */
function childOf(model: string): ModelAttributeColumnOptions {
  const references = { model, key: 'id' };
  return { type: CHAR(36), allowNull: false, references, onDelete: 'RESTRICT' };
}

function text(length: number): ModelAttributeColumnOptions {
  return { type: STRING(length), allowNull: false };
}

function optionalText(length: number): ModelAttributeColumnOptions {
  return { type: STRING(length), allowNull: true };
}

/** A SHA-256 in hex. */
function hash(): ModelAttributeColumnOptions {
  return { type: CHAR(64), allowNull: false };
}

function optionalHash(): ModelAttributeColumnOptions {
  return { type: CHAR(64), allowNull: true };
}

function flag(): ModelAttributeColumnOptions {
  return { type: BOOLEAN, allowNull: false };
}

function integer(): ModelAttributeColumnOptions {
  return { type: INTEGER, allowNull: false };
}

function time(): ModelAttributeColumnOptions {
  return { type: DATE(6), allowNull: false };
}

function optionalTime(): ModelAttributeColumnOptions {
  return { type: DATE(6), allowNull: true };
}

function timestamps() {
  return { inserted_at: time(), updated_at: time() };
}
