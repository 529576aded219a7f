// What users carried is read at once of whom it is unknown, and of all every two seconds.

import test from 'ava';
import type { Log } from '../../../lib/kit/process/log.ts';
import { UsageReading } from '../../../lib/reconcile/usage-reading.ts';
import { monthOf, recordQuotaUsage } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { settings } from '../../support/reconcile/rows.ts';
import { addUser } from '../../support/database/records.ts';

const NOW = Date.UTC(2026, 10, 29);

for (const kind of databaseKinds())
  test(`${kind}: unknown users are read at once, all every two seconds`, async (t) => {
    const database = await openDatabase(t, kind);
    const [{ id: ann }, { id: bob }] = [await addUser(database), await addUser(database)];
    const heard: object[] = [];
    const lower = (): void => undefined;
    const quotas = { has: () => true, limited: [ann, bob], lower, overCount: 0, unread: [bob] };
    const translation = {
      quotas,
      hearUsage: (month: number, ids: readonly string[], used: ReadonlyMap<string, number>) =>
        void heard.push({ month, ids, used: Object.fromEntries(used) }),
    };
    const warned: string[] = [];
    const warn = (_fields: object, text: string): void => void warned.push(text);
    const log: Log = { debug() {}, info() {}, warn, error() {} };
    const reading = new UsageReading({ database, log, settings }, translation);
    const month = monthOf(NOW);
    await recordQuotaUsage(database, 'g1', [{ userId: ann, month, bytes: 7 }]);

    await reading.read(NOW);
    await reading.read(NOW + 1_899);
    quotas.unread = [];
    await reading.tryRead(NOW + 1_899);
    await reading.tryRead(NOW + 1_900);
    t.deepEqual(heard, [
      { month, ids: [ann, bob], used: { [ann]: 7 } },
      { month, ids: [bob], used: {} },
      { month, ids: [ann, bob], used: { [ann]: 7 } },
    ]);

    await database.sequelize.query('ALTER TABLE quota_usage RENAME COLUMN bytes TO octets');
    for (const ms of [4_000, 6_000]) await reading.tryRead(NOW + ms);
    await t.throwsAsync(reading.read(NOW + 8_000));
    t.is(warned.length, 1);
    await database.sequelize.query('ALTER TABLE quota_usage RENAME COLUMN octets TO bytes');
    await reading.tryRead(NOW + 10_000);
    await database.sequelize.query('ALTER TABLE quota_usage RENAME COLUMN bytes TO octets');
    await reading.tryRead(NOW + 12_000);
    t.is(warned.length, 2);
    await database.sequelize.query('ALTER TABLE quota_usage RENAME COLUMN octets TO bytes');
  });
