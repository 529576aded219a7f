// What 1.1.0 adds to the schema, on databases of 1.0.0 and on those that versions between the two
// left: no row is lost, and the step may run again after a process that was killed in it.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import {
  connectDatabase,
  emailLook,
  migrate,
  newId,
  readConnections,
  readHistory,
  recordConnections,
  recordHistory,
  removeUser,
  writeTransaction,
} from '../../../models/index.ts';
import { up } from '../../../models/migrations/0020-schema-of-1.1.0.ts';
import { migrations } from '../../../models/migrations/index.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, write } from '../fixtures.ts';
import { KEY, loadReleased } from './released-databases.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

interface Stored {
  readonly email: string;
  readonly email_look?: string | null;
  readonly updated_at: unknown;
}

for (const kind of databaseKinds()) {
  test(`${kind}: the history loses its foreign keys, and nothing else`, async (t) => {
    const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
    await loadReleased(place.url, '0010', kind);
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

  test(`${kind}: the name of a provider fits where a group of it was too narrow`, async (t) => {
    const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
    await loadReleased(place.url, '0010', kind);
    const database = await openAt(t, place);
    await migrate(database);
    const source = 'x'.repeat(80);
    const user = await addUser(database);
    await write(database, async (transaction) => {
      const { Group, GroupMembership } = database.models;
      const group = await Group.create({ name: 'staff', description: null }, { transaction });
      const ids = { group_id: group.id, user_id: user.id };
      await GroupMembership.create({ ...ids, source }, { transaction });
    });
    const found = await database.models.GroupMembership.findOne({ where: { user_id: user.id } });
    t.is(found?.source, source);
  });

  test(`${kind}: everybody of an older database has a look, and is otherwise as before`, async (t) => {
    const { url } = await makePlace(t, kind);
    const database = await connectDatabase({ url, encryptionKey: randomBytes(32) });
    t.teardown(() => database.close());
    await migrate(database, { migrations: migrations.slice(0, 1), checksKey: false });
    const emails = [
      'kim@example.com',
      '\uff4bim@example.com',
      "o'neil?:id@example.com",
      ...Array.from({ length: 1_001 }, (_, i) => `user-${i}@example.com`),
    ];
    const rows = emails.map((email) => [
      newId(),
      email,
      email,
      'unprivileged',
      '2026-01-01 00:00:00.000000',
      '2026-01-01 00:00:00.000000',
    ]);
    await database.sequelize.query(
      'INSERT INTO users (id, email, email_key, role, inserted_at, updated_at) VALUES ' +
        rows.map(() => '(?)').join(', '),
      { replacements: rows },
    );
    const read = (): Promise<Stored[]> =>
      database.sequelize.query('SELECT * FROM users ORDER BY id', plainSelect());
    const before = await read();
    await migrate(database);
    const after = await read();
    t.is(after.length, emails.length);
    for (const [i, { email_look: look, ...others }] of after.entries()) {
      t.is(look, emailLook(others.email));
      t.like(others, before[i] as typeof others);
    }
    t.is(after.filter(({ email_look: look }) => look === emailLook('kim@example.com')).length, 2);
    await up(database);
    t.deepEqual(await read(), after, 'it may run again');
  });

  test(`${kind}: each pair of the audit trail has its index, whatever ran before`, async (t) => {
    const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
    await loadReleased(place.url, '0019', kind);
    const database = await openAt(t, place);
    const drop = kind === 'sqlite' ? '' : ' ON audit_entries';
    await migrate(database);
    // As a process leaves it that was killed in the middle.
    for (const name of ['email_lower_action', 'actor_action'])
      await database.sequelize.query(`DROP INDEX audit_entries_${name}_id${drop}`);
    await up(database);
    await up(database);
    const sql =
      kind === 'sqlite'
        ? "SELECT name FROM pragma_index_list('audit_entries')"
        : `SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS
           WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'audit_entries'`;
    const rows = await database.sequelize.query<{ name: string }>(sql, plainSelect());
    const names = rows.map(({ name }) => name);
    for (const pair of ['email_lower_kind', 'email_lower_action', 'actor_kind', 'actor_action'])
      t.true(names.includes(`audit_entries_${pair}_id`), pair);
  });

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
}
