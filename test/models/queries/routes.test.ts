// Which devices have networks behind them, and from where devices with sessions connect.

import test from 'ava';
import {
  newId,
  readEndpoints,
  readRoutedDevices,
  recordStatus,
  registerGateway,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice } from '../../support/database/records.ts';
import { addUser } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: devices with networks behind them are read with these`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: owner } = await addUser(database, { email: 'ann@b.example' });
    const routes = ['10.77.0.0/16', '::5'];
    const { id } = await addDevice(database, owner, { name: 'router', routes });
    await addDevice(database, owner, { name: 'other' });
    t.deepEqual(await readRoutedDevices(database), [{ id, name: 'router', routes }]);
  });

  test(`${kind}: endpoints are read of devices that were heard since a time, each once`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: owner } = await addUser(database, { email: 'ann@b.example' });
    const gateway = newId();
    await registerGateway(database, { id: gateway, name: 'g', startedAt: new Date() });
    const now = Date.now();
    for (const [i, [remoteIp, ageMs]] of [
      ['203.0.113.9', 1_000],
      ['203.0.113.9', 2_000],
      ['2001:db8::9', 3_000],
      ['203.0.113.10', 60_000],
      // A gateway reported it whose clock was ahead.
      ['203.0.113.11', -86_400_000],
    ].entries()) {
      const { id: deviceId } = await addDevice(database, owner, { name: `d${i}` });
      const latestHandshake = new Date(now - Number(ageMs));
      const report = { deviceId, latestHandshake, remoteIp: String(remoteIp), remotePort: 5 };
      await recordStatus(database, gateway, [{ ...report, rxBytes: 0, txBytes: 0 }]);
    }
    const { result } = await writeTransaction(database, (transaction) =>
      readEndpoints(database, 10_000, new Date(now), transaction),
    );
    const inOrder = result.toSorted((one, other) => one.address.localeCompare(other.address));
    t.deepEqual(inOrder, [
      { address: '2001:db8::9', device: 'd2' },
      { address: '203.0.113.9', device: 'd0' },
    ]);
  });
}
