// The list of users: what is shown of each beside their e-mail.

import test from 'ava';
import { recordQuotaUsage, monthOf, recordStatus } from '../../../../models/index.ts';
import { readListedUsers } from '../../../../lib/web/parts/live-users.ts';
import { addDevice, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const SESSIONS = {
  configuration: { vpn_session_duration: 0 },
  config: { vpnSessionRequireSignIn: false },
};

for (const kind of databaseKinds())
  test(`${kind}: a user has devices, those online, and the traffic of the month`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const devices = [await addDevice(database, ann), await addDevice(database, ann)];
    const [online, off] = devices;
    for (const { id } of devices) {
      const seen = { latestHandshake: new Date(), remoteIp: null, remotePort: null };
      await recordStatus(database, 'g', [{ deviceId: id, ...seen, rxBytes: 1, txBytes: 1 }]);
    }
    t.truthy(online);
    const disabled_at = new Date();
    await write(database, async (transaction) => off?.update({ disabled_at }, { transaction }));
    const month = monthOf(Date.now());
    for (const [gateway, bytes] of [
      ['g', 1_000_000],
      ['h', 500_000],
    ] as const)
      await recordQuotaUsage(database, gateway, [{ userId: ann.id, month, bytes }]);
    const read = async (defaultQuota: number | null) => {
      const ids = [ann.id, bob.id];
      const listed = await readListedUsers(database, ids, {
        sessions: SESSIONS,
        defaultQuota,
        nameOf: (method) => method,
      });
      return new Map(listed.map(({ user, cells }) => [user.id, cells]));
    };
    const all = await read(null);
    t.deepEqual(all.get(ann.id)?.slice(0, 4), [
      { dot: 'good' },
      { text: 'Enabled', help: '' },
      { text: '2', help: '1 online' },
      { text: '1.5\u00a0MB', help: '' },
    ]);
    t.deepEqual(all.get(bob.id)?.[0], { dot: 'calm' }, 'none of their devices is online');
    t.deepEqual(all.get(bob.id)?.slice(2), [
      { text: '0', help: '' },
      { text: '0\u00a0B', help: '' },
      { text: 'never' },
    ]);
    await write(database, (transaction) => ann.update({ disabled_at }, { transaction }));
    const later = (await read(2_000_000)).get(ann.id);
    t.deepEqual(later?.slice(0, 4), [
      { dot: 'bad' },
      { text: 'Disabled', help: '' },
      { text: '2', help: '' },
      { text: '1.5\u00a0MB', help: 'of 2.0\u00a0MB' },
    ]);
  });
