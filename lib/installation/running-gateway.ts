// What commands know of the gateway that runs: its settings and its key, as it told them to the
// database at its start. What they write for devices must be what the gateway would write, and the
// shell that they run in may have other settings.

import { hostname } from 'node:os';
import { type Config, type OpenSettings, withOpenSettings } from '../../config/index.ts';
import { derivePublicKey } from '../../dataplane/index.ts';
import { type Database, readGateways } from '../../models/index.ts';
import { serverPrivateKey } from './first-start.ts';

/** Gateways say every 5 seconds that they live; one that hangs for a moment lives too. */
const ALIVE_MS = 60_000;

/** A gateway, as it told of itself. */
export interface RunningGateway {
  readonly name: string;
  readonly settings: OpenSettings;
  /** Base64. */
  readonly publicKey: string;
}

/**
 * The gateway of this database that runs on this host, or else the one that started last; null
 * where none runs, or it tells nothing.
 */
export async function runningGateway(database: Database): Promise<RunningGateway | null> {
  const rows = await readGateways(database, new Date(Date.now() - ALIVE_MS));
  const row = rows.find(({ name }) => name === hostname()) ?? rows[0];
  if (row === undefined || row.settings === null || row.public_key === null) return null;
  const settings = JSON.parse(row.settings) as OpenSettings;
  return { name: row.name, settings, publicKey: row.public_key };
}

/** The settings of the gateway that runs; where none does, those of this process. */
export async function servedConfig(own: Config, database: Database): Promise<Config> {
  const running = await runningGateway(database);
  return running === null ? own : withOpenSettings(own, running.settings);
}

/** What commands write into the files of devices. */
export interface GatewayOfFiles {
  readonly config: Config;
  /** Base64. */
  readonly serverPublicKey: string;
  /** False: no gateway runs, and the settings of this process decide. */
  readonly isRunning: boolean;
}

/** What the gateway that runs would write; where none does, what these settings say. */
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
