// Observed state on its way into the database: what a gateway saw of its devices since it last
// reported, and when tokens were used. Written in bulk and without change rows. Several gateways
// report on one device: counters add up, handshake and endpoint only move forward in time.
// docs/state.md#status.

import { QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { latestStored } from '../storage/stored-time.ts';
import { parseSqlTime, sqlTime } from '../storage/time.ts';

/** Rows in one statement: few round trips, and a lock that is held for a few milliseconds. */
const ROWS_PER_STATEMENT = 300;
/** A token's last use is written at most this often (docs/api.md#authentication). */
const TOUCH_EVERY_MS = 60_000;

const COLUMNS = `device_id, gateway_id, latest_handshake, arrived_at, remote_ip, remote_port,
  own_ip, rx_bytes, tx_bytes, updated`;

/** What one gateway saw of one device since its last report. */
export interface StatusReport {
  deviceId: string;
  /** Null while there was none. */
  latestHandshake: Date | null;
  /** Outer source address without port; null while unknown. */
  remoteIp: string | null;
  remotePort: number | null;
  /** The address of the gateway at which it was heard; null or left out: not known. */
  ownIp?: string | null;
  /** Increments, not totals. */
  rxBytes: number;
  txBytes: number;
}

/**
 * Adds a gateway's reports to the devices' statuses; a device is named at most once. Reports of
 * devices that were deleted meanwhile are skipped. The endpoint of the latest handshake is kept;
 * a report on the same handshake may move it, since clients roam within a session.
 */
export async function recordStatus(
  database: Database,
  gatewayId: string,
  reports: readonly StatusReport[],
  now: Date = new Date(),
): Promise<void> {
  const updated = sqlTime(database.kind, now);
  const ahead = sqlTime(database.kind, latestStored(now));
  // All gateways lock devices in one order, so they wait for one another but never deadlock.
  const rows = reports
    .toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
    .map((report) => {
      const { deviceId, latestHandshake, remoteIp, remotePort, ownIp = null } = report;
      const time = latestHandshake === null ? null : sqlTime(database.kind, latestHandshake);
      const endpoint = [remoteIp, remotePort, ownIp];
      const { rxBytes, txBytes } = report;
      return [deviceId, gatewayId, time, time, ...endpoint, rxBytes, txBytes, updated];
    });
  const sql = database.kind === 'sqlite' ? SQLITE_UPSERT : MYSQL_UPSERT;
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const replacements = { rows: rows.slice(start, start + ROWS_PER_STATEMENT), ahead };
    await rerunOnConflict(database, () =>
      database.sequelize.query(sql, { replacements, type: QueryTypes.INSERT }),
    );
  }
}

/** A device that came to a gateway. */
export interface Arrival {
  readonly deviceId: string;
  /** The handshake with which it came, Unix time in ms. */
  readonly atMs: number;
}

/**
 * Reads the devices that came to some gateways after a time, and are there still; at the cost of
 * those, however many others there are. Handshakes that are too far ahead are left out, as above.
 */
export async function readArrivals(
  database: Database,
  gatewayIds: readonly string[],
  after: Date,
  now: Date = new Date(),
): Promise<Arrival[]> {
  if (gatewayIds.length === 0) return [];
  // As text: Sequelize's own way with dates is slow (storage/select.ts).
  const time = database.kind === 'sqlite' ? 'arrived_at' : 'CAST(arrived_at AS CHAR)';
  const rows = await database.sequelize.query<{ id: string; time: string }>(
    `SELECT device_id AS id, ${time} AS time FROM device_statuses
     WHERE gateway_id IN (:gatewayIds) AND arrived_at > :after AND arrived_at <= :ahead`,
    {
      ...plainSelect(),
      replacements: {
        gatewayIds,
        after: sqlTime(database.kind, after),
        ahead: sqlTime(database.kind, latestStored(now)),
      },
    },
  );
  return rows.map((row) => ({ deviceId: row.id, atMs: parseSqlTime(row.time).getTime() }));
}

/** Notes that a token was used; does nothing when that was noted within the last minute. */
export async function touchToken(
  database: Database,
  tokenId: string,
  now: Date = new Date(),
): Promise<void> {
  await rerunOnConflict(database, () =>
    database.sequelize.query(
      `UPDATE api_tokens SET last_used_at = :now
       WHERE id = :tokenId
         AND (last_used_at IS NULL OR last_used_at <= :before OR last_used_at > :ahead)`,
      {
        replacements: {
          tokenId,
          now: sqlTime(database.kind, now),
          before: sqlTime(database.kind, new Date(now.getTime() - TOUCH_EVERY_MS)),
          ahead: sqlTime(database.kind, latestStored(now)),
        },
        type: QueryTypes.UPDATE,
      },
    ),
  );
}

// A report replaces the row when its handshake is as late or later, or when the row has none, or
// one of the future: a clock that was set back must not hide what happens until then.
// Devices that are gone are left out by the WHERE, under the write lock.
const SQLITE_WINS = `(device_statuses.latest_handshake IS NULL
  OR excluded.latest_handshake >= device_statuses.latest_handshake
  OR (device_statuses.latest_handshake > :ahead AND excluded.latest_handshake IS NOT NULL))`;
const SQLITE_UPSERT = `
  WITH report (${COLUMNS}) AS (VALUES :rows)
  INSERT INTO device_statuses (${COLUMNS})
  SELECT * FROM report WHERE EXISTS (SELECT 1 FROM devices WHERE id = report.device_id)
  ON CONFLICT (device_id) DO UPDATE SET
    arrived_at = CASE WHEN ${SQLITE_WINS} AND excluded.latest_handshake IS NOT NULL
      AND (excluded.gateway_id <> device_statuses.gateway_id
        OR device_statuses.arrived_at IS NULL OR device_statuses.arrived_at > :ahead)
      THEN excluded.latest_handshake ELSE device_statuses.arrived_at END,
    gateway_id = ${sqliteNewer('gateway_id')},
    remote_port = ${sqliteWithRemote('remote_port')},
    own_ip = ${sqliteWithRemote('own_ip')},
    remote_ip = ${sqliteNewer('remote_ip')},
    latest_handshake = ${sqliteNewer('latest_handshake')},
    rx_bytes = device_statuses.rx_bytes + excluded.rx_bytes,
    tx_bytes = device_statuses.tx_bytes + excluded.tx_bytes,
    updated = MAX(device_statuses.updated, excluded.updated)`;

function sqliteNewer(column: string): string {
  return `CASE WHEN ${SQLITE_WINS} THEN COALESCE(excluded.${column}, device_statuses.${column})
      ELSE device_statuses.${column} END`;
}

/** What is known of one endpoint changes with its address. */
function sqliteWithRemote(column: string): string {
  return `CASE WHEN ${SQLITE_WINS} AND excluded.remote_ip IS NOT NULL
      THEN excluded.${column} ELSE device_statuses.${column} END`;
}

// MySQL assigns from left to right and later expressions see earlier results, so the handshake,
// which decides the rest, comes last, and the gateway after the arrival, which asks whether it is
// another. IGNORE makes the foreign key skip devices that are gone.
const MYSQL_WINS = `(latest_handshake IS NULL OR VALUES(latest_handshake) >= latest_handshake
  OR (latest_handshake > :ahead AND VALUES(latest_handshake) IS NOT NULL))`;
const MYSQL_UPSERT = `
  INSERT IGNORE INTO device_statuses (${COLUMNS}) VALUES :rows
  ON DUPLICATE KEY UPDATE
    arrived_at = IF(${MYSQL_WINS} AND VALUES(latest_handshake) IS NOT NULL
      AND (VALUES(gateway_id) <> gateway_id OR arrived_at IS NULL OR arrived_at > :ahead),
      VALUES(latest_handshake), arrived_at),
    gateway_id = IF(${MYSQL_WINS}, VALUES(gateway_id), gateway_id),
    remote_port = ${mysqlWithRemote('remote_port')},
    own_ip = ${mysqlWithRemote('own_ip')},
    remote_ip = IF(${MYSQL_WINS}, COALESCE(VALUES(remote_ip), remote_ip), remote_ip),
    rx_bytes = rx_bytes + VALUES(rx_bytes),
    tx_bytes = tx_bytes + VALUES(tx_bytes),
    updated = GREATEST(updated, VALUES(updated)),
    latest_handshake = IF(${MYSQL_WINS},
      COALESCE(VALUES(latest_handshake), latest_handshake), latest_handshake)`;

function mysqlWithRemote(column: string): string {
  return `IF(${MYSQL_WINS} AND VALUES(remote_ip) IS NOT NULL, VALUES(${column}), ${column})`;
}
