// The log of connections: when a device connected, from where, until when. Written in bulk and
// without change rows. docs/state.md#history.

import { QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { readPresent } from './history.ts';

/** Why connections end; older rows say `removed` where newer ones say more. */
export const connectionEnds = [
  'silent',
  'elsewhere',
  'removed',
  'gateway_stopped',
  'gateway_lost',
  'switched_off',
  'expired',
  'owner_disabled',
  'session_ended',
  'key_replaced',
  'deleted',
] as const;

/** Why a connection ended. */
export type ConnectionEnd = (typeof connectionEnds)[number];

/** One connection of a device to one gateway. */
export interface Connection {
  readonly id: string;
  readonly deviceId: string;
  readonly gatewayId: string;
  /** Unix time in ms. */
  readonly connectedAt: number;
  /** Unix time in ms; null while it lasts. */
  readonly disconnectedAt: number | null;
  /** Where it came from when it connected; null if that is not known. */
  readonly remoteIp: string | null;
  readonly remotePort: number | null;
  /** Null while it lasts. */
  readonly reason: ConnectionEnd | null;
}

const COLUMNS = `id, device_id, gateway_id, connected_at, disconnected_at, remote_ip, remote_port,
  reason`;

/**
 * Writes connections, or their ends, in one statement. Each is written whole, so it does not matter
 * whether an attempt before this one was carried out. Those of devices that are gone are skipped.
 */
export async function recordConnections(
  database: Database,
  connections: readonly Connection[],
): Promise<void> {
  if (connections.length === 0) return;
  const ids = connections.map(({ deviceId }) => deviceId);
  const present = await readPresent(database, 'devices', ids);
  const rows = connections
    .filter(({ deviceId }) => present === null || present.has(deviceId))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((one) => [
      one.id,
      one.deviceId,
      one.gatewayId,
      one.connectedAt,
      one.disconnectedAt,
      one.remoteIp,
      one.remotePort,
      one.reason,
    ]);
  if (rows.length === 0) return;
  const { sequelize } = database;
  await rerunOnConflict(database, () =>
    database.kind === 'sqlite'
      ? sequelize.query(SQLITE_UPSERT, {
          bind: { rows: JSON.stringify(rows) },
          type: QueryTypes.INSERT,
        })
      : sequelize.query(MYSQL_UPSERT, { replacements: { rows }, type: QueryTypes.INSERT }),
  );
}

const SQLITE_UPSERT = `
  INSERT INTO connections (${COLUMNS})
  SELECT ${COLUMNS.split(',')
    .map((_column, i) => `value ->> ${i}`)
    .join(', ')} FROM json_each($rows)
  WHERE EXISTS (SELECT 1 FROM devices WHERE id = value ->> 1)
  ON CONFLICT (id) DO UPDATE SET
    disconnected_at = excluded.disconnected_at, reason = excluded.reason`;
const MYSQL_UPSERT = `
  INSERT INTO connections (${COLUMNS}) VALUES :rows
  ON DUPLICATE KEY UPDATE disconnected_at = VALUES(disconnected_at), reason = VALUES(reason)`;

/** Ends the connections to a gateway that last: it stops now, or it stopped without saying so. */
export async function endConnections(
  database: Database,
  gatewayId: string,
  reason: Extract<ConnectionEnd, 'gateway_stopped' | 'gateway_lost'>,
  at: Date,
): Promise<void> {
  const greatest = database.kind === 'sqlite' ? 'MAX' : 'GREATEST';
  await rerunOnConflict(database, () =>
    database.sequelize.query(
      `UPDATE connections SET disconnected_at = ${greatest}(connected_at, :at), reason = :reason
       WHERE gateway_id = :gatewayId AND disconnected_at IS NULL`,
      { replacements: { gatewayId, reason, at: at.getTime() }, type: QueryTypes.UPDATE },
    ),
  );
}

/**
 * Ends the connections to gateways that were not heard since a time, as of when they were heard
 * last: they were killed, and others serve their devices now.
 */
export async function endLostConnections(database: Database, seenBefore: Date): Promise<void> {
  const open = await database.sequelize.query<{ id: string }>(
    'SELECT DISTINCT gateway_id AS id FROM connections WHERE disconnected_at IS NULL',
    plainSelect(),
  );
  const gateways = await database.models.Gateway.findAll({
    attributes: ['id', 'seen_at'],
    where: { id: open.map(({ id }) => id) },
    raw: true,
  });
  for (const { id, seen_at: seenAt } of gateways)
    if (new Date(seenAt) < seenBefore)
      await endConnections(database, id, 'gateway_lost', new Date(seenAt));
}

/** Reads the latest connections of a device, the latest one first; none of a removed device. */
export async function readConnections(
  database: Database,
  deviceId: string,
  limit: number,
): Promise<Connection[]> {
  const rows = await database.sequelize.query<Row>(
    `SELECT ${COLUMNS} FROM connections WHERE device_id = :deviceId
     AND EXISTS (SELECT 1 FROM devices WHERE devices.id = :deviceId)
     ORDER BY connected_at DESC, id DESC LIMIT ${limit}`,
    { ...plainSelect(), replacements: { deviceId } },
  );
  return rows.map((row) => ({
    id: row.id,
    deviceId: row.device_id,
    gatewayId: row.gateway_id,
    connectedAt: Number(row.connected_at),
    disconnectedAt: row.disconnected_at === null ? null : Number(row.disconnected_at),
    remoteIp: row.remote_ip,
    remotePort: row.remote_port,
    reason: row.reason,
  }));
}

interface Row {
  readonly id: string;
  readonly device_id: string;
  readonly gateway_id: string;
  readonly connected_at: number | string;
  readonly disconnected_at: number | string | null;
  readonly remote_ip: string | null;
  readonly remote_port: number | null;
  readonly reason: ConnectionEnd | null;
}
