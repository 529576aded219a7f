// Where a device is, of what the gateway of this process remembers and of what the rows say.

import test from 'ava';
import {
  elsewhereOf,
  type LastSeen,
  readElsewhere,
  readLastSeen,
} from '../../../lib/observe/whereabouts.ts';
import { registerGateway } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;

const there: LastSeen = {
  gatewayId: 'there',
  gatewayName: 'berlin',
  isRunning: true,
  handshakeMs: NOW - MINUTE,
  sinceMs: NOW - 9 * MINUTE,
  address: '192.0.2.7',
};

function find(
  seen: LastSeen | null,
  [handshakeAgoMs, elsewhereAgoMs]: readonly (number | null)[] = [null, null],
): ReturnType<typeof elsewhereOf> {
  const at = (agoMs: number | null = null): number | null => (agoMs === null ? null : NOW - agoMs);
  const trace = { latestHandshakeMs: at(handshakeAgoMs), elsewhereAtMs: at(elsewhereAgoMs) };
  return elsewhereOf({ nowMs: NOW, gatewayId: 'here', trace, seen });
}

test('the gateway where it is, with its name, as far as it is known', (t) => {
  const found = { gatewayId: 'there', gatewayName: 'berlin', sinceMs: there.sinceMs };
  t.deepEqual(find(there), found);
  t.deepEqual(find(there, [2 * MINUTE, null]), found);
  const unknown = { gatewayId: null, gatewayName: null, sinceMs: NOW - MINUTE };
  t.deepEqual(find(null, [null, MINUTE]), unknown, 'the row is not written yet');
});

test('a device that is here, that is silent, or whose gateway was killed, is not elsewhere', (t) => {
  t.is(find(null), null);
  t.is(find({ ...there, gatewayId: 'here' }), null);
  t.is(find(there, [MINUTE / 2, null]), null, 'it came back');
  t.is(find({ ...there, handshakeMs: NOW - 180_000 }), null, 'it is silent');
  t.is(find({ ...there, handshakeMs: NOW + 86_400_000 }), null, 'the clock there is far ahead');
  t.is(find({ ...there, isRunning: false }), null);
  t.is(find({ ...there, isRunning: false }, [null, MINUTE]), null);
});

for (const kind of databaseKinds())
  test(`${kind}: where it was last, by the rows`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, (await addUser(database)).id);
    t.is(await readLastSeen(database, device.id, NOW), null);
    const at = new Date(NOW - MINUTE);
    const seen = { latest_handshake: at, updated: at, remote_ip: '192.0.2.7' };
    await database.models.DeviceStatus.create({ device_id: device.id, gateway_id: 'g', ...seen });
    const wanted = {
      gatewayId: 'g',
      gatewayName: null,
      isRunning: false,
      handshakeMs: at.getTime(),
      sinceMs: at.getTime(),
      address: '192.0.2.7',
    };
    t.deepEqual(await readLastSeen(database, device.id, NOW), wanted, 'it was forgotten');
    await registerGateway(database, { id: 'g', name: 'berlin', startedAt: at });
    const beat = { seen_at: new Date(NOW - 59_999) };
    await database.models.Gateway.update(beat, { where: { id: 'g' } });
    const running = { ...wanted, gatewayName: 'berlin', isRunning: true };
    t.deepEqual(await readLastSeen(database, device.id, NOW), running);
    t.false((await readLastSeen(database, device.id, NOW + 1))!.isRunning);
    const ids = [device.id];
    t.deepEqual([...(await readElsewhere(database, 'here', ids, NOW))], [[device.id, 'berlin']]);
    t.is((await readElsewhere(database, 'g', ids, NOW)).size, 0);
    t.is((await readElsewhere(database, 'here', [], NOW)).size, 0);
    t.is((await readElsewhere(database, 'here', ids, NOW + 2)).size, 0, 'it was killed');
  });
