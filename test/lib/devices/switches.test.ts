// The switches of a device: what is written, what the columns come to, and the audit trail.

import test from 'ava';
import { setSwitches, switchState, switchValues } from '../../../lib/devices/switches.ts';
import { readAuditEntries, readDevices } from '../../../models/index.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

test('what is left out stays, and switching off again keeps the time of the first', (t) => {
  t.deepEqual(switchValues({ disabled_at: null }, {}), {});
  t.deepEqual(switchValues({ disabled_at: null }, { isOn: false }, NOW), { disabled_at: NOW });
  const before = new Date(0);
  t.deepEqual(switchValues({ disabled_at: before }, { isOn: false }, NOW), { disabled_at: before });
  t.deepEqual(switchValues({ disabled_at: before }, { isOn: true, expiresAt: NOW }), {
    disabled_at: null,
    expires_at: NOW,
  });
});

test('off goes before ended, and a device ends when its time comes', (t) => {
  const at = (ms: number) => switchState({ disabled_at: null, expires_at: NOW }, ms);
  t.is(at(NOW.getTime() - 1), 'on');
  t.is(at(NOW.getTime()), 'ended');
  t.is(switchState({ disabled_at: NOW, expires_at: NOW }, NOW.getTime()), 'off');
  t.is(switchState({ disabled_at: null, expires_at: null }, NOW.getTime()), 'on');
});

for (const kind of databaseKinds()) {
  test(`${kind}: switches are kept, tracked and audited`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    await setSwitches(database, device.id.toUpperCase(), { isOn: false });
    await setSwitches(database, device.id, { expiresAt: NOW });
    const [row] = await readDevices(database, { ids: [device.id] });
    t.not(row?.disabled_at, null);
    t.deepEqual(row?.expires_at, NOW);
    const entries = await readAuditEntries(database, { limit: 2 });
    t.deepEqual(
      entries.map(({ changes }) => Object.keys(changes)),
      [['disabled_at'], ['expires_at']],
    );
    for (const id of ['x', '00000000-0000-0000-0000-000000000000'])
      await t.throwsAsync(setSwitches(database, id, {}), { message: `there is no device ${id}` });
  });
}
