// A migration beside gateways of an earlier version: databases as released versions left them, with
// the rows of their gateways, which beat on as those versions do.

import { setTimeout as sleep } from 'node:timers/promises';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  OlderGatewaysError,
  waitForOlder,
} from '../../../../lib/installation/setup/beside-older.ts';
import {
  type Database,
  executedMigrations,
  newId,
  NO_REVISION,
  pendingMigrations,
  recordHeartbeat,
} from '../../../../models/index.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  type Place,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { obeyedHere } from '../../../support/gateway/obeyed-command.ts';
import { KEY, loadReleased } from '../../../models/migrations/released-databases.ts';

/** A gateway of 1.0.0 that is in the databases. */
const OLDER = '0190a000-0000-7000-8000-000000000051';
const TIMES = { aliveMs: 600, waitMs: 1_500, stepMs: 20 };

/** A database as the step of a number left it. */
async function released(t: ExecutionContext, kind: TestDatabaseKind, number: string) {
  const place: Place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
  await loadReleased(place.url, number, kind);
  return { place, database: await openAt(t, place) };
}

/** One beat, as 1.0.0 writes it. */
async function beat(database: Database, id = OLDER, seenAt = new Date()): Promise<void> {
  await recordHeartbeat(database, id, { seenAt, appliedRevision: NO_REVISION });
}

/** Beats until it is stopped. */
function beating(t: ExecutionContext, database: Database, id = OLDER): () => Promise<void> {
  let isOver = false;
  const beats = (async () => {
    for (; !isOver; await sleep(50)) await beat(database, id);
  })();
  const stop = async (): Promise<void> => {
    isOver = true;
    await beats;
  };
  t.teardown(stop);
  return stop;
}

async function wait(database: Database, migrating: object, lines: LogLine[] = []): Promise<void> {
  const who = { isStart: false, gatewayId: null, isAllowed: false, log: logInto(lines) };
  await waitForOlder(database, { ...who, ...migrating }, TIMES);
}

const refused = {
  instanceOf: OlderGatewaysError,
  message: /gate \(0190a000.*MIGRATE_BESIDE_OLDER/,
};

for (const kind of databaseKinds()) {
  test(`${kind}: a command does not migrate beside a gateway of 1.0.0`, async (t) => {
    const { database } = await released(t, kind, '0001');
    await wait(database, {});
    await beat(database);
    const stop = beating(t, database);
    await t.throwsAsync(wait(database, {}), refused);
    await wait(database, { isAllowed: true });
    await stop();
    // It has just been stopped: a command waits until that is clear.
    await wait(database, {});
  });

  test(`${kind}: a start waits for it, and is given up`, async (t) => {
    const { database } = await released(t, kind, '0001');
    await beat(database);
    const stop = beating(t, database);
    const lines: LogLine[] = [];
    await t.throwsAsync(wait(database, { isStart: true }, lines), refused);
    t.deepEqual(
      lines.map(({ level }) => level),
      ['warn'],
    );
    const waiting = wait(database, { isStart: true }, lines);
    await sleep(200);
    await stop();
    await waiting;
    // Its own row is of before.
    await beat(database);
    const began = performance.now();
    await wait(database, { isStart: true, gatewayId: OLDER }, lines);
    t.true(performance.now() - began < TIMES.aliveMs);
    await wait(database, { isStart: true, isAllowed: true }, lines);
    t.regex(lines.at(-1)?.message ?? '', /MIGRATE_BESIDE_OLDER/);
  });

  test(`${kind}: a gateway whose clock was wrong when it stopped is not waited for long`, async (t) => {
    const { database } = await released(t, kind, '0001');
    await beat(database, OLDER, new Date('2099-01-01'));
    await wait(database, {});
    await beat(database, OLDER, new Date('2020-01-01'));
    await t.notThrowsAsync(wait(database, {}));
  });

  test(`${kind}: beside a gateway that says its schema it migrates, and says so`, async (t) => {
    const { database } = await released(t, kind, '0019');
    const id = newId();
    const now = new Date();
    const row = { id, name: 'telling', started_at: now, seen_at: now, applied_revision: 0 };
    // Columns that came later are not there yet.
    await database.models.Gateway.create(
      { ...row, schema_step: '0019-audit-pairs' },
      { fields: [...(Object.keys(row) as (keyof typeof row)[]), 'schema_step'] },
    );
    beating(t, database, id);
    const lines: LogLine[] = [];
    await wait(database, {}, lines);
    t.is(lines.length, 1);
    t.regex(lines[0]?.message ?? '', /obey only what disables, deletes or ends/);
    t.like(lines[0]?.fields, { gateways: `telling (${id})` });
  });
}

test.serial('a command of this version leaves the database as it is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-beside-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  const url = `sqlite:${join(folder, 'data/postern.sqlite')}`;
  await loadReleased(url, '0001', 'sqlite');
  const database = await openAt(t, { url, encryptionKey: KEY });
  const before = await executedMigrations(database);
  await beat(database);
  beating(t, database);
  const settings = {
    DATA_DIR: join(folder, 'data'),
    DATABASE_ENCRYPTION_KEY: KEY.toString('base64'),
    EXTERNAL_URL: 'https://vpn.example.com',
  };
  for (const line of [['device', 'list'], ['migrate'], ['user', 'list']]) {
    const ended = await obeyedHere(line, settings);
    t.is(ended.status, 1, line.join(' '));
    t.regex(ended.stderr, /Gateways of an earlier version run/);
  }
  t.deepEqual(await executedMigrations(database), before);
  const allowed = await obeyedHere(['device', 'list'], {
    ...settings,
    MIGRATE_BESIDE_OLDER: 'true',
  });
  t.is(allowed.status, 0, allowed.stderr);
  t.deepEqual(await pendingMigrations(database), []);
});
