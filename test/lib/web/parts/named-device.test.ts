// How people name a device: by name, address in the tunnel, or id.

import test from 'ava';
import {
  namedDevice,
  offeredDevices,
  wordForDevice,
} from '../../../../lib/web/parts/named-device.ts';
import { addDevice, addUser } from '../../../models/fixtures.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';

for (const kind of firstKind())
  test(`${kind}: a device is found by what only one device has`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database, { email: 'b@b.example' })];
    const fields = { name: 'laptop', ipv4: '100.64.0.7', ipv6: 'fd00::7' };
    const { id } = await addDevice(database, ann, fields);
    for (const word of ['laptop', '100.64.0.7', 'fd00:0::7', id, id.toUpperCase()])
      t.like(await namedDevice(database, word), { id, error: null }, word);
    t.deepEqual(await namedDevice(database, '100.64.0.8'), {
      isAddress: true,
      id: null,
      error: null,
    });
    t.deepEqual((await namedDevice(database, 'phone')).error, {
      code: 'noDeviceCalled',
      values: { name: 'phone' },
    });
    await addDevice(database, bob, { name: 'laptop', ipv4: '100.64.0.9' });
    const { id: none, error } = await namedDevice(database, 'laptop');
    t.is(none, null);
    t.deepEqual(error, {
      code: 'severalDevices',
      values: { addresses: `100.64.0.7 (${ann.email}), 100.64.0.9 (b@b.example)` },
    });
  });

for (const kind of firstKind())
  test(`${kind}: a field offers devices with their owners, ten at most, by name or owner`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database, { email: 'ann@a.example', name: 'Ann Archer' });
    const bob = await addUser(database, { email: 'bob@b.example' });
    await addDevice(database, bob, { name: 'phone', ipv4: '100.64.0.9' });
    const { id } = await addDevice(database, ann, { name: 'phone', ipv4: null, ipv6: null });
    await addDevice(database, ann, { name: 'laptop', ipv4: '100.64.0.7' });
    const laptop = {
      value: '100.64.0.7',
      label: 'laptop · ann@a.example · Ann Archer · 100.64.0.7',
    };
    const phone = { value: id, label: `phone · ann@a.example · Ann Archer · ${id}` };
    t.deepEqual(await offeredDevices(database, ' ANN@'), [laptop, phone]);
    t.deepEqual(await offeredDevices(database, 'bob'), [
      { value: '100.64.0.9', label: 'phone · bob@b.example · 100.64.0.9' },
    ]);
    t.deepEqual(await offeredDevices(database, '%'), []);
    for (let i = 0; i < 12; i += 1)
      await addDevice(database, bob, { name: `kiosk-${i}`, ipv4: `100.64.1.${i}` });
    t.is((await offeredDevices(database, 'kiosk')).length, 10);
    t.is((await offeredDevices(database, '')).length, 10);
    for (const { value } of await offeredDevices(database, 'phone'))
      t.truthy((await namedDevice(database, value)).id, 'what is offered names one device');
  });

for (const kind of firstKind())
  test(`${kind}: a form shows the address of a device, or the id where none has it`, async (t) => {
    const database = await openDatabase(t, kind);
    const owner = await addUser(database);
    const fields = { name: 'laptop', ipv4: '100.64.0.7', ipv6: 'fd00::7' };
    const { id } = await addDevice(database, owner, fields);
    t.is(await wordForDevice(database, id.toUpperCase()), '100.64.0.7');
    const six = await addDevice(database, owner, { name: 'six', ipv4: null, ipv6: 'fd00::8' });
    t.is(await wordForDevice(database, six.id), 'fd00::8');
    for (const word of ['', 'laptop', owner.id]) t.is(await wordForDevice(database, word), word);
  });
