// A gateway for benchmarks of the API: a process of its own (`lib/postern serve`, without a TUN), on a
// database that was filled before.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { settings as knownSettings } from '../../config/schema.ts';
import { connectDatabase, type Database, migrate, newId } from '../../models/index.ts';
import { sqlTime } from '../../models/storage/time.ts';
import { addManyDevices } from '../support/database/many-devices.ts';
import { LAUNCHER, PATH_TO_NODE } from '../support/gateway/launcher.ts';
import { addUser } from '../support/database/records.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PORT = 13_900;
/** Owners without devices; the benchmarks give them some. */
const OWNERS = 1_000;

/** A database for one gateway. */
export interface Place {
  readonly url: string;
  readonly encryptionKey: Buffer;
}

/** A gateway that runs. */
export interface Gateway {
  readonly uri: string;
  readonly token: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a gateway on a database that is filled already. */
export async function startGateway(
  { url, encryptionKey }: Place,
  folder: string,
): Promise<Gateway> {
  const token = `pst_${randomBytes(32).toString('base64url')}`;
  const hasRateLimit = (knownSettings as readonly { name: string }[]).some(
    ({ name }) => name === 'API_RATE_LIMIT',
  );
  const child = spawn(LAUNCHER, ['serve'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: PATH_TO_NODE,
      DATA_DIR: folder,
      DATABASE_URL: url,
      DATABASE_ENCRYPTION_KEY: encryptionKey.toString('base64'),
      BOOTSTRAP_API_TOKEN: token,
      DEFAULT_ADMIN_EMAIL: 'bench@example.test',
      DEFAULT_ADMIN_PASSWORD: 'correct horse battery staple',
      HTTP_PORT: String(PORT),
      WIREGUARD_PORT: String(PORT),
      WIREGUARD_TUN: 'off',
      MAX_DEVICES_PER_USER: '100',
      LOG_LEVEL: 'error',
      ...(hasRateLimit ? { API_RATE_LIMIT: '0' } : {}),
    },
  });
  const uri = `http://127.0.0.1:${PORT}`;
  for (let i = 0; ; i += 1) {
    if (child.exitCode !== null) throw new Error('the gateway ended');
    if (i === 1_200) throw new Error('the gateway is not ready after two minutes');
    const answer = await fetch(`${uri}/readyz`).catch(() => null);
    if (answer?.status === 200) break;
    await sleep(100);
  }
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  };
  return { uri, token, pid: child.pid ?? 0, stop };
}

/** Makes users in bulk, as `addManyDevices` makes devices. */
async function addOwners(database: Database, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId());
  const time = sqlTime(database.kind, new Date());
  const rows = ids.map(
    (id, i) =>
      `('${id}', 'o${i}@example.test', 'o${i}@example.test', 'unprivileged', '${time}', '${time}')`,
  );
  await database.sequelize.query(
    `INSERT INTO users (id, email, email_key, role, inserted_at, updated_at) VALUES ${rows.join(',')}`,
  );
  return ids;
}

/** Makes the tables, one owner of all devices, and others who have none; returns the others' ids. */
export async function fillPlace(place: Place, devices: number): Promise<string[]> {
  const database = await connectDatabase(place);
  try {
    await migrate(database);
    const { id } = await addUser(database, { email: 'crowd@example.test', role: 'admin' });
    await addManyDevices(database, id, devices);
    return await addOwners(database, OWNERS);
  } finally {
    await database.close();
  }
}
