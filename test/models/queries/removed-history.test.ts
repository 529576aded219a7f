// The history of who is removed: little goes at once, much goes later, and nobody reads it meanwhile,
// wherever a process was killed.

import test from 'ava';
import {
  type Database,
  forgetRemoved,
  newId,
  readConnections,
  readHistory,
  recordConnections,
  recordHistory,
  removeDevices,
  removeRules,
  removeUser,
} from '../../../models/index.ts';
import { withSnapshot } from '../../../models/backup/snapshot.ts';
import { GONE_AT_ONCE } from '../../../models/queries/removed-history.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, write } from '../fixtures.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const ROWS = 700;
const TABLES = ['device_traffic', 'rule_traffic', 'connections'] as const;

/** Gives a record many sums. */
async function carry(
  database: Database,
  kind: 'device' | 'rule',
  subject: string,
  rows = ROWS,
): Promise<void> {
  for (let i = 0; i < rows; i += 1)
    await recordHistory(database, GATEWAY, kind, [{ subject, start: i * 600, counts: [1, 1] }]);
}

async function connect(database: Database, deviceId: string, rows = ROWS): Promise<void> {
  await recordConnections(
    database,
    Array.from({ length: rows }, (_, i) => ({
      id: newId(),
      deviceId,
      gatewayId: GATEWAY,
      connectedAt: i,
      disconnectedAt: i,
      remoteIp: null,
      remotePort: null,
      reason: 'silent' as const,
    })),
  );
}

async function counts(database: Database): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const table of TABLES) {
    const sql = `SELECT COUNT(*) AS count FROM ${table}`;
    const [row] = await database.sequelize.query<{ count: number }>(sql, plainSelect());
    found.push(row?.count);
  }
  return found;
}

/** What a backup of now would hold. */
async function backedUp(database: Database): Promise<unknown[]> {
  return withSnapshot(database, async ({ tables, pages }) => {
    const rows: Record<string, number> = {};
    for await (const page of pages())
      rows[page.table.name] = (rows[page.table.name] ?? 0) + page.rows.length;
    for (const { name, count } of tables) if (count !== (rows[name] ?? 0)) return [name, count];
    return TABLES.map((table) => rows[table] ?? 0);
  });
}

for (const kind of databaseKinds()) {
  test(`${kind}: much history goes later, and nobody reads it meanwhile`, async (t) => {
    const database = await openDatabase(t, kind);
    const [gone, kept] = [await addUser(database), await addUser(database)];
    const [first, alone] = [await addDevice(database, gone), await addDevice(database, kept)];
    const other = await addDevice(database, kept);
    const rule = await addRule(database, { destination: '::/0', user_id: gone.id });
    for (const { id } of [first, alone]) {
      await carry(database, 'device', id);
      await connect(database, id);
    }
    await carry(database, 'device', other.id, 3);
    await connect(database, other.id, 3);
    await carry(database, 'rule', rule.id);
    await write(database, (transaction) => removeUser(database, gone.id, transaction));
    await write(database, (transaction) => removeDevices(database, [alone.id], transaction));

    const left = ROWS - GONE_AT_ONCE;
    t.deepEqual(await counts(database), [2 * left + 3, left, 2 * left + 3]);
    const wish = { from: 0, to: 10 ** 6, step: 86_400 } as const;
    for (const { id } of [first, alone]) {
      t.is((await readHistory(database, { kind: 'device', subject: id, ...wish })).size, 0);
      t.deepEqual(await readConnections(database, id, 10), []);
    }
    t.is((await readHistory(database, { kind: 'rule', subject: rule.id, ...wish })).size, 0);
    t.is((await readHistory(database, { kind: 'device', userId: gone.id, ...wish })).size, 0);
    t.deepEqual(await backedUp(database), [3, 0, 3]);
    // A gateway that heard of the removal late.
    await carry(database, 'device', first.id, 1);
    await carry(database, 'rule', rule.id, 1);
    await connect(database, first.id, 1);
    t.deepEqual(await counts(database), [2 * left + 3, left, 2 * left + 3]);

    // Two gateways at once, each killed between two steps, and then one to the end.
    let steps = 0;
    const isStopping = (): boolean => (steps += 1) > 4;
    await Promise.all([forgetRemoved(database, isStopping), forgetRemoved(database, isStopping)]);
    t.true(((await counts(database))[2] as number) > 3);
    await Promise.all([forgetRemoved(database), forgetRemoved(database)]);
    t.deepEqual(await counts(database), [3, 0, 3]);
    t.is(await forgetRemoved(database), 0);
    t.deepEqual(
      [...(await readHistory(database, { kind: 'device', subject: other.id, ...wish }))],
      [[0, [3, 3]]],
    );
  });

  test(`${kind}: a rule that is deleted alone takes its history along`, async (t) => {
    const database = await openDatabase(t, kind);
    const rules = [
      await addRule(database, { destination: '10.0.0.0/8' }),
      await addRule(database, { destination: '10.0.0.0/9' }),
    ];
    for (const { id } of rules) await carry(database, 'rule', id, 2);
    await write(database, (transaction) => removeRules(database, [rules[0]!.id], transaction));
    t.deepEqual(await counts(database), [0, 2, 0]);
  });

  test(`${kind}: of many subjects those that are removed are found, with few statements`, async (t) => {
    const database = await openDatabase(t, kind);
    const ids = Array.from({ length: 600 }, () => newId()).toSorted();
    const present = await addDevice(database, await addUser(database));
    // As a gateway of an earlier version leaves them.
    const rows = [...ids, present.id].map((id) => [id, 600, 600, GATEWAY, 1, 1]);
    await database.sequelize.query(
      `INSERT INTO device_traffic (device_id, step, start, gateway_id, rx_bytes, tx_bytes)
       VALUES :rows`,
      { replacements: { rows } },
    );
    t.is(await forgetRemoved(database), 600);
    t.deepEqual(await counts(database), [1, 0, 0]);
    let statements = 0;
    database.sequelize.addHook('beforeQuery', () => {
      statements += 1;
    });
    t.is(await forgetRemoved(database), 0);
    t.is(statements, 3);
  });
}
