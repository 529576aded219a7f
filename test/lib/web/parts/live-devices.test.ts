// What changes in the rows of devices: state, rate, latest handshake and traffic; and each person's
// own list.

import test from 'ava';
import {
  deviceCellsReader,
  liveOwnDevices,
  readWatched,
} from '../../../../lib/web/parts/live-devices.ts';
import { recordStatus } from '../../../../models/index.ts';
import { addDevice, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const rules = async () => ({
  configuration: { vpn_session_duration: 0 },
  config: { vpnSessionRequireSignIn: false },
});

for (const kind of databaseKinds()) {
  test(`${kind}: a device has its state, its traffic and its rate`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    const read = deviceCellsReader(database, rules);
    const nowMs = Date.now();
    const cellsAt = async (atMs: number) => (await read([device.id, 'x'], atMs)).get(device.id);
    t.deepEqual(await cellsAt(nowMs), [
      { dot: 'calm' },
      null,
      { text: 'Never seen' },
      { text: 'never' },
      { text: '↓ 0\u00a0B', help: '↑ 0\u00a0B' },
    ]);
    const latestHandshake = new Date(Math.floor(nowMs / 1_000) * 1_000);
    const seen = { latestHandshake, remoteIp: '192.0.2.9', remotePort: 7 };
    const counts = { rxBytes: 3_000, txBytes: 20_000 };
    await recordStatus(database, 'g', [{ deviceId: device.id, ...seen, ...counts }]);
    const cells = await cellsAt(nowMs + 1_000);
    t.deepEqual([cells?.[0], cells?.[2]], [{ dot: 'good' }, { text: 'Online' }]);
    t.like(
      cells?.[3],
      { text: '', help: 'from 192.0.2.9:7' },
      'a page that says “never” may not say so',
    );
    t.deepEqual(cells?.[4], {
      text: '↓ 20.0\u00a0kB, 20.0\u00a0kB/s',
      help: '↑ 3.0\u00a0kB, 3.0\u00a0kB/s',
    });
    const disabled_at = new Date();
    await write(database, (transaction) => device.update({ disabled_at }, { transaction }));
    const off = await cellsAt(nowMs + 7_000);
    t.deepEqual([off?.[0], off?.[2]], [{ dot: 'bad' }, { text: 'Switched off' }]);
    t.is((await read([], nowMs)).size, 0);
  });

  test(`${kind}: a person's own list has their devices alone, and says that there are others`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const [laptop, phone] = [await addDevice(database, ann), await addDevice(database, ann)];
    const foreign = await addDevice(database, bob);
    const page = {
      query: {},
      rows: new Map([laptop, foreign].map(({ id }) => [id, ''])),
      userId: ann.id,
    };
    const shown = (await liveOwnDevices(database, rules).read([page], Date.now())).get(page);
    t.deepEqual([...(shown?.rows.keys() ?? [])].toSorted(), [laptop.id, phone.id].toSorted());
    t.deepEqual(shown?.order, [laptop.id, phone.id]);
    t.deepEqual(shown?.rows.get(laptop.id)?.[0], { badge: 'calm', text: 'Never seen' });
    t.deepEqual(await readWatched(database, { user_id: [] }), []);
  });
}
