// Networks behind devices, and what must not lie in one. The address pool is locked by whoever
// writes routes, so two writers do not give one network to two devices.

import type { Transaction } from 'sequelize';
import { Binds } from '../storage/binds.ts';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
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

/** Reads the outer addresses of devices that made a handshake since a time. */
export async function readEndpoints(
  database: Database,
  since: Date,
  transaction: Transaction,
): Promise<string[]> {
  const binds = new Binds();
  const time = binds.one(sqlTime(database.kind, since));
  const rows = await database.sequelize.query<{ remote_ip: string }>(
    `SELECT DISTINCT remote_ip FROM device_statuses
     WHERE remote_ip IS NOT NULL AND latest_handshake >= ${time}`,
    { ...plainSelect(transaction), bind: binds.values },
  );
  return rows.map(({ remote_ip }) => remote_ip);
}
