// Whether the holder of the migration lease lives: a process that was killed is not waited for.

import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type LeaseTimes, withLease } from '../../../models/migrations/lease.ts';
import { lifeOf } from '../../../models/migrations/sign-of-life.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';

/** As they serve, but for the time between two looks. */
const times: LeaseTimes = { expiresMs: 60_000, renewMs: 5_000, pollMs: 20, waitMs: 120_000 };

for (const kind of databaseKinds()) {
  test(`${kind}: a holder that was killed is not waited for`, async (t) => {
    const place = await makePlace(t, kind);
    const infos: string[] = [];
    const log = { info: (_: object, text: string) => infos.push(text), warn: () => t.fail() };
    const database = await openAt(t, place, { log });
    const holder = fork(new URL('./lease-holder.ts', import.meta.url), {
      env: { ...process.env, HOLDER_URL: place.url },
    });
    t.teardown(() => holder.kill('SIGKILL'));
    await once(holder, 'message');
    const [row] = await database.sequelize.query('SELECT owner FROM leases');
    const { owner } = row[0] as { owner: string };
    t.is(await lifeOf(database, owner), 'alive');
    let isHeld = false;
    const waiting = withLease(database, async () => (isHeld = true), {
      ...times,
      expiresMs: 60_000,
    });
    while (infos.length === 0) await sleep(20);
    t.false(isHeld);
    const killedMs = performance.now();
    holder.kill('SIGKILL');
    await waiting;
    t.true(isHeld && performance.now() - killedMs < 20_000, 'long before the lease ran out');
    t.deepEqual(infos, ['waiting for another process that migrates the database; it lives']);
    t.is(await lifeOf(database, owner), 'dead');
    if (kind === 'sqlite') t.deepEqual(readdirSync(dirname(place.url.slice(7))).length, 3);
  });

  test(`${kind}: of an owner of an earlier version, or at another server, nobody knows`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    t.is(await lifeOf(database, randomUUID()), 'unknown');
    const elsewhere = 'live-0123456789ab-0123456789abcdef01';
    t.is(await lifeOf(database, elsewhere), kind === 'sqlite' ? 'dead' : 'unknown');
  });
}
