// A device goes on after it expired, or after it was disabled at another gateway, because the gateway
// cannot reach its database: somebody hangs it, or cuts the way to it.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { enrol, expireDevice, type Person } from '../e2e/people.ts';
import { openRelay, urlThrough } from '../support/network/tcp-relay.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
} from '../support/network/topology.ts';

const API_NETWORK = '10.255.93';
const AWAY_LIMIT_S = 20;

test.serial('an end and the limit do not wait for a database that hangs', async (t) => {
  t.timeout(120_000);
  const mariadb = await startMariadb();
  await runOnServer(mariadb.url, 'CREATE DATABASE gone');
  const topology = await buildTopology('ae', API_NETWORK);
  const relay = await openRelay(`${API_NETWORK}.1`, Number(new URL(mariadb.url).port));
  try {
    const postern = new Postern(topology.gateway, `${API_NETWORK}.2`, {
      ...WITHOUT_WARM_UP,
      DATABASE_URL: urlThrough(mariadb.url, `${API_NETWORK}.1`, relay, 'gone'),
      DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      DATABASE_AWAY_LIMIT: String(AWAY_LIMIT_S),
    });
    await postern.start();
    const [alice, bob] = [
      await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`),
      await enrol(postern, topology.bob, 'b@example.test', `${GATEWAY4_BOB}:51820`),
    ];
    const passes = ({ client }: Person): Promise<boolean> => canPing(client.host, LAN4, 1);
    t.true((await passes(alice)) && (await passes(bob)), 'both pass');
    const endsAt = Date.now() + 10_000;
    await expireDevice(postern, alice.device.id, new Date(endsAt));
    t.true(await passes(alice), 'its end has not come');
    process.kill(mariadb.pid, 'SIGSTOP');
    try {
      await sleep(endsAt + 1_000 - Date.now());
      t.false(await passes(alice), 'its end has come');
      t.true(await passes(bob));
      await until(
        'the limit is said',
        async () => (await postern.readiness()).status === 'database_away',
        (AWAY_LIMIT_S + 5) * 1_000,
      );
      t.false(await passes(bob));
    } finally {
      process.kill(mariadb.pid, 'SIGCONT');
    }
    await until('it is ready', async () => (await postern.readiness()).status === 'ready', 20_000);
    t.true(await passes(bob), 'it goes on without a new handshake');
    t.false(await passes(alice));
    t.true((postern.drops()['database_away'] ?? 0) > 0);
    process.kill(mariadb.pid, 'SIGSTOP');
    try {
      await until(
        'it notices',
        async () => (await postern.readiness()).status === 'database_unavailable',
        20_000,
      );
      t.is(await postern.stop(), 0, postern.output);
    } finally {
      process.kill(mariadb.pid, 'SIGCONT');
    }
  } finally {
    relay.close();
    await topology.network.remove();
    await stopMariadb(mariadb);
  }
});
