// What was carried of a quota, as rows say it.

import test from 'ava';
import { monthOf, newId, recordQuotaUsage } from '../../../models/index.ts';
import { quotaStateOf, readQuotaState } from '../../../lib/reconcile/quota-state.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';

test('the quota of a user comes before that of all', (t) => {
  t.deepEqual(quotaStateOf({ quota: 10 }, 20, 10), { quota: 10, used: 10, isUsedUp: true });
  t.deepEqual(quotaStateOf({ quota: 10 }, 5, 9), { quota: 10, used: 9, isUsedUp: false });
  t.deepEqual(quotaStateOf({ quota: null }, 20, 20), { quota: 20, used: 20, isUsedUp: true });
  t.deepEqual(quotaStateOf({ quota: null }, null, 1e12), {
    quota: null,
    used: 1e12,
    isUsedUp: false,
  });
});

for (const kind of databaseKinds())
  test(`${kind}: what all gateways wrote of a month is added up`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    const user = { id, quota: 100 };
    const now = Date.UTC(2026, 10, 26);
    const state = () => readQuotaState(database, user, { default_quota: null }, now);
    t.deepEqual(await state(), { quota: 100, used: 0, isUsedUp: false });
    for (const bytes of [40, 60]) {
      const report = { month: monthOf(now), userId: user.id, bytes };
      await recordQuotaUsage(database, newId(), [report]);
    }
    const before = { month: monthOf(Date.UTC(2026, 9, 26)), userId: user.id, bytes: 7 };
    await recordQuotaUsage(database, newId(), [before]);
    t.deepEqual(await state(), { quota: 100, used: 100, isUsedUp: true });
  });
