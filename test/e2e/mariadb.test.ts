// The main job with MariaDB under it: the server of TEST_MARIADB_URL, or one of its own.

import { randomBytes } from 'node:crypto';
import { connect, createServer } from 'node:net';
import process from 'node:process';
import { once } from 'node:events';
import test from 'ava';
import { type Mariadb, runOnServer, startMariadb, stopMariadb } from '../support/mariadb.ts';
import { mainJob } from './main-job.ts';

/** This machine, as the gateway's host sees it. */
const MACHINE = '10.255.77.1';
const DATABASE = `e2e_${randomBytes(8).toString('hex')}`;

let own: Mariadb | null = null;
const door = createServer();

/** The server listens on this machine's loopback alone; this lets the gateway's host in. */
async function openDoor(port: number): Promise<number> {
  door.on('connection', (inside) => {
    const outside = connect(port, '127.0.0.1');
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) socket.on('error', () => inside.destroy());
  });
  door.listen(0, MACHINE);
  await once(door, 'listening');
  const address = door.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

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
    const url = new URL(serverUrl());
    url.port = String(await openDoor(Number(url.port)));
    url.hostname = MACHINE;
    url.pathname = DATABASE;
    return {
      DATABASE_URL: url.href,
      DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
  },
});

test.after.always('the database goes away', async () => {
  door.close();
  if (serverUrl() !== '') await runOnServer(serverUrl(), `DROP DATABASE IF EXISTS ${DATABASE}`);
  if (own !== null) await stopMariadb(own);
});
