// Plain rows: the same as the classes say, all or some, page by page, and no bad row in the way.

import test from 'ava';
import {
  type Database,
  inPages,
  newId,
  readConfiguration,
  readDevices,
  readOrCreateConfiguration,
  readRules,
  readTransaction,
  readUsers,
  recordStatus,
  type User,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, deviceValues, write } from '../fixtures.ts';

/** Takes away what the plain rows leave out. */
function without(row: object, ...names: string[]): object {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
}

async function addDevices(database: Database, user: User, count: number): Promise<string[]> {
  const made = await write(database, (transaction) =>
    database.models.Device.bulkCreate(
      Array.from({ length: count }, () => deviceValues(user.id)),
      { transaction },
    ),
  );
  return made.map(({ id }) => id);
}

/** The statements that a database is asked from now on. */
function noteStatements({ sequelize }: Database): string[] {
  const statements: string[] = [];
  const query = sequelize.query.bind(sequelize) as (...asked: unknown[]) => Promise<unknown>;
  Object.assign(sequelize, {
    query: (...asked: [sql: string, options: object]) => {
      statements.push(asked[0]);
      return query(...asked);
    },
  });
  return statements;
}

test('SQLite finds the place of a page in the index, however many rows have one time', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { sequelize } = database;
  const query = sequelize.query.bind(sequelize) as (...asked: unknown[]) => Promise<unknown>;
  const statements = noteStatements(database);
  const after = { inserted_at: new Date(), id: newId() };
  for (const read of [readUsers, readDevices, readRules]) {
    await read(database, { after, limit: 250 });
    const replacements = { afterTime: '2026', afterId: 'x', limit: 250 };
    const plan = await query(`EXPLAIN QUERY PLAN ${statements.at(-1)}`, { replacements });
    t.regex(JSON.stringify(plan), /inserted_at_id \(\(?inserted_at,id\)>\(\?,\?\)/);
  }
});

for (const kind of databaseKinds()) {
  test(`${kind}: plain rows say what the classes say`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Device, Rule } = database.models;
    const user = await addUser(database, {
      role: 'admin',
      disabled_at: new Date('2026-11-20T10:11:12.345Z'),
      disabled_by: 'administrator',
    });
    const device = await addDevice(database, user, { ipv4: '100.64.0.2', ipv6: 'fd00::2' });
    await write(database, (transaction) =>
      device.update({ dns: ['1.1.1.1'], use_default_dns: false, mtu: 1300 }, { transaction }),
    );
    await addRule(database, {
      destination: '10.0.0.0/8',
      port_type: 'tcp',
      port_start: 1,
      port_end: 9,
    });
    const unseen = {
      gateway_id: null,
      latest_handshake: null,
      remote_ip: null,
      remote_port: null,
      own_ip: null,
      rx_bytes: null,
      tx_bytes: null,
    };
    const plain = (row: User | typeof device | null) => row!.get({ plain: true }) as object;
    t.deepEqual<object[], object[]>(await readUsers(database), [
      without(
        plain(await User.findOne()),
        'email_key',
        'email_look',
        'password_hash',
        'first_steps_dismissed_at',
      ),
    ]);
    t.deepEqual<object[], object[]>(await readDevices(database), [
      {
        ...without(plain(await Device.findOne()), 'ipv4_key', 'ipv6_key', 'client_file_sha256'),
        ...unseen,
      },
    ]);
    const rule = await Rule.findOne({ rejectOnEmpty: true });
    t.deepEqual<object[], object[]>(await readRules(database), [
      without(rule.get({ plain: true }), 'range_start', 'range_end'),
    ]);
  });

  test(`${kind}: a device comes with what was seen of it last`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    const latestHandshake = new Date('2026-11-20T10:11:12.345Z');
    await recordStatus(database, 'g', [
      {
        deviceId: device.id,
        latestHandshake,
        remoteIp: '::1',
        remotePort: 9,
        ownIp: '2001:db8::9',
        rxBytes: 1,
        txBytes: 2,
      },
    ]);
    const [row] = await readDevices(database);
    t.is(row?.gateway_id, 'g');
    t.deepEqual(row?.latest_handshake, latestHandshake);
    t.is(row?.remote_ip, '::1');
    t.is(row?.remote_port, 9);
    t.is(row?.own_ip, '2001:db8::9');
    t.is(row?.rx_bytes, 1);
    t.is(row?.tx_bytes, 2);
  });

  test(`${kind}: rows are read by ids, however many; unknown ids are left out`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const ids = await addDevices(database, user, 1200);
    const wanted = [newId(), ...ids.slice(0, 1100), "'; --"];
    const rows = await readDevices(database, { ids: wanted });
    t.deepEqual(rows.map(({ id }) => id).toSorted(), ids.slice(0, 1100).toSorted());
    t.deepEqual(await readDevices(database, { ids: [] }), []);
    t.is((await readUsers(database, { ids: [user.id] })).length, 1);
  });

  test(`${kind}: pages follow one another without gap or repetition`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    // Rows of one bulk have one time, so the id must decide between them.
    const ids = [
      ...(await addDevices(database, user, 130)),
      ...(await addDevices(database, user, 120)),
    ];
    const seen: string[] = [];
    for (let after: { inserted_at: Date; id: string } | undefined; ;) {
      const page = await readDevices(database, { limit: 40, ...(after && { after }) });
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1);
      if (page.length < 40) break;
    }
    t.deepEqual(seen, ids);
    const all = await readDevices(database);
    t.deepEqual(
      all.map(({ id }) => id),
      ids,
    );
  });

  test(`${kind}: devices and rules are read of one owner, rules of nobody too, users by e-mail`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const device = await addDevice(database, ann);
    await addDevice(database, bob);
    const own = await addRule(database, { destination: '::/0', user_id: ann.id });
    const global = await addRule(database, { destination: '::/0' });
    const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
    t.deepEqual(idsOf(await readDevices(database, { userId: ann.id, limit: 5 })), [device.id]);
    t.deepEqual(idsOf(await readRules(database, { userId: ann.id })), [own.id]);
    t.deepEqual(idsOf(await readRules(database, { userId: null })), [global.id]);
    t.deepEqual(await readDevices(database, { userId: 'nobody' }), []);
    const emails = await readUsers(database, { emailKey: ann.email.toLowerCase(), limit: 5 });
    t.deepEqual(idsOf(emails), [ann.id]);
    t.deepEqual(await readUsers(database, { emailKey: 'nobody' }), []);
  });

  test(`${kind}: a preshared key that does not open is null, and no other row suffers`, async (t) => {
    const warnings: object[] = [];
    const log = { info: () => undefined, warn: (fields: object) => warnings.push(fields) };
    const database = await openDatabase(t, kind, { log });
    const user = await addUser(database);
    const [bad, good] = [await addDevice(database, user), await addDevice(database, user)];
    await database.sequelize.query(
      `UPDATE devices SET preshared_key = 'nonsense' WHERE id = '${bad.id}'`,
    );
    const rows = await readDevices(database);
    t.deepEqual(
      rows.map(({ preshared_key }) => preshared_key),
      [null, good.preshared_key],
    );
    t.is(warnings.length, 1);
  });

  test(`${kind}: in a read transaction all rows are of one state`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await readTransaction(database, async (transaction) => {
      t.is((await readUsers(database, { transaction })).length, 1);
      await addDevice(database, user);
      await addRule(database, { destination: '::/0' });
      await readOrCreateConfiguration(database);
      t.deepEqual(await readDevices(database, { transaction }), []);
      t.deepEqual(await readRules(database, { transaction }), []);
      t.is(await readConfiguration(database, transaction), null);
    });
    t.truthy(await readConfiguration(database));
  });

  test(`${kind}: a thousand devices are read by one statement`, async (t) => {
    const database = await openDatabase(t, kind);
    await addDevices(database, await addUser(database), 1_000);
    const statements = noteStatements(database);
    t.is((await readDevices(database)).length, 1_000);
    t.is(statements.length, 1, statements.join('\n'));
  });
}

test('pages are read up to one that is not full', async (t) => {
  const rows = Array.from({ length: 4 }, (_, i) => ({ id: String(i), inserted_at: new Date(i) }));
  const asked: unknown[] = [];
  const pagesOf = async (limit: number): Promise<number[]> => {
    const sizes: number[] = [];
    const pages = inPages(limit, async ({ after, limit: most = 0 }) => {
      asked.push(after?.id);
      const start = after === undefined ? 0 : Number(after.id) + 1;
      return rows.slice(start, start + most);
    });
    for await (const page of pages) sizes.push(page.length);
    return sizes;
  };
  t.deepEqual(await pagesOf(3), [3, 1]);
  t.deepEqual(await pagesOf(2), [2, 2, 0]);
  t.deepEqual(await pagesOf(5), [4]);
  t.deepEqual(asked, [undefined, '2', undefined, '1', '3', undefined]);
});
