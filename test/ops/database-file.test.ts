// What others do to the file of a SQLite database while a gateway uses it: they lock it for a write
// of their own, or move it away.

import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Finding } from '../../dataplane/index.ts';
import { programMain } from '../support/gateway/bundle.ts';
import { startGateway } from '../support/gateway/gateway-process.ts';
import { lockSqliteFile } from '../support/database/sqlite-lock.ts';
import { until } from '../support/gateway/postern.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const HELD_MS = 20_000;
/**
 * Twice what a statement waits (models/storage/rerun.ts), and some time for a busy machine; less than
 * the lock is held, so a write that waits for its end is found.
 */
const ANSWERED_MS = 15_000;

test('while another program locks the file, writes are refused with the reason, in time', async (t) => {
  const { call, environment } = await startGateway(t);
  const release = lockSqliteFile(join(environment['DATA_DIR']!, 'postern.sqlite'));
  const untilMs = performance.now() + HELD_MS;
  const write = async (i: number): Promise<void> => {
    const askedAt = performance.now();
    const user = { email: `${i}@example.test` };
    const { status, headers } = await call('POST', '/v0/users', { user });
    const tookMs = performance.now() - askedAt;
    t.true(tookMs < ANSWERED_MS, `answered after ${Math.round(tookMs)} ms`);
    // Writes that still wait when the lock ends are done.
    if (askedAt + tookMs < untilMs) t.is(status, 503);
    if (status === 503) t.is(headers['retry-after'], '5');
  };
  const writes: Promise<void>[] = [];
  for (let i = 0; performance.now() < untilMs; i += 1) {
    writes.push(write(i));
    t.is((await call('GET', '/v0/users')).status, 200);
    await sleep(1_000);
  }
  release();
  await Promise.all(writes);
  t.is((await call('POST', '/v0/users', { user: { email: 'after@example.test' } })).status, 201);
  await until('the gateway is ready', async () => (await call('GET', '/readyz')).status === 200);
});

test('a gateway whose file is moved away refuses writes, and serves again when the file is back', async (t) => {
  const { call, environment } = await startGateway(t);
  const file = join(environment['DATA_DIR']!, 'postern.sqlite');
  const add = async (name: string): Promise<number> =>
    (await call('POST', '/v0/users', { user: { email: `${name}@example.test` } })).status;
  t.is(await add('before'), 201);
  renameSync(file, `${file}.away`);
  t.is(await add('meanwhile'), 503);
  await until(
    'readiness says it',
    async () => (await call('GET', '/readyz')).status === 503,
    20_000,
  );
  const run = spawnSync(process.execPath, [programMain(), 'doctor', '--json'], {
    cwd: ROOT,
    env: environment,
    encoding: 'utf8',
  });
  const { findings } = JSON.parse(run.stdout) as { findings: Finding[] };
  const found = findings.find(({ check }) => check === 'database');
  t.like(found, {
    level: 'failed',
    message: `${file} is gone, and the gateway that runs takes no writes`,
  });
  renameSync(`${file}.away`, file);
  t.is(await add('after'), 201);
  await until('the gateway is ready', async () => (await call('GET', '/readyz')).status === 200);
  const { body } = await call('GET', '/v0/users');
  t.deepEqual(
    (body as { data: { email: string }[] }).data.map(({ email }) => email),
    ['admin@example.com', 'before@example.test', 'after@example.test'],
  );
});
