// Histories as they are answered: a point for every step, and sums that are those of the points.

import test from 'ava';
import {
  readAllTraffic,
  readTraffic,
  trafficCsv,
} from '../../../../lib/observe/history/traffic.ts';
import { recordHistory } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const SPAN = { from: 0, to: 1_800, step: 600 } as const;

for (const kind of databaseKinds()) {
  test(`${kind}: steps without traffic are points too`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    await recordHistory(database, GATEWAY, 'device', [{ subject: id, start: 600, counts: [3, 4] }]);
    const traffic = await readTraffic(database, 'device', id, SPAN);
    t.deepEqual(traffic, {
      from: '1970-01-01T00:00:00.000000Z',
      to: '1970-01-01T00:30:00.000000Z',
      step: 600,
      totals: { rx_bytes: 3, tx_bytes: 4 },
      points: [
        { at: '1970-01-01T00:00:00.000000Z', rx_bytes: 0, tx_bytes: 0 },
        { at: '1970-01-01T00:10:00.000000Z', rx_bytes: 3, tx_bytes: 4 },
        { at: '1970-01-01T00:20:00.000000Z', rx_bytes: 0, tx_bytes: 0 },
      ],
    });
    t.is(
      trafficCsv('device', traffic),
      'at,rx_bytes,tx_bytes\r\n1970-01-01T00:00:00.000000Z,0,0\r\n' +
        '1970-01-01T00:10:00.000000Z,3,4\r\n1970-01-01T00:20:00.000000Z,0,0\r\n',
    );
  });

  test(`${kind}: refusals are beside bytes, and are there without them`, async (t) => {
    const database = await openDatabase(t, kind);
    const at = { start: 0, counts: [5] };
    await recordHistory(database, GATEWAY, 'refusal', [{ subject: 'no_peer', ...at }]);
    const { totals, refusals, points } = await readAllTraffic(database, SPAN);
    t.deepEqual(totals, { rx_bytes: 0, tx_bytes: 0, refused_packets: 5 });
    t.deepEqual(refusals, [{ reason: 'no_peer', packets: 5 }]);
    t.like(points[0], { rx_bytes: 0, refused_packets: 5 });
    const other = await readAllTraffic(database, SPAN, 'rule_drop');
    t.deepEqual([other.totals['refused_packets'], other.refusals], [0, []]);
  });
}
