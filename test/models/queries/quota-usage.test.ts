// What users carried in a month: gateways add up, months are apart, who is gone is skipped, and it
// outlives the devices.

import test from 'ava';
import {
  type Database,
  forgetQuotaUsage,
  monthOf,
  readQuotaUsage,
  recordQuotaUsage,
  removeDevices,
  removeUser,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../fixtures.ts';

const A = '01900000-0000-7000-8000-00000000000a';
const B = '01900000-0000-7000-8000-00000000000b';
const ABSENT = '01900000-0000-7000-8000-00000000dead';
const MONTH = 202_611;

test('a month begins and ends at midnight in UTC, whatever the zone of the host', (t) => {
  for (const [time, month] of [
    ['2026-10-31T23:59:59.999Z', 202_610],
    ['2026-11-01T00:00:00.000Z', 202_611],
    ['2026-11-30T23:59:59.999Z', 202_611],
    ['2026-12-31T23:59:59.999Z', 202_612],
    ['2027-01-01T00:00:00.000Z', 202_701],
    ['2028-02-29T23:59:59.999Z', 202_802],
  ] as const)
    t.is(monthOf(Date.parse(time)), month, time);
});

async function add(
  database: Database,
  gateway: string,
  userId: string,
  bytes: number,
  month = MONTH,
) {
  await recordQuotaUsage(database, gateway, [{ userId, month, bytes }]);
}

async function used(database: Database, userIds: readonly string[], month = MONTH) {
  return Object.fromEntries(await readQuotaUsage(database, month, userIds));
}

for (const kind of databaseKinds()) {
  test(`${kind}: gateways and reports add up; months and users are apart`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob, cid] = [
      (await addUser(database)).id,
      (await addUser(database)).id,
      (await addUser(database)).id,
    ];
    const big = 2 ** 52;
    await recordQuotaUsage(database, A, [
      { userId: bob, month: MONTH, bytes: 7 },
      { userId: ann, month: MONTH, bytes: big },
      { userId: ann, month: MONTH + 1, bytes: 3 },
      { userId: ABSENT, month: MONTH, bytes: 99 },
    ]);
    await add(database, B, ann, 5);
    await add(database, A, ann, 1);
    await recordQuotaUsage(database, A, []);
    t.deepEqual(await used(database, [ann, bob, cid, ABSENT]), { [ann]: big + 6, [bob]: 7 });
    t.deepEqual(await used(database, [ann]), { [ann]: big + 6 });
    t.deepEqual(await used(database, [ann, bob], MONTH + 1), { [ann]: 3 });
    t.deepEqual(await used(database, []), {});
  });

  test(`${kind}: more users than a statement names are written and read`, async (t) => {
    const database = await openDatabase(t, kind);
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push((await addUser(database)).id);
    const strangers = Array.from({ length: 700 }, (_, i) => `${ABSENT.slice(0, -4)}${i + 1_000}`);
    const userIds = [...strangers, ...ids];
    await recordQuotaUsage(
      database,
      A,
      userIds.map((userId, bytes) => ({ userId, month: MONTH, bytes })),
    );
    const wanted = Object.fromEntries(ids.map((id, i) => [id, 700 + i]));
    t.deepEqual(await used(database, userIds), wanted);
    t.deepEqual(await used(database, userIds, MONTH - 1), {});
    // The last part is refused: nothing of the others may stay.
    const reports = userIds.map((userId) => ({ userId, month: MONTH - 1, bytes: 1 }));
    const bad = { userId: `z${ABSENT.slice(1)}`, month: MONTH - 1, bytes: {} as never };
    await t.throwsAsync(recordQuotaUsage(database, A, [...reports, bad]));
    t.deepEqual(await used(database, userIds, MONTH - 1), {});
  });

  test(`${kind}: it outlives devices, goes with the user, and old months are forgotten`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const device = await addDevice(database, ann);
    for (const { id } of [ann, bob])
      for (const month of [202_512, 202_610, MONTH]) await add(database, A, id, 10, month);
    await writeTransaction(database, (transaction) =>
      removeDevices(database, [device.id], transaction),
    );
    t.deepEqual(await used(database, [ann.id]), { [ann.id]: 10 });
    t.is(await forgetQuotaUsage(database, MONTH), 4);
    t.deepEqual(await used(database, [ann.id, bob.id], 202_610), {});
    t.deepEqual(await used(database, [ann.id, bob.id]), { [ann.id]: 10, [bob.id]: 10 });
    await writeTransaction(database, (transaction) => removeUser(database, ann.id, transaction));
    t.deepEqual(await used(database, [ann.id, bob.id]), { [bob.id]: 10 });
  });
}
