// Connections as rows of a table: where from, until when and why not longer.

import test from 'ava';
import { connectionRows } from '../../../../lib/web/parts/connection-rows.ts';
import type { Web } from '../../../../lib/web/kit/web.ts';
import { type ConnectionEnd, newId, recordConnections } from '../../../../models/index.ts';
import { addDevice, addUser } from '../../../models/fixtures.ts';
import { openDatabase } from '../../../support/database/databases.ts';

test('each end has its words, and twenty are shown', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { id } = await addDevice(database, await addUser(database));
  const one = (at: number, reason: ConnectionEnd | null) => ({
    id: newId(),
    deviceId: id,
    gatewayId: 'g',
    connectedAt: at,
    disconnectedAt: reason === null ? null : at + 1_000,
    remoteIp: '192.0.2.1',
    remotePort: reason === null ? null : 5,
    reason,
  });
  await recordConnections(database, [one(0, 'gateway_lost'), one(9_000, null)]);
  const web = { services: { database } } as unknown as Web;
  t.deepEqual(await connectionRows(web, id), [
    [
      { text: '1970-01-01T00:00:09.000Z', time: '1970-01-01T00:00:09.000Z' },
      'now',
      '192.0.2.1',
      '',
    ],
    [
      { text: '1970-01-01T00:00:00.000Z', time: '1970-01-01T00:00:00.000Z' },
      { text: '1970-01-01T00:00:01.000Z', time: '1970-01-01T00:00:01.000Z' },
      '192.0.2.1:5',
      'The gateway was killed, or lost its host.',
    ],
  ]);
  const words: Partial<Record<ConnectionEnd, string>> = {
    switched_off: 'It was switched off.',
    expired: 'Its end was reached.',
    owner_disabled: 'Its owner was disabled.',
    session_ended: 'The VPN session of its owner ended.',
    key_replaced: 'It got another key.',
    deleted: 'It was deleted.',
    removed: 'It was no longer served.',
  };
  for (const [i, [reason, said]] of Object.entries(words).entries()) {
    await recordConnections(database, [one(10_000 + i, reason as ConnectionEnd)]);
    t.is((await connectionRows(web, id))[0]?.[3], said);
  }
  await recordConnections(
    database,
    Array.from({ length: 30 }, (_, i) => one(20_000 + i, null)),
  );
  t.is((await connectionRows(web, id)).length, 20);
});
