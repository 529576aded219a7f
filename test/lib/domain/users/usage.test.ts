// What users carried in a month is forgotten when that month has been over for two days.

import test from 'ava';
import { forgetUsage } from '../../../../lib/domain/users/usage.ts';
import { readQuotaUsage, recordQuotaUsage } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-000000000001';

for (const kind of databaseKinds())
  test(`${kind}: a month that has been over for two days is forgotten, and no other`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: userId } = await addUser(database);
    const months = [202_511, 202_610, 202_611];
    await recordQuotaUsage(
      database,
      GATEWAY,
      months.map((month) => ({ userId, month, bytes: 1 })),
    );
    const left = async (time: string): Promise<number[]> => {
      await forgetUsage(database, async () => new Date(time)).run(() => false);
      const found: number[] = [];
      for (const month of months)
        if ((await readQuotaUsage(database, month, [userId])).size > 0) found.push(month);
      return found;
    };
    t.deepEqual(await left('2026-11-03T00:59:59.999Z'), [202_610, 202_611]);
    t.deepEqual(await left('2026-11-03T01:00:00.000Z'), [202_611]);
  });
