// The main job on MariaDB: the server of TEST_MARIADB_URL, or one of its own. Before and after it,
// MariaDB itself is asked what it holds.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import test from 'ava';
import mysql from 'mysql2/promise';
import { type TcpRelay, openRelay, urlThrough } from '../support/network/tcp-relay.ts';
import {
  type Mariadb,
  runOnServer,
  startMariadb,
  stopMariadb,
} from '../support/database/mariadb.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Host } from '../support/network/namespaces.ts';
import { mainJob } from './main-job.ts';

/** This machine, as the gateway's host sees it. */
const MACHINE = '10.255.77.1';
const PREFIX = 'pm';
const DATABASE = `e2e_${randomBytes(8).toString('hex')}`;

let own: Mariadb | null = null;
let relay: TcpRelay | null = null;

function serverUrl(): string {
  return process.env['TEST_MARIADB_URL'] ?? own?.url ?? '';
}

/** Asks MariaDB itself. */
async function rows(sql: string): Promise<Record<string, string>[]> {
  const url = serverUrl().replace(/^mariadb:/, 'mysql:') + DATABASE;
  const connection = await mysql.createConnection(url);
  try {
    const [found] = await connection.query<mysql.RowDataPacket[]>(sql);
    return found.map((row) => ({ ...row }));
  } finally {
    await connection.end();
  }
}

const emails = (): Promise<object[]> => rows('SELECT email FROM users ORDER BY email_key');

test.serial('users and devices are rows of MariaDB, and its devices are the peers', async (t) => {
  t.deepEqual(await emails(), [
    { email: 'admin@example.test' },
    { email: 'alice@example.test' },
    { email: 'Bob@example.test' },
  ]);
  const devices = await rows(
    'SELECT public_key, ipv4, ipv6, email FROM devices JOIN users ON users.id = user_id ' +
      'ORDER BY ipv4_key',
  );
  t.deepEqual(
    devices.map(({ email }) => email),
    ['alice@example.test', 'Bob@example.test'],
  );
  const gateway = new Host(`${PREFIX}-gw`);
  const { stdout } = await gateway.run('wg', 'show', 'wg-postern', 'allowed-ips');
  t.deepEqual(
    stdout.trim().split('\n').toSorted(),
    devices.map((row) => `${row['public_key']}\t${row['ipv4']}/32 ${row['ipv6']}/128`).toSorted(),
  );
});

mainJob({
  prefix: PREFIX,
  engine: 'native',
  transferBytes: 20_000_000,
  settings: async () => {
    if (serverUrl() === '') own = await startMariadb();
    await runOnServer(serverUrl(), `CREATE DATABASE ${DATABASE}`);
    relay = await openRelay(MACHINE, Number(new URL(serverUrl()).port));
    return {
      ...WITHOUT_WARM_UP,
      DATABASE_URL: urlThrough(serverUrl(), MACHINE, relay, DATABASE),
      DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
  },
});

test.serial('MariaDB holds what the API changed, and not what it deleted', async (t) => {
  t.deepEqual(await emails(), [{ email: 'admin@example.test' }, { email: 'alice@example.test' }]);
  t.deepEqual(await rows('SELECT id FROM devices'), []);
  t.deepEqual(await rows('SELECT id FROM rules'), []);
  const entries = await rows(
    "SELECT action, changes FROM audit_entries WHERE kind = 'device' ORDER BY id",
  );
  const changed = entries.map(({ action, changes }) => {
    const { public_key: key, ipv4 } = JSON.parse(String(changes)) as Record<string, object>;
    return { action, ipv4, isOfKey: key !== undefined };
  });
  t.deepEqual(changed, [
    { action: 'create', ipv4: { to: '100.64.0.2' }, isOfKey: true },
    { action: 'create', ipv4: { to: '100.64.0.3' }, isOfKey: true },
    { action: 'update', ipv4: undefined, isOfKey: true },
    { action: 'update', ipv4: { from: '100.64.0.2', to: '100.64.7.7' }, isOfKey: false },
    { action: 'delete', ipv4: { from: '100.64.7.7' }, isOfKey: true },
    { action: 'delete', ipv4: { from: '100.64.0.3' }, isOfKey: true },
  ]);
});

test.after.always('the database goes away', async () => {
  relay?.close();
  if (serverUrl() !== '') await runOnServer(serverUrl(), `DROP DATABASE IF EXISTS ${DATABASE}`);
  if (own !== null) await stopMariadb(own);
});
