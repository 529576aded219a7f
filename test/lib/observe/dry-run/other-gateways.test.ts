// Which other gateways run, and what a write would cut off there.

import test from 'ava';
import { readOthers } from '../../../../lib/observe/dry-run/other-gateways.ts';
import { registerGateway } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { peer } from '../../../support/dataplane/simulation.ts';

const MINUTE = 60_000;

for (const kind of databaseKinds())
  test(`${kind}: gateways that run, and devices that are cut off there`, async (t) => {
    const database = await openDatabase(t, kind);
    const nowMs = Date.now();
    const user = await addUser(database);
    const idOf = new Map<string, string>();
    for (const [name, gateway_id, agoMs] of [
      ['cut', 'there', MINUTE],
      ['changed', 'there', MINUTE],
      ['silent', 'there', 3 * MINUTE],
      ['own', 'here', MINUTE],
    ] as const) {
      const { id } = await addDevice(database, user.id, { name });
      idOf.set(name, id);
      const at = new Date(nowMs - agoMs);
      const seen = { gateway_id, latest_handshake: at, updated: at };
      await database.models.DeviceStatus.create({ device_id: id, ...seen });
    }
    const live = { id: 'here', deviceIdOf: (key: string) => idOf.get(key) ?? null };
    const peers = new Map([
      ['cut', null],
      ['changed', peer({ key: 'changed', ipv4: '10.0.0.2', ipv6: 'fd00::2' })],
      ['silent', null],
      ['own', null],
      ['unknown', null],
    ]);
    await registerGateway(database, { id: 'here', name: 'here', startedAt: new Date(nowMs) });
    t.deepEqual(await readOthers(database, live, { peers }, nowMs), []);
    for (const [id, agoMs] of [
      ['there', 0],
      ['killed', 2 * MINUTE],
    ] as const)
      await registerGateway(database, { id, name: id, startedAt: new Date(nowMs - agoMs) });
    const found = await readOthers(database, live, { peers }, nowMs);
    t.deepEqual(found, [{ id: 'there', name: 'there', cut_off_device_count: 1 }]);
    const [idle] = await readOthers(database, live, { peers: new Map() }, nowMs);
    t.is(idle?.cut_off_device_count, 0);
  });
