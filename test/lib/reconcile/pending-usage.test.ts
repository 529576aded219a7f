// What users carried on its way into the database: who has a quota at once, all others once a
// minute, each byte once, also while the database is away.

import test from 'ava';
import { PendingUsage } from '../../../lib/reconcile/pending-usage.ts';
import { type Database, monthOf, readQuotaUsage } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';
import { logInto, type LogLine } from '../../../lib/testing/log.ts';

const GATEWAY = '01900000-0000-7000-8000-000000000001';
const NOVEMBER = Date.UTC(2026, 10, 30, 23, 59, 59);
const DECEMBER = Date.UTC(2026, 11, 1);

/** Of two users, the first has a quota. Their devices' keys are their names. */
async function setUp(database: Database) {
  const ids = { ann: (await addUser(database)).id, bob: (await addUser(database)).id };
  const clock = { wallMs: NOVEMBER, nowMs: 0 };
  const lines: LogLine[] = [];
  const usage = new PendingUsage({
    database,
    gatewayId: GATEWAY,
    ownerIdOf: (key) => ids[key as keyof typeof ids] ?? null,
    hasQuota: (userId) => userId === ids.ann,
    log: logInto(lines),
    wallMs: () => clock.wallMs,
    nowMs: () => clock.nowMs,
  });
  const used = async (ms = NOVEMBER): Promise<(number | undefined)[]> => {
    const found = await readQuotaUsage(database, monthOf(ms), Object.values(ids));
    return [found.get(ids.ann), found.get(ids.bob)];
  };
  return { ids, clock, lines, usage, used };
}

for (const kind of databaseKinds()) {
  test(`${kind}: who has a quota is written at once, others once a minute`, async (t) => {
    const { clock, usage, used } = await setUp(await openDatabase(t, kind));
    usage.device('ann', 100);
    usage.device('ann', 1);
    usage.device('bob', 20);
    usage.device('nobody', 5);
    await usage.write();
    t.deepEqual(await used(), [101, undefined]);
    usage.device('bob', 3);
    clock.nowMs = 59_999;
    await usage.write();
    t.deepEqual(await used(), [101, undefined]);
    clock.nowMs = 60_000;
    await usage.write();
    t.deepEqual(await used(), [101, 23]);
    usage.device('bob', 4);
    await usage.write(true);
    t.deepEqual(await used(), [101, 27]);
  });

  test(`${kind}: bytes belong to the month in which they were seen`, async (t) => {
    const { clock, usage, used } = await setUp(await openDatabase(t, kind));
    usage.device('ann', 100);
    clock.wallMs = DECEMBER;
    usage.device('ann', 7);
    await usage.write();
    t.deepEqual(await used(), [100, undefined]);
    t.deepEqual(await used(DECEMBER), [7, undefined]);
  });

  test(`${kind}: nothing is lost while the database is away, and nothing counts twice`, async (t) => {
    const database = await openDatabase(t, kind);
    const { lines, usage, used } = await setUp(database);
    const query = database.sequelize.query.bind(database.sequelize);
    database.sequelize.query = () => Promise.reject(new Error('away'));
    for (const bytes of [100, 20, 3]) {
      usage.device('ann', bytes);
      await usage.write();
    }
    database.sequelize.query = query;
    t.deepEqual(await used(), [undefined, undefined]);
    usage.device('ann', 4_000);
    await usage.write();
    await usage.write();
    t.deepEqual(await used(), [4_123, undefined]);
    t.is(lines.filter(({ message }) => message.includes('could not be written')).length, 1);
    t.is(lines.filter(({ message }) => message.includes('written again')).length, 1);
  });
}
