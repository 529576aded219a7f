// Whose file is out of date: compared in parts, with few statements, in the order of lists.
// docs/api.md#devices.

import test from 'ava';
import { clientFileHash } from '../../../../lib/domain/devices/client-config.ts';
import {
  devicesByFile,
  filedDevices,
  oldFileIds,
} from '../../../../lib/domain/devices/old-files.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { type Database, noteClientFile, readDevices } from '../../../../models/index.ts';
import { configOf, newKey } from '../../../support/api/server.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addManyDevices } from '../../../support/database/many-devices.ts';
import { addDevice, addUser, write } from '../../../models/fixtures.ts';

/** The hash of no file. */
const OTHER_HASH = '0'.repeat(64);
/** More than are read at once, twice. */
const MANY = 1_203;

/** How the files of one database are compared. */
async function comparing(database: Database) {
  const context = { database, config: configOf(), serverPublicKey: newKey() };
  const configuration = await new Recall(database).configuration();
  return { context, configuration };
}

/** Notes for devices that they have the files of this moment. */
async function giveFiles(
  database: Database,
  { context, configuration }: Awaited<ReturnType<typeof comparing>>,
  ids: readonly string[],
): Promise<void> {
  const rows = await readDevices(database, { ids });
  for (const { row, client } of await filedDevices(context, configuration, rows))
    await noteClientFile(database, row.id, clientFileHash(client));
}

/** How many statements something costs. */
async function statementsOf(database: Database, run: () => Promise<unknown>): Promise<number> {
  const { sequelize } = database;
  const query = sequelize.query.bind(sequelize);
  let statements = 0;
  sequelize.query = ((...args: Parameters<typeof query>) => {
    statements += 1;
    return query(...args);
  }) as typeof sequelize.query;
  await run();
  sequelize.query = query;
  return statements;
}

for (const kind of databaseKinds()) {
  test(`${kind}: many devices are compared in parts, in the order of lists`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: userId } = await addUser(database);
    const ids = await addManyDevices(database, userId, MANY);
    const files = await comparing(database);
    const { context, configuration } = files;
    const at = (...places: number[]) => places.map((place) => ids[place] as string);
    const old = at(0, 499, 500, 700, MANY - 1);
    for (const id of old) await noteClientFile(database, id, OTHER_HASH);
    await giveFiles(database, files, at(1, 501, MANY - 2));

    const find = async (isOld: boolean, selection: object = {}) => {
      const rows = await devicesByFile(context, configuration, selection, isOld);
      return rows.map(({ id }) => id);
    };
    t.deepEqual(await find(true), old);
    const others = ids.filter((id) => !old.includes(id));
    t.deepEqual(await find(false), others, 'a file that was never made here is not out of date');
    t.deepEqual(await find(true, { limit: 3 }), old.slice(0, 3));
    t.deepEqual(await find(true, { limit: 5 }), old);
    t.deepEqual(await find(false, { limit: 501 }), others.slice(0, 501));
    const [, , after] = await readDevices(database, { limit: 3 });
    t.deepEqual(await find(true, { after, limit: 2 }), old.slice(1, 3));
    t.deepEqual(await find(false, { after, limit: 1 }), at(3));
    t.deepEqual(await find(true, { userId: newKey() }), []);

    t.deepEqual((await oldFileIds(context, configuration)).toSorted(), old.toSorted());
    t.deepEqual(await oldFileIds(context, configuration, at(1, 499, 2)), at(499));
    t.deepEqual(await oldFileIds(context, configuration, []), []);

    // Three parts, each with two statements.
    t.is(await statementsOf(database, () => find(true)), 6);
    t.is(await statementsOf(database, () => find(false, { limit: 50 })), 4);
    const few = await statementsOf(database, () => find(true, { limit: 5 }));
    t.true(few <= 20, `${few} statements`);
  });

  test(`${kind}: what settings, keys and other devices put into a file makes it old`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user, { ipv4: '100.64.0.2', ipv6: 'fd00::2' });
    const office = await addDevice(database, user);
    const files = await comparing(database);
    const { context, configuration } = files;
    await giveFiles(database, files, [device.id]);
    const isOld = async (other: object = {}, settings: object = {}) => {
      const found = await oldFileIds({ ...context, ...other }, { ...configuration, ...settings });
      return found.includes(device.id);
    };
    t.false(await isOld());
    t.true(await isOld({ serverPublicKey: newKey() }));
    t.true(await isOld({ config: configOf({ EXTERNAL_URL: 'https://vpn.example.com' }) }));
    t.true(await isOld({ config: configOf({ WIREGUARD_PORT: '7' }) }));
    t.true(await isOld({}, { default_client_mtu: 1_300 }));
    t.false(await isOld({}, { default_client_include_routes: true }));
    await write(database, (transaction) =>
      office.update({ routes: ['10.9.0.0/24'] }, { transaction }),
    );
    t.false(await isOld());
    t.true(await isOld({}, { default_client_include_routes: true }));
    await write(database, (transaction) => device.update({ name: 'renamed' }, { transaction }));
    t.false(await isOld());
    await write(database, (transaction) =>
      device.update({ use_default_mtu: false, mtu: 1_300 }, { transaction }),
    );
    t.true(await isOld());
  });
}
