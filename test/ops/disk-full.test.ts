// The disk of a SQLite database is full: writes are refused with 503 and change nothing, readiness
// says why, tunnels work on. With room again everything goes on by itself. A gateway that dies in
// between, and one that starts in between, do no harm either.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol } from '../e2e/people.ts';
import { command } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  type Topology,
} from '../support/network/topology.ts';
import { inspectDatabase, Ledger } from './ledger.ts';
import { API_ADDRESS, API_NETWORK, seed } from './lengths.ts';

const DISK = '12m';
const FULL_MS = 8_000;
/** With room again it is ready after so long. */
const READY_MS = 2_500;

/** Fills all the room that is left on a disk. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let size = 65_536; size >= 1; size = Math.floor(size / 2)) {
      const bytes = Buffer.alloc(size, 1);
      try {
        for (;;) writeSync(file, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}

async function outlivesAFullDisk(
  t: ExecutionContext,
  topology: Topology,
  folder: string,
): Promise<void> {
  const postern = new Postern(topology.gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    API_RATE_LIMIT: '0',
    DATA_DIR: folder,
  });
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  t.true(await canPing(alice.client.host, LAN4));
  const ledger = new Ledger(t, postern, seed, 3);
  await ledger.notice();
  const load = ledger.run({ persist: true });
  await sleep(2_000);

  const ballast = join(folder, 'ballast');
  fill(ballast);
  await until('writes are refused', () => ledger.figures.refused > 5, 20_000);
  await until('readiness says it', async () => {
    const { status, code } = await postern.readiness();
    return status === 'database_unavailable' && code === 503;
  });
  const begun = performance.now();
  const statuses = new Set<number>();
  while (performance.now() - begun < FULL_MS) {
    statuses.add((await postern.call('GET', '/v0/users')).status);
    t.true(await canPing(alice.client.host, LAN4, 1), 'tunnels run on');
    await sleep(300);
  }
  t.false(statuses.has(500));
  // A start names the disk that is full, and a gateway that dies loses nothing.
  await postern.kill();
  const said = await t.throwsAsync(postern.start());
  t.regex(String(said), /no space is left|ENOSPC|disk/);
  t.true(String(said).includes(folder), 'names the disk');
  rmSync(ballast);
  await postern.start();
  const answered = ledger.figures.answered;
  await until('writers write again', () => ledger.figures.answered > answered + 50, 20_000);

  // The second time somebody makes room in time.
  fill(ballast);
  const refused = ledger.figures.refused;
  await until('writes are refused', () => ledger.figures.refused > refused + 5, 20_000);
  // It stays full while only small writes find room, and the reconciler waits ever longer.
  await sleep(FULL_MS);
  t.is((await postern.readiness()).status, 'database_unavailable');
  rmSync(ballast);
  const roomAt = performance.now();
  await until('it is ready', async () => (await postern.readiness()).status === 'ready', 20_000);
  const readyMs = performance.now() - roomAt;
  t.true(readyMs < READY_MS, `ready ${readyMs} ms after there was room`);
  const then = ledger.figures.answered;
  await until('writers go on', () => ledger.figures.answered > then + 50, 20_000);
  ledger.stop();
  await load;
  await ledger.verify(t);
  await until('the lan answers', () => canPing(alice.client.host, LAN4, 1), 25_000);
  t.log({ seed, readyMs, ...ledger.figures });
  await postern.stop();
  await inspectDatabase(t, {
    url: `sqlite:${join(folder, 'postern.sqlite')}`,
    encryptionKey: Buffer.from(readFileSync(join(folder, 'encryption.key'), 'utf8'), 'base64'),
  });
}

test.serial(
  'a full disk refuses writes, harms nothing, and with room again everything works',
  async (t) => {
    t.timeout(240_000);
    const folder = mkdtempSync(join(tmpdir(), 'postern-full-'));
    await command('mount', '-t', 'tmpfs', '-o', `size=${DISK},mode=0700`, 'tmpfs', folder);
    const topology = await buildTopology('of', API_NETWORK);
    try {
      await outlivesAFullDisk(t, topology, folder);
    } finally {
      await topology.network.remove();
      await command('umount', folder);
      rmSync(folder, { recursive: true });
    }
  },
);
