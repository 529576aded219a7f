// A gateway that has not run for 30 days is forgotten. test/lib/api/v0/gateways.test.ts shows others.

import test from 'ava';
import { forgetOldGateways } from '../../../../lib/kit/records/gateways.ts';
import {
  type Connection,
  listGateways,
  newId,
  recordConnections,
  registerGateway,
} from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';

const NOW = Date.UTC(2026, 10, 29);
const DAY_MS = 86_400_000;

for (const kind of databaseKinds())
  test(`${kind}: a gateway is listed for 30 days after it was seen last`, async (t) => {
    const database = await openDatabase(t, kind);
    const enter = (id: string, seenMs: number, floorMs: number | null = seenMs) =>
      registerGateway(database, { id, name: id, startedAt: new Date(seenMs) }).then(() =>
        database.models.Gateway.update(
          { clock_floor: floorMs === null ? null : new Date(floorMs) },
          { where: { id } },
        ),
      );
    const old = NOW - 30 * DAY_MS;
    await enter('gone', old - 1);
    await enter('gone-without-floor', old - 1, null);
    await enter('listed', old);
    await enter('running', NOW);
    // Its clock was ahead: without the floor, devices would ignore its next start.
    await enter('was-ahead', old - 1, NOW);
    await enter('with-connection', old - 1);
    const device = await addDevice(database, (await addUser(database)).id);
    const connection: Connection = {
      id: newId(),
      deviceId: device.id,
      gatewayId: 'with-connection',
      connectedAt: old - 1,
      disconnectedAt: null,
      remoteIp: null,
      remotePort: null,
      reason: null,
    };
    await recordConnections(database, [connection]);
    const left = async (nowMs: number): Promise<string[]> => {
      await forgetOldGateways(database, async () => new Date(nowMs)).run(() => false);
      const rows = await listGateways(database, { afterId: null, limit: 100 });
      return rows.map(({ id }) => id);
    };
    t.deepEqual(await left(NOW), ['listed', 'running', 'was-ahead', 'with-connection']);
    await recordConnections(database, [
      { ...connection, disconnectedAt: old, reason: 'gateway_lost' },
    ]);
    t.deepEqual(await left(NOW + 1), ['running']);
  });
