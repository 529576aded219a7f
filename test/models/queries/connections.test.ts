// The log of connections: one line for each, whoever ends it.

import test from 'ava';
import {
  type Connection,
  endConnections,
  endLostConnections,
  newId,
  readConnections,
  recordConnections,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../fixtures.ts';

const A = '01900000-0000-7000-8000-00000000000a';
const B = '01900000-0000-7000-8000-00000000000b';
const ABSENT = '01900000-0000-7000-8000-00000000dead';

const begun = (deviceId: string, connectedAt: number, gatewayId = A): Connection => ({
  id: newId(),
  deviceId,
  gatewayId,
  connectedAt,
  disconnectedAt: null,
  remoteIp: '2001:db8::1',
  remotePort: 51_820,
  reason: null,
});

for (const kind of databaseKinds()) {
  test(`${kind}: a connection is written, ended, and written again without harm`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const first = begun(id, 1_000);
    const second = { ...begun(id, 2_000), remoteIp: null, remotePort: null };
    await recordConnections(database, [second, first, begun(ABSENT, 1)]);
    await recordConnections(database, []);
    t.deepEqual(await readConnections(database, id, 10), [second, first]);
    t.deepEqual(await readConnections(database, id, 1), [second]);
    t.deepEqual(await readConnections(database, ABSENT, 10), []);
    const ended = { ...first, disconnectedAt: 1_900, reason: 'silent' as const };
    for (let i = 0; i < 2; i += 1) {
      await recordConnections(database, [ended]);
      t.deepEqual(await readConnections(database, id, 10), [second, ended]);
    }
  });

  test(`${kind}: a gateway that stops, or is lost, ends what lasts there, and nothing else`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const over = { ...begun(id, 100), disconnectedAt: 200, reason: 'elsewhere' as const };
    await recordConnections(database, [over, begun(id, 300), begun(id, 9_000), begun(id, 400, B)]);
    await endConnections(database, A, 'gateway_stopped', new Date(5_000));
    const ends = async () =>
      (await readConnections(database, id, 10)).map((one) => [one.disconnectedAt, one.reason]);
    t.deepEqual(await ends(), [
      [9_000, 'gateway_stopped'],
      [null, null],
      [5_000, 'gateway_stopped'],
      [200, 'elsewhere'],
    ]);
    const seen = new Date('2026-11-25T10:00:00.000Z');
    const row = { id: B, name: 'b', started_at: seen, seen_at: seen };
    await database.models.Gateway.create(row);
    await endLostConnections(database, seen);
    t.deepEqual((await ends())[1], [null, null]);
    await endLostConnections(database, new Date(seen.getTime() + 1));
    t.deepEqual((await ends())[1], [seen.getTime(), 'gateway_lost']);
  });
}
