// The last hour in minutes: what the gateway remembers, and before that the means of ten minutes.

import test from 'ava';
import { readMinutes } from '../../../../lib/observe/history/minutes.ts';
import { RecentTraffic } from '../../../../lib/observe/history/recent-traffic.ts';
import { type Database, recordHistory, writeTransaction } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
/** The gateway began half a minute after this. */
const BEGAN_S = Date.UTC(2026, 10, 30, 2, 14) / 1_000;
const FROM_S = Date.UTC(2026, 10, 30, 1, 30) / 1_000;

/** A gateway that carried some bytes of each device in its second minute, and now is at 02:20. */
function carries(ids: readonly string[]): RecentTraffic {
  let wallMs = (BEGAN_S + 30) * 1_000;
  const recent = new RecentTraffic({ deviceIdOf: (key) => key, wallMs: () => wallMs });
  wallMs = (BEGAN_S + 60) * 1_000;
  const sums = { rxBytes: 9, txBytes: 9, rxInnerBytes: 60, txInnerBytes: 6 };
  const peers = ids.map((publicKey) => ({
    publicKey,
    latestHandshakeMs: null,
    endpoint: null,
    ...sums,
  }));
  recent.observe({ peers, rules: [], drops: {}, forgotten: {} });
  return recent;
}

async function addRow(database: Database, subject: string, at: number, rx: number): Promise<void> {
  await recordHistory(database, GATEWAY, 'device', [{ subject, start: at, counts: [rx, 0] }]);
}

for (const kind of databaseKinds()) {
  test(`${kind}: minutes of the memory, and means of what was before`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const [first, second] = [
      await addDevice(database, user.id),
      await addDevice(database, user.id),
    ];
    const recent = carries([first.id, second.id]);
    await addRow(database, first.id, FROM_S, 1_000);
    // Ten minutes in which the gateway began; 60 of these bytes are those that it remembers.
    await addRow(database, first.id, BEGAN_S - 240, 100);
    await addRow(database, second.id, BEGAN_S - 240, 60);
    const wish = { from: FROM_S, to: FROM_S + 3_600, isOneOfSeveral: false };
    const traffic = await readMinutes(database, recent, { of: 'device', id: first.id, ...wish });
    t.is(traffic.step, 60);
    t.is(traffic.points.length, 60);
    const rx = traffic.points.map(({ rx_bytes }) => rx_bytes);
    t.deepEqual(rx.slice(0, 11), [...Array.from({ length: 10 }, () => 100), 0]);
    t.deepEqual(rx.slice(39, 48), [0, 10, 10, 10, 10, 0, 60, 0, 0]);
    t.deepEqual(traffic.totals, { rx_bytes: 1_100, tx_bytes: 6 });
    const ofUser = await readMinutes(database, recent, { of: 'user', id: user.id, ...wish });
    t.deepEqual(ofUser.totals, { rx_bytes: 1_160, tx_bytes: 12 });
    // Rows have what all gateways carried.
    const alone = { of: 'device', id: first.id, ...wish, isOneOfSeveral: true } as const;
    const own = await readMinutes(database, recent, alone);
    t.deepEqual(own.totals, { rx_bytes: 60, tx_bytes: 6 });
  });

  test(`${kind}: a group has the devices of its members`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const [own, other] = [await addDevice(database, ann.id), await addDevice(database, bob.id)];
    const { Group, GroupMembership } = database.models;
    const { result: group } = await writeTransaction(database, async (transaction) => {
      const made = await Group.create({ name: 'staff' }, { transaction });
      const member = { group_id: made.id, user_id: ann.id };
      await GroupMembership.create(member, { transaction });
      return made;
    });
    const recent = carries([own.id, other.id]);
    const wish = { from: FROM_S, to: FROM_S + 3_600, isOneOfSeveral: false };
    const { totals } = await readMinutes(database, recent, { of: 'group', id: group.id, ...wish });
    t.deepEqual(totals, { rx_bytes: 60, tx_bytes: 6 });
    const all = await readMinutes(database, recent, { of: 'all', id: '', ...wish });
    t.deepEqual(all.totals, { rx_bytes: 120, tx_bytes: 12, refused_packets: 0 });
  });

  test(`${kind}: each minute is added up once, however many devices there are`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const recent = carries([(await addDevice(database, user.id)).id]);
    const added: number[] = [];
    const counting = Object.assign(Object.create(recent) as RecentTraffic, {
      beganMs: recent.beganMs,
      minute: (...asked: Parameters<RecentTraffic['minute']>) => {
        added.push(asked[2]);
        return recent.minute(...asked);
      },
    });
    const wish = { from: FROM_S, to: FROM_S + 3_600, isOneOfSeveral: false };
    await readMinutes(database, counting, { of: 'user', id: user.id, ...wish });
    t.true(added.length >= 60);
    t.is(added.length, new Set(added).size);
  });
}
