// The migration lease: one holder at a time, an end for holders that died, no work after a loss.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { LeaseError, type LeaseTimes, withLease } from '../../../models/migrations/lease.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';

const times: LeaseTimes = { expiresMs: 5000, renewMs: 100, pollMs: 20, waitMs: 20_000 };

for (const kind of databaseKinds()) {
  test(`${kind}: of many that want it one holds the lease at a time`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = await Promise.all([1, 2, 3].map(() => openAt(t, place)));
    let holders = 0;
    await Promise.all(
      databases.map((database) =>
        withLease(
          database,
          async () => {
            holders += 1;
            t.is(holders, 1);
            await sleep(50);
            holders -= 1;
          },
          times,
        ),
      ),
    );
    t.is(holders, 0);
  });

  test(`${kind}: a holder that works longer than the lease keeps it by renewing`, async (t) => {
    const place = await makePlace(t, kind);
    const [first, second] = [await openAt(t, place), await openAt(t, place)];
    const order: string[] = [];
    // Long enough that a busy machine renews in time, short enough to end within the work.
    const renewed = { ...times, expiresMs: 3000, renewMs: 200 };
    const held = Promise.withResolvers<void>();
    const long = withLease(
      first,
      async (lease) => {
        held.resolve();
        await sleep(4000);
        await lease.assertHeld();
        order.push('first');
      },
      renewed,
    );
    await held.promise;
    await withLease(second, async () => order.push('second'), renewed);
    await long;
    t.deepEqual(order, ['first', 'second']);
  });

  test(`${kind}: the lease of a holder that died runs out, and who waits for it says so once`, async (t) => {
    const said: string[] = [];
    const log = { info() {}, warn: (_: object, message: string) => said.push(message) };
    const database = await openAt(t, await makePlace(t, kind), { log });
    await withLease(database, async () => undefined, times);
    const startedMs = Date.now();
    await database.sequelize.query(
      `UPDATE leases SET owner = 'dead', expires_ms = ${startedMs + 3_000}`,
    );
    await withLease(database, async () => undefined, times);
    t.true(Date.now() - startedMs >= 2_900);
    t.is(said.length, 1);
    t.regex(said[0] ?? '', /^waiting for another process that migrates.* goes on in [123] s$/);
  });

  test(`${kind}: a holder that lost the lease learns it before its next step`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await t.throwsAsync(
      withLease(
        database,
        async (lease) => {
          await lease.assertHeld();
          await database.sequelize.query("UPDATE leases SET owner = 'other'");
          await lease.assertHeld();
        },
        times,
      ),
      { instanceOf: LeaseError, message: /was lost/ },
    );
    // The new holder's lease is left alone.
    const [rows] = await database.sequelize.query('SELECT owner FROM leases');
    t.deepEqual(rows, [{ owner: 'other' }]);
  });

  test(`${kind}: one does not wait for ever, and learns for whom`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await withLease(database, async () => undefined, times);
    await database.sequelize.query(
      `UPDATE leases SET owner = 'busy', expires_ms = ${Date.now() + 60_000}`,
    );
    await t.throwsAsync(
      withLease(database, async () => undefined, { ...times, waitMs: 100 }),
      { instanceOf: LeaseError, message: /Another process \(busy\).*start again/ },
    );
  });

  test(`${kind}: the lease is free again after work that failed`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await t.throwsAsync(
      withLease(
        database,
        async () => {
          throw new Error('no');
        },
        times,
      ),
      { message: 'no' },
    );
    t.is(await withLease(database, async () => 'free', { ...times, waitMs: 0 }), 'free');
  });
}
