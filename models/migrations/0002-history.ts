// The tables of the history: traffic of devices and gateways, hits of rules and refusals in steps
// of time, and the connections of devices. Never edited; later changes are later migrations.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

const { BIGINT, CHAR, INTEGER, STRING } = DataTypes;

/** What all these tables have beside what is counted and of whom: `start` is in Unix seconds. */
const WHEN = 'step INTEGER NOT NULL, start BIGINT NOT NULL, gateway_id CHAR(36) NOT NULL';

/** Makes the tables. */
export async function up(database: Database): Promise<void> {
  await createSeries(database, 'device_traffic', [
    'device_id CHAR(36) NOT NULL',
    WHEN,
    'rx_bytes BIGINT NOT NULL, tx_bytes BIGINT NOT NULL',
    'PRIMARY KEY (device_id, step, start, gateway_id)',
    'FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE',
  ]);
  await createSeries(database, 'rule_traffic', [
    'rule_id CHAR(36) NOT NULL',
    WHEN,
    'packets BIGINT NOT NULL, bytes BIGINT NOT NULL',
    'PRIMARY KEY (rule_id, step, start, gateway_id)',
    'FOREIGN KEY (rule_id) REFERENCES rules (id) ON DELETE CASCADE',
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
      id: { type: CHAR(36), primaryKey: true, allowNull: false },
      device_id: {
        type: CHAR(36),
        allowNull: false,
        references: { model: 'devices', key: 'id' },
        onDelete: 'CASCADE',
      },
      gateway_id: { type: CHAR(36), allowNull: false },
      // Unix time in milliseconds.
      connected_at: { type: BIGINT, allowNull: false },
      disconnected_at: { type: BIGINT, allowNull: true },
      remote_ip: { type: STRING(45), allowNull: true },
      remote_port: { type: INTEGER, allowNull: true },
      reason: { type: STRING(16), allowNull: true },
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
