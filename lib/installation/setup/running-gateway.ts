// What commands know about the running gateway: its settings and its key, which it wrote to the
// database at its start. Commands must write the same files for devices as the gateway, but the
// shell in which they run may have other settings.

import { hostname } from 'node:os';
import { type Config, type OpenSettings, withOpenSettings } from '../../../config/index.ts';
import { derivePublicKey } from '../../../dataplane/index.ts';
import { type Database, GATEWAY_ALIVE_MS, readGateways } from '../../../models/index.ts';
import { serverPrivateKey } from './first-start.ts';

/** A gateway, as it described itself in the database. */
export interface RunningGateway {
  readonly name: string;
  readonly settings: OpenSettings;
  /** Base64. */
  readonly publicKey: string;
}

/**
 * The gateway of this database that runs on this host, or else the one that started last; null if
 * none runs or if it wrote no settings.
 */
export async function runningGateway(database: Database): Promise<RunningGateway | null> {
  const rows = await readGateways(database, GATEWAY_ALIVE_MS);
  const row = rows.find(({ name }) => name === hostname()) ?? rows[0];
  if (row === undefined || row.settings === null || row.public_key === null) return null;
  const settings = JSON.parse(row.settings) as OpenSettings;
  return { name: row.name, settings, publicKey: row.public_key };
}

/** The settings of the running gateway; if none runs, those of this process. */
export async function servedConfig(own: Config, database: Database): Promise<Config> {
  const running = await runningGateway(database);
  return running === null ? own : withOpenSettings(own, running.settings);
}

/** What commands write into the files of devices. */
export interface GatewayOfFiles {
  readonly config: Config;
  /** Base64. */
  readonly serverPublicKey: string;
  /** False if no gateway runs: then the settings are those of this process. */
  readonly isRunning: boolean;
}

/** What the running gateway would write; if none runs, what the settings of this process say. */
export async function gatewayOfFiles(config: Config, database: Database): Promise<GatewayOfFiles> {
  const running = await runningGateway(database);
  if (running !== null)
    return {
      config: withOpenSettings(config, running.settings),
      serverPublicKey: running.publicKey,
      isRunning: true,
    };
  const publicKey = derivePublicKey(await serverPrivateKey(config, database));
  const serverPublicKey = Buffer.from(publicKey).toString('base64');
  return { config, serverPublicKey, isRunning: false };
}
