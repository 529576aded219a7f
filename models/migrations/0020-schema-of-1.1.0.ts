// What 1.1.0 adds to the schema of 1.0.0. Eighteen steps, 0002 to 0019, made it before the release;
// databases that ran some of them are completed by this one, so it only adds what is not there, and
// columns that one of them added later are added here after their table. Never edited.

import { DataTypes, type ModelAttributeColumnOptions, QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { emailLook } from '../tables/user.ts';
import { addColumn, addComputedColumn, addIndex, createTable, widenText } from './schema.ts';

const { BIGINT, BOOLEAN, CHAR, DATE, INTEGER, STRING, TEXT } = DataTypes;

const PARTS: readonly ((database: Database) => Promise<void>)[] = [
  createHistory,
  looseHistory,
  createPolicyTests,
  extendRules,
  addScopesAndRoutes,
  addLimits,
  createGroups,
  createOneTimeLinks,
  createQuotas,
  addOtherColumns,
  addLooks,
  addSchemaStep,
  createForgetting,
  indexAudit,
];

/** Adds all of it; each part may run again, as often as a step. */
export async function up(database: Database): Promise<void> {
  for (const part of PARTS) await rerunOnConflict(database, () => part(database));
}

/** What all tables of the history have beside what is counted and of whom: `start` in Unix s. */
const WHEN = 'step INTEGER NOT NULL, start BIGINT NOT NULL, gateway_id CHAR(36) NOT NULL';

async function createHistory(database: Database): Promise<void> {
  await createSeries(database, 'device_traffic', [
    'device_id CHAR(36) NOT NULL',
    WHEN,
    'rx_bytes BIGINT NOT NULL, tx_bytes BIGINT NOT NULL',
    'PRIMARY KEY (device_id, step, start, gateway_id)',
  ]);
  await createSeries(database, 'rule_traffic', [
    'rule_id CHAR(36) NOT NULL',
    WHEN,
    'packets BIGINT NOT NULL, bytes BIGINT NOT NULL',
    'PRIMARY KEY (rule_id, step, start, gateway_id)',
  ]);
  await createSeries(database, 'gateway_traffic', [
    WHEN,
    'rx_bytes BIGINT NOT NULL, tx_bytes BIGINT NOT NULL',
    'PRIMARY KEY (step, start, gateway_id)',
  ]);
  await createSeries(database, 'refused_traffic', [
    'reason VARCHAR(64) NOT NULL',
    WHEN,
    'packets BIGINT NOT NULL',
    'PRIMARY KEY (step, start, reason, gateway_id)',
  ]);
  await createTable(database, 'connections', {
    columns: {
      id: id(),
      device_id: { type: CHAR(36), allowNull: false },
      gateway_id: { type: CHAR(36), allowNull: false },
      // Unix time in milliseconds.
      connected_at: { type: BIGINT, allowNull: false },
      disconnected_at: { type: BIGINT, allowNull: true },
      remote_ip: optionalText(45),
      remote_port: { type: INTEGER, allowNull: true },
      reason: optionalText(16),
    },
    indexes: [
      ['device_id', 'connected_at'],
      ['gateway_id', 'disconnected_at'],
    ],
  });
}

/** On SQLite the rows are in the index of their key: half the room of a table and an index. */
async function createSeries(
  { kind, collation, sequelize }: Database,
  table: string,
  parts: readonly string[],
): Promise<void> {
  const end =
    kind === 'sqlite'
      ? 'WITHOUT ROWID'
      : `ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${collation}`;
  await sequelize.query(`CREATE TABLE IF NOT EXISTS ${table} (${parts.join(', ')}) ${end}`);
}

/**
 * Tables that 0002-history made with a foreign key, and its text on SQLite. The key deleted all of
 * the history in the statement that removed a device; models/queries/removed-history.ts does so in
 * small steps.
 */
const KEYED = [
  ['device_traffic', ', FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE'],
  ['rule_traffic', ', FOREIGN KEY (rule_id) REFERENCES rules (id) ON DELETE CASCADE'],
  ['connections', ' REFERENCES `devices` (`id`) ON DELETE CASCADE'],
] as const;

/** Takes the foreign keys away; no row is written anew, however many there are. */
async function looseHistory(database: Database): Promise<void> {
  if (database.kind === 'sqlite') await looseOnSqlite(database);
  else for (const [table] of KEYED) await looseOnServer(database, table);
}

/**
 * SQLite has no statement for it. Its documents give this way for foreign keys, which are not in
 * the rows: https://www.sqlite.org/lang_altertable.html, section 7.
 */
async function looseOnSqlite({ sequelize }: Database): Promise<void> {
  await sequelize.transaction(async (transaction) => {
    const [row] = await sequelize.query<{ schema_version: number }>('PRAGMA schema_version', {
      type: QueryTypes.SELECT,
      transaction,
    });
    await sequelize.query('PRAGMA writable_schema = ON', { transaction });
    try {
      for (const [table, key] of KEYED)
        await sequelize.query(
          `UPDATE sqlite_master SET sql = replace(sql, :key, '')
           WHERE type = 'table' AND name = :table`,
          { replacements: { key, table }, transaction },
        );
      // So every connection reads the schema anew, this one too.
      const next = Number(row?.schema_version) + 1;
      await sequelize.query(`PRAGMA schema_version = ${next}`, { transaction });
    } finally {
      await sequelize.query('PRAGMA writable_schema = RESET', { transaction });
    }
  });
}

async function looseOnServer({ sequelize }: Database, table: string): Promise<void> {
  const keys = await sequelize.query<{ name: string }>(
    `SELECT CONSTRAINT_NAME AS name FROM information_schema.TABLE_CONSTRAINTS
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :table AND CONSTRAINT_TYPE = 'FOREIGN KEY'`,
    { ...plainSelect(), replacements: { table } },
  );
  for (const { name } of keys)
    await sequelize.query(`ALTER TABLE ${table} DROP FOREIGN KEY \`${name}\``);
}

async function createPolicyTests(database: Database): Promise<void> {
  await createTable(database, 'policy_tests', {
    columns: {
      id: id(),
      name: text(255),
      user_id: { ...childOf('users'), allowNull: true },
      device_id: { ...childOf('devices'), allowNull: true },
      destination: text(45),
      protocol: text(8),
      port: { type: INTEGER, allowNull: true },
      expect: text(8),
      ...timestamps(),
    },
    indexes: [['user_id'], ['device_id'], ['inserted_at', 'id']],
  });
}

/** Rules say what they are for, may be switched off, and may have a start and an end. */
async function extendRules(database: Database): Promise<void> {
  await addColumn(database, 'rules', 'description', optionalText(255));
  await addColumn(database, 'rules', 'enabled', flag(true));
  for (const name of ['starts_at', 'ends_at'])
    await addColumn(database, 'rules', name, { type: DATE(6), allowNull: true });
}

async function addScopesAndRoutes(database: Database): Promise<void> {
  await addColumn(database, 'api_tokens', 'scopes', { ...text(64), defaultValue: 'admin' });
  await addColumn(database, 'devices', 'routes', { type: TEXT, allowNull: true });
  const isRouted = 'default_client_include_routes';
  await addColumn(database, 'configurations', isRouted, flag(false));
}

/** Of devices: their own, those of their owner, or those of the configuration. */
async function addLimits(database: Database): Promise<void> {
  for (const direction of ['down', 'up'])
    for (const [table, column] of [
      ['configurations', `default_limit_${direction}`],
      ['users', `limit_${direction}`],
      ['devices', `limit_${direction}`],
    ] as const)
      await addColumn(database, table, column, { type: BIGINT, allowNull: true });
}

async function createGroups(database: Database): Promise<void> {
  await createTable(database, 'user_groups', {
    columns: { id: id(), name: text(255), description: optionalText(255), ...timestamps() },
    unique: [['name']],
    indexes: [['inserted_at', 'id']],
  });
  await addColumn(database, 'user_groups', 'provider', optionalText(80));
  await createTable(database, 'group_memberships', {
    columns: {
      id: id(),
      group_id: { ...childOf('user_groups'), allowNull: false },
      user_id: { ...childOf('users'), allowNull: false },
      source: text(64),
      ...timestamps(),
    },
    unique: [['group_id', 'user_id', 'source']],
    indexes: [['user_id']],
  });
  // The kind of a provider is before its id.
  await widenText(database, 'group_memberships', 'source', 80);
  await addColumn(database, 'rules', 'group_id', { ...childOf('user_groups'), allowNull: true });
  await addIndex(database, 'rules', ['group_id', 'action', 'family', 'range_start']);
}

async function createOneTimeLinks(database: Database): Promise<void> {
  await createTable(database, 'one_time_links', {
    columns: {
      id: id(),
      user_id: { ...childOf('users'), allowNull: false },
      purpose: text(16),
      sha256: { type: CHAR(64), allowNull: false },
      created_by: { type: CHAR(36), allowNull: true },
      expires_at: time(),
      used_at: { type: DATE(6), allowNull: true },
      mailed_at: { type: DATE(6), allowNull: true },
      mail_fault: optionalText(255),
      inserted_at: time(),
    },
    unique: [['sha256'], ['user_id', 'purpose']],
    indexes: [['expires_at']],
  });
}

async function createQuotas(database: Database): Promise<void> {
  await addColumn(database, 'configurations', 'default_quota', { type: BIGINT, allowNull: true });
  await addColumn(database, 'users', 'quota', { type: BIGINT, allowNull: true });
  const key = { primaryKey: true, allowNull: false };
  const user = { references: { model: 'users', key: 'id' }, onDelete: 'CASCADE' };
  await createTable(database, 'quota_usage', {
    columns: {
      user_id: { type: CHAR(36), ...key, ...user },
      // The year and the month in UTC: 202611.
      month: { type: INTEGER, ...key },
      gateway_id: { type: CHAR(36), ...key },
      bytes: { type: BIGINT, allowNull: false },
    },
  });
}

async function addOtherColumns(database: Database): Promise<void> {
  await addColumn(database, 'users', 'role_provider', optionalText(80));
  await addColumn(database, 'identities', 'groups_problem', optionalText(16));
  await addColumn(database, 'rules', 'protocol', optionalText(8));
  await addColumn(database, 'rules', 'enforced', flag(true));
  await addColumn(database, 'device_statuses', 'own_ip', optionalText(45));
}

async function addSchemaStep(database: Database): Promise<void> {
  await addColumn(database, 'gateways', 'schema_step', optionalText(64));
}

/** Users that one statement fills. */
const BATCH = 500;

/** Users say how their e-mail looks; pairs of addresses that look alike and are there stay. */
async function addLooks(database: Database): Promise<void> {
  await addColumn(database, 'users', 'email_look', { type: CHAR(64), allowNull: true });
  await addIndex(database, 'users', ['email_look']);
  await fillLooks(database);
}

/** Fills in what is absent, without a change of the users themselves. */
async function fillLooks({ sequelize }: Database): Promise<void> {
  let after = '';
  for (;;) {
    const rows: { id: string; email: string }[] = await sequelize.query(
      'SELECT id, email FROM users WHERE email_look IS NULL AND id > :after ORDER BY id LIMIT :batch',
      { ...plainSelect(), replacements: { after, batch: BATCH } },
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const looks = rows.map(({ email }) => emailLook(email));
    await sequelize.query(
      `UPDATE users SET email_look = CASE id ${'WHEN ? THEN ? '.repeat(rows.length)} END
       WHERE id IN (?)`,
      {
        replacements: [...rows.flatMap(({ id }, at) => [id, looks[at]]), rows.map(({ id }) => id)],
        type: QueryTypes.UPDATE,
      },
    );
    after = last.id;
  }
}

/** What is old is forgotten by a clock of its own; a wrong clock of a host moves it by little. */
async function createForgetting(database: Database): Promise<void> {
  await createTable(database, 'forgetting', {
    columns: {
      name: { type: STRING(32), primaryKey: true, allowNull: false },
      clock_ms: { type: BIGINT, allowNull: false },
      ran_ms: { type: BIGINT, allowNull: false },
    },
  });
}

const AUDIT_INDEXES = [
  ['record_id', 'id'],
  ['actor', 'id'],
  ['kind', 'action', 'id'],
  ['kind', 'id'],
  ['action', 'id'],
];

/**
 * The audit trail is searched by indexes that end in the id, also for who did something together
 * with what was done: where both are frequent and hardly ever meet, an index of one of them leads
 * to entries without end. E-mails are found in any case: by an index of an expression on SQLite,
 * and of a column that is computed and not kept on MySQL. No row is written anew.
 */
async function indexAudit(database: Database): Promise<void> {
  if (database.kind === 'mysql') {
    const column = 'VARCHAR(255) GENERATED ALWAYS AS (LOWER(email)) VIRTUAL';
    await addComputedColumn(database, 'audit_entries', 'email_lower', column);
  }
  await indexEmails(database, []);
  for (const fields of AUDIT_INDEXES) await addIndex(database, 'audit_entries', fields);
  for (const what of ['kind', 'action']) {
    await indexEmails(database, [what]);
    await addIndex(database, 'audit_entries', ['actor', what, 'id']);
  }
}

async function indexEmails(database: Database, others: readonly string[]): Promise<void> {
  const fields = [...others, 'id'];
  if (database.kind === 'sqlite')
    await database.sequelize.query(
      `CREATE INDEX IF NOT EXISTS ${['audit_entries_email_lower', ...fields].join('_')} ON audit_entries (LOWER(email), ${fields.join(', ')})`,
    );
  else await addIndex(database, 'audit_entries', ['email_lower', ...fields]);
}

function id(): ModelAttributeColumnOptions {
  return { type: CHAR(36), primaryKey: true, allowNull: false };
}

/** RESTRICT: the removal of a record names its children. */
function childOf(model: string): ModelAttributeColumnOptions {
  return { type: CHAR(36), references: { model, key: 'id' }, onDelete: 'RESTRICT' };
}

function text(length: number): ModelAttributeColumnOptions {
  return { type: STRING(length), allowNull: false };
}

function optionalText(length: number): ModelAttributeColumnOptions {
  return { type: STRING(length), allowNull: true };
}

function flag(defaultValue: boolean): ModelAttributeColumnOptions {
  return { type: BOOLEAN, allowNull: false, defaultValue };
}

function time(): ModelAttributeColumnOptions {
  return { type: DATE(6), allowNull: false };
}

function timestamps(): Record<'inserted_at' | 'updated_at', ModelAttributeColumnOptions> {
  return { inserted_at: time(), updated_at: time() };
}
