// Devices with the files of their clients: what a file holds at present, and whether the one that
// was made last is out of date. The hashes of some devices are read by one statement, and compared
// in memory, because what a file holds comes from settings too. docs/api.md#devices.

import {
  type Database,
  type DeviceRow,
  readClientFiles,
  readDevices,
  type RoutedDevice,
  type Selection,
} from '../../../models/index.ts';
import { pauser } from '../../kit/process/pause.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import {
  type ClientConfig,
  clientConfigOf,
  clientFileHash,
  type GatewaySide,
} from './client-config.ts';
import { includedRoutes } from './routes.ts';
import { defaultSettings } from './settings.ts';

/** Devices that are read together. */
const READ_AT_ONCE = 500;

/** A device and its client's file. */
export interface FiledDevice {
  readonly row: DeviceRow;
  /** What its client's file holds at present. */
  readonly client: ClientConfig;
  /** True if the file that was made last is out of date; false also if nobody knows. */
  readonly isFileOld: boolean;
}

/** What decides what files hold. */
export interface FileContext extends Pick<GatewaySide, 'config' | 'serverPublicKey'> {
  readonly database: Database;
}

/** Devices with their files. */
export async function filedDevices(
  context: FileContext,
  configuration: EffectiveConfiguration,
  rows: readonly DeviceRow[],
): Promise<FiledDevice[]> {
  const included = await includedRoutes(context.database, configuration);
  return compared(context, configuration, rows, included);
}

/** The selected devices whose files are out of date, or are not; `limit` counts these alone. */
export async function devicesByFile(
  context: FileContext,
  configuration: EffectiveConfiguration,
  { limit = Number.POSITIVE_INFINITY, ...selection }: Selection,
  isOld: boolean,
): Promise<DeviceRow[]> {
  const { database } = context;
  const included = await includedRoutes(database, configuration);
  const found: DeviceRow[] = [];
  let { after } = selection;
  // A page where most devices are wanted compares few others; where few are, it soon reads many.
  let count = Math.min(limit, READ_AT_ONCE);
  while (found.length < limit) {
    const rows = await readDevices(database, {
      ...selection,
      ...(after && { after }),
      limit: count,
    });
    for (const { row, isFileOld } of await compared(context, configuration, rows, included))
      if (isFileOld === isOld && found.length < limit) found.push(row);
    if (rows.length < count) break;
    after = rows.at(-1);
    count = Math.min(2 * count, READ_AT_ONCE);
  }
  return found;
}

/** The ids of the devices whose files are out of date; of all devices, or of some. */
export async function oldFileIds(
  context: FileContext,
  configuration: EffectiveConfiguration,
  ids?: readonly string[],
): Promise<string[]> {
  if (ids === undefined) {
    const rows = await devicesByFile(context, configuration, {}, true);
    return rows.map(({ id }) => id);
  }
  const rows = await readDevices(context.database, { ids });
  const filed = await filedDevices(context, configuration, rows);
  return filed.filter(({ isFileOld }) => isFileOld).map(({ row }) => row.id);
}

async function compared(
  { config, database, serverPublicKey }: FileContext,
  configuration: EffectiveConfiguration,
  rows: readonly DeviceRow[],
  included: readonly RoutedDevice[],
): Promise<FiledDevice[]> {
  const ids = rows.map(({ id }) => id);
  const files = await readClientFiles(database, ids);
  const defaults = defaultSettings(configuration, config);
  const filed: FiledDevice[] = [];
  const pause = pauser();
  for (const row of rows) {
    // A file can name hundreds of networks.
    await pause();
    const client = clientConfigOf(row, defaults, { config, serverPublicKey, included });
    const noted = files.get(row.id);
    const isFileOld = noted !== undefined && noted !== clientFileHash(client);
    filed.push({ row, client, isFileOld });
  }
  return filed;
}
