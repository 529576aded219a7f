// Reading what changed: those rows and no others, and with what was there the same as reading all.

import test, { type ExecutionContext } from 'ava';
import { type HearLater, readAll, readChanged, readSince } from '../../../lib/reconcile/read.ts';
import { pruneChanges, removeUser, writeTransaction } from '../../../models/index.ts';
import { addManyDevices } from '../../support/database/many-devices.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { collect, rowSettings } from '../../support/reconcile/rows.ts';

/** No later version has been there. */
function noneLater(t: ExecutionContext): HearLater {
  return {
    hear: async (step) => void t.is(step, null),
    takeEnds: () => t.fail('ends were read'),
  };
}

for (const kind of databaseKinds()) {
  test(`${kind}: reading what changed equals reading everything`, async (t) => {
    const database = await openDatabase(t, kind);
    const alice = await addUser(database);
    const bob = await addUser(database);
    await addDevice(database, alice.id);
    const kept = await addDevice(database, bob.id);
    const before = await collect((take) => readAll(database, take));
    await addDevice(database, bob.id);
    await addRule(database, { destination: '10.0.0.0/8' });
    await writeTransaction(database, (tx) => removeUser(database, alice.id, tx));
    const changes = await collect((take) =>
      readSince(database, before.revision, take, noneLater(t)),
    );
    const after = await collect((take) => readAll(database, take));
    t.is(changes.all, null);
    t.is(changes.revision, after.revision);
    t.is(changes.devices.size, 2, 'one came, one went with its owner');
    t.false(changes.devices.has(kept.id));
    for (const table of ['users', 'devices', 'rules'] as const) {
      const rows = new Map<string, object>([...before[table]].map(([id, row]) => [id, row!]));
      for (const [id, row] of changes[table])
        if (row === null) rows.delete(id);
        else rows.set(id, row);
      t.deepEqual(rows, after[table], table);
    }
  });

  test(`${kind}: a long table is read in pages, each row once`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    await addManyDevices(database, id, 2_500);
    const sizes: number[] = [];
    const whole = await collect((take) =>
      readAll(database, (page) => {
        if (page.devices.size > 0) sizes.push(page.devices.size);
        return take(page);
      }),
    );
    t.deepEqual(sizes, [1_000, 1_000, 500]);
    t.is(whole.devices.size, 2_500);
    t.deepEqual(whole.all?.devices, new Set(whole.devices.keys()));
  });

  test(`${kind}: devices of many users who changed are read by few statements`, async (t) => {
    const database = await openDatabase(t, kind);
    const { sequelize } = database;
    const users = await Promise.all(Array.from({ length: 60 }, () => addUser(database)));
    const ids: string[] = [];
    for (const { id } of users) ids.push((await addDevice(database, id)).id);
    const query = sequelize.query.bind(sequelize) as (...sent: unknown[]) => unknown;
    let statements = 0;
    const { result } = await writeTransaction(database, async (transaction) => {
      const changes = users.map(({ id }) => ({ table: 'group_memberships', id }));
      sequelize.query = ((...sent: unknown[]) => {
        statements += 1;
        return query(...sent);
      }) as typeof sequelize.query;
      return readChanged(database, changes, transaction).finally(() => {
        sequelize.query = query as typeof sequelize.query;
      });
    });
    t.deepEqual([...result.devices.keys()].toSorted(), ids.toSorted());
    t.is(result.users.size, users.length);
    t.true(statements < 10, `${statements} statements`);
  });

  test(`${kind}: nothing changed is nothing read`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database);
    const before = await collect((take) => readAll(database, take));
    const changes = await collect((take) =>
      readSince(database, before.revision, take, noneLater(t)),
    );
    t.is(changes.revision, before.revision);
    t.is(changes.users.size + changes.devices.size + changes.rules.size, 0);
    t.is(changes.settings, null);
  });

  test(`${kind}: changes that are not known any more mean a full read`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await collect((take) => readAll(database, take));
    const { id } = await addUser(database);
    for (let i = 0; i < 3; i++) await addUser(database);
    await pruneChanges(database, 1);
    const after = await collect((take) => readSince(database, before.revision, take, noneLater(t)));
    t.deepEqual(after.all?.users, new Set(after.users.keys()));
    t.is(after.users.size, 4);
    t.true(after.users.has(id));
  });

  test(`${kind}: changed settings of the configuration are read`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await collect((take) => readAll(database, take));
    t.deepEqual(before.settings, rowSettings());
    await writeTransaction(database, (transaction) =>
      database.models.Configuration.create(
        {
          vpn_session_duration: 60,
          default_client_mtu: 1_280,
          default_limit_down: 100_000_000_000,
          default_limit_up: 64_000,
          default_quota: 1_000_000_000_000_000,
          default_action: 'drop',
        },
        { transaction },
      ),
    );
    const { settings } = await collect((take) =>
      readSince(database, before.revision, take, noneLater(t)),
    );
    t.deepEqual(settings, {
      vpn_session_duration: 60,
      default_client_mtu: 1_280,
      default_limit_down: 100_000_000_000,
      default_limit_up: 64_000,
      default_quota: 1_000_000_000_000_000,
      default_action: 'drop',
    });
  });
}
