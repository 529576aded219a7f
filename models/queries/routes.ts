// Networks behind devices, and addresses that must not be in one. A transaction that writes routes
// locks the address pool, so two writers do not give one network to two devices.

import type { Transaction } from 'sequelize';
import { Binds } from '../storage/binds.ts';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import { latestStored } from '../storage/stored-time.ts';
import { sqlTime } from '../storage/time.ts';

/** A device with networks behind it. */
export interface RoutedDevice {
  readonly id: string;
  readonly name: string;
  /** CIDRs. */
  readonly routes: readonly string[];
}

/** Reads the devices with networks behind them. */
export async function readRoutedDevices(
  database: Database,
  transaction?: Transaction,
): Promise<RoutedDevice[]> {
  const rows = await database.sequelize.query<{ id: string; name: string; routes: string }>(
    'SELECT id, name, routes FROM devices WHERE routes IS NOT NULL',
    plainSelect(transaction),
  );
  return rows.map(({ id, name, routes }) => ({
    id,
    name,
    routes: JSON.parse(routes) as string[],
  }));
}

/** An outer address, and the name of a device that is reached there. */
export interface Endpoint {
  readonly address: string;
  readonly device: string;
}

/** Reads the outer addresses of devices that made a handshake within a time, each once. */
export async function readEndpoints(
  database: Database,
  forMs: number,
  now: Date,
  transaction: Transaction,
): Promise<Endpoint[]> {
  const binds = new Binds();
  const time = binds.one(sqlTime(database.kind, new Date(now.getTime() - forMs)));
  const latest = binds.one(sqlTime(database.kind, latestStored(now)));
  return database.sequelize.query<Endpoint>(
    `SELECT remote_ip AS address, MIN(devices.name) AS device
     FROM device_statuses JOIN devices ON devices.id = device_statuses.device_id
     WHERE remote_ip IS NOT NULL AND latest_handshake > ${time} AND latest_handshake <= ${latest}
     GROUP BY remote_ip`,
    { ...plainSelect(transaction), bind: binds.values },
  );
}
