// The tables of the history: whoever is removed takes theirs along, and nobody is kept by it.

import test from 'ava';
import {
  readConnections,
  readHistory,
  recordConnections,
  recordHistory,
  removeUser,
} from '../../../models/index.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, write } from '../fixtures.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

for (const kind of databaseKinds())
  test(`${kind}: a user who is removed takes the history of devices and rules along`, async (t) => {
    const database = await openDatabase(t, kind);
    const users = [await addUser(database), await addUser(database)];
    for (const user of users) {
      const { id } = await addDevice(database, user);
      const rule = await addRule(database, { destination: '::/0', user_id: user.id });
      const report = { start: 600, counts: [1, 2] };
      await recordHistory(database, GATEWAY, 'device', [{ subject: id, ...report }]);
      await recordHistory(database, GATEWAY, 'rule', [{ subject: rule.id, ...report }]);
      await recordHistory(database, GATEWAY, 'gateway', [{ subject: '', ...report }]);
      await recordConnections(database, [
        {
          id,
          deviceId: id,
          gatewayId: GATEWAY,
          connectedAt: 1,
          disconnectedAt: null,
          remoteIp: null,
          remotePort: null,
          reason: null,
        },
      ]);
    }
    const count = async (table: string): Promise<unknown> => {
      const [row] = await database.sequelize.query<{ count: number }>(
        `SELECT COUNT(*) AS count FROM ${table}`,
        plainSelect(),
      );
      return row?.count;
    };
    const counts = (): Promise<unknown[]> =>
      Promise.all(['device_traffic', 'rule_traffic', 'connections', 'gateway_traffic'].map(count));
    t.deepEqual(await counts(), [2, 2, 2, 1]);
    await write(database, (transaction) => removeUser(database, users[0]!.id, transaction));
    t.deepEqual(await counts(), [1, 1, 1, 1]);
    const [left] = await database.models.Device.findAll();
    const wish = { kind: 'device', subject: left!.id, from: 0, to: 6_000, step: 600 } as const;
    t.deepEqual([...(await readHistory(database, wish))], [[600, [1, 2]]]);
    t.is((await readConnections(database, left!.id, 5)).length, 1);
  });
