// Device statuses as rows of their class; how they are written is tested in queries/status.test.ts.

import test from 'ava';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a device is found with its status, or with null before it was seen`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Device, DeviceStatus } = database.models;
    const device = await addDevice(database, await addUser(database));
    const find = () => Device.findByPk(device.id, { include: 'status', rejectOnEmpty: true });
    t.is((await find()).status, null);
    const updated = new Date('2026-11-20T10:11:12.345Z');
    await DeviceStatus.create({ device_id: device.id, gateway_id: 'g', updated });
    t.deepEqual((await find()).status?.get({ plain: true }), {
      device_id: device.id,
      gateway_id: 'g',
      latest_handshake: null,
      arrived_at: null,
      remote_ip: null,
      remote_port: null,
      own_ip: null,
      rx_bytes: 0,
      tx_bytes: 0,
      updated,
    });
  });
}
