// The history loses its foreign keys: no row is lost, a removal of a device leaves it, and on SQLite
// the schema is sound and locked again.

import test from 'ava';
import { migrate, recordHistory, writeTransaction } from '../../../models/index.ts';
import { up } from '../../../models/migrations/0018-loose-history.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { KEY, loadReleased } from './released-databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: the keys are gone, whatever ran before`, async (t) => {
    const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
    await loadReleased(place.url, '0017', kind);
    const database = await openAt(t, place);
    const read = (sql: string) => database.sequelize.query<object>(sql, plainSelect());
    const [device] = (await read('SELECT id FROM devices ORDER BY id')) as { id: string }[];
    const report = { subject: device!.id, start: 600, counts: [1, 2] };
    await recordHistory(database, device!.id, 'device', [report]);
    // A reader that knows the schema of before.
    const before = await read('SELECT * FROM device_traffic');
    t.is(before.length, 1);
    await migrate(database);
    // A process that was killed behind the step runs it again.
    await up(database);
    t.deepEqual(await read('SELECT * FROM device_traffic'), before);
    const where = { id: device!.id };
    await writeTransaction(database, async (transaction) => {
      const { DeviceStatus, Device, PolicyTest } = database.models;
      await DeviceStatus.destroy({ where: { device_id: where.id }, transaction });
      await PolicyTest.destroy({ where: { device_id: where.id }, transaction });
      await Device.destroy({ where, transaction });
    });
    t.deepEqual(await read('SELECT * FROM device_traffic'), before);
    if (kind !== 'sqlite') return;
    t.deepEqual(await read('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
    for (const table of ['device_traffic', 'rule_traffic', 'connections'])
      t.deepEqual(await read(`PRAGMA foreign_key_list(${table})`), []);
    await t.throwsAsync(database.sequelize.query("UPDATE sqlite_master SET sql = ''"), {
      message: /may not be modified/,
    });
  });
