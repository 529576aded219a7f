// All devices together: rates of the last seconds, and readings that are shared and limited.

import test from 'ava';
import { Fleet } from '../../../../lib/web/parts/fleet.ts';
import { recordStatus } from '../../../../models/index.ts';
import { addDevice, addUser } from '../../../models/fixtures.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { fakeObserved } from '../../../support/observe/fake-gateway.ts';

/** Sessions that do not end, and a gateway without problems. */
const ASKED = {
  sessions: () =>
    Promise.resolve({
      configuration: { vpn_session_duration: 0 },
      config: { vpnSessionRequireSignIn: false },
    }),
  problems: () => Promise.resolve([]),
};

for (const kind of firstKind()) {
  test(`${kind}: traffic is the rate of the last seconds, and never negative`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    const fleet = new Fleet({ database }, ASKED);
    const startMs = Date.now();
    const add = (rxBytes: number, txBytes: number) =>
      recordStatus(database, 'g', [
        {
          deviceId: device.id,
          latestHandshake: new Date(startMs),
          remoteIp: null,
          remotePort: null,
          rxBytes,
          txBytes,
        },
      ]);
    await add(1_000, 1_000);
    t.like(await fleet.read(startMs), { online: '1', down: '0\u00a0B/s', up: '0\u00a0B/s' });
    await add(2_000, 4_000);
    t.like(await fleet.read(startMs + 2_000), { down: '2.0\u00a0kB/s', up: '1.0\u00a0kB/s' });
    // The totals of a deleted device no longer count.
    await database.models.DeviceStatus.destroy({ where: {} });
    t.like(await fleet.read(startMs + 3_000), {
      down: '0\u00a0B/s',
      up: '0\u00a0B/s',
      online: '0',
    });
    await add(9_000_000, 9_000_000);
    t.like(await fleet.read(startMs + 60_000), { down: '0\u00a0B/s' }, 'nobody looked for a while');
  });
}

test('who asks once, without scripts, reads what this gateway carried in its latest step', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const recent = { live: () => ({ from: 0, step: 1, down: [5, 2_000], up: [7, 1_000] }) };
  const fleet = new Fleet({ database, recent }, ASKED);
  t.like(await fleet.read(), { down: '2.0\u00a0kB/s', up: '1.0\u00a0kB/s' });
});

test('a reading is used for half a second, a failed reading is not', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const fleet = new Fleet({ database }, ASKED);
  const first = fleet.read(1_000);
  t.is(fleet.read(1_499), first);
  t.not(fleet.read(1_500), first);
  await first;
  const broken = new Fleet({ database: { kind: 'sqlite', sequelize: null } as never }, ASKED);
  await t.throwsAsync(broken.read(1_000));
  const again = broken.read(1_001);
  await t.throwsAsync(again);
});

test('the number of problems that are shown is limited', async (t) => {
  const problems = Array.from({ length: 23 }, (_, i) => ({
    table: 'rules' as const,
    id: `r${i}`,
    message: 'bad',
  }));
  const observed = fakeObserved({ problems: () => problems });
  const fleet = new Fleet({ database: await openDatabase(t, 'sqlite'), observed }, ASKED);
  const view = await fleet.read();
  t.is(view.problems.length, 20);
  t.is(view.problemsMore, 3);
  t.is(view.problems[0]?.path, '/rules/r0');
});
