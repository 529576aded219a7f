// The main job with MariaDB under it: the server of TEST_MARIADB_URL, or one of its own.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import test from 'ava';
import { type Door, openDoor, urlThrough } from '../support/door.ts';
import { type Mariadb, runOnServer, startMariadb, stopMariadb } from '../support/mariadb.ts';
import { mainJob } from './main-job.ts';

/** This machine, as the gateway's host sees it. */
const MACHINE = '10.255.77.1';
const DATABASE = `e2e_${randomBytes(8).toString('hex')}`;

let own: Mariadb | null = null;
let door: Door | null = null;

function serverUrl(): string {
  return process.env['TEST_MARIADB_URL'] ?? own?.url ?? '';
}

mainJob({
  prefix: 'pm',
  engine: 'native',
  transferBytes: 100_000_000,
  settings: async () => {
    if (serverUrl() === '') own = await startMariadb();
    await runOnServer(serverUrl(), `CREATE DATABASE ${DATABASE}`);
    door = await openDoor(MACHINE, Number(new URL(serverUrl()).port));
    return {
      DATABASE_URL: urlThrough(serverUrl(), MACHINE, door, DATABASE),
      DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
  },
});

test.after.always('the database goes away', async () => {
  door?.close();
  if (serverUrl() !== '') await runOnServer(serverUrl(), `DROP DATABASE IF EXISTS ${DATABASE}`);
  if (own !== null) await stopMariadb(own);
});
