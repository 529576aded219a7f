// The doors: all or nothing, run again when it must be, one state for readers, scopes in order.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import {
  currentRevision,
  type Database,
  lockScopes,
  migrate,
  readChanges,
  readTransaction,
  type Scopes,
  undoneTransaction,
  writeTransaction,
} from '../../../models/index.ts';
import { TransactionLostError } from '../../../models/storage/rerun.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addDevice, addUser, deviceValues, userValues, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a function that failed has done nothing, in no table`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Device } = database.models;
    const device = await addDevice(database, await addUser(database));
    await t.throwsAsync(
      writeTransaction(database, async (transaction) => {
        const user = await User.create(userValues(), { transaction });
        await Device.create(deviceValues(user.id), { transaction });
        await device.update({ mtu: 576 }, { transaction });
        await Device.destroy({ where: { id: device.id }, transaction });
        throw new TypeError('a mistake');
      }),
      { instanceOf: TypeError },
    );
    t.is(await User.count(), 1);
    const [only, ...others] = await Device.findAll();
    t.is(only?.mtu, null);
    t.deepEqual(others, []);
  });

  test(`${kind}: what is undone is seen while it runs, and never again`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Device } = database.models;
    const device = await addDevice(database, await addUser(database));
    const before = await currentRevision(database);
    let rung = 0;
    database.onCommit(() => (rung += 1));
    let runs = 0;
    const seen = await undoneTransaction(database, async (transaction, soFar) => {
      runs += 1;
      await Device.destroy({ where: { id: device.id }, transaction });
      await User.create(userValues(), { transaction });
      if (runs < 3) throw new TransactionLostError('again');
      const { changes, audit } = soFar();
      return { changes, audit, devices: await Device.count({ transaction }) };
    });
    t.is(runs, 3);
    t.is(seen.devices, 0);
    t.deepEqual(
      seen.changes.map(({ table }) => table),
      ['devices', 'users'],
    );
    t.deepEqual(
      seen.audit.map(({ action, kind: of }) => `${action} ${of}`),
      ['delete device', 'create user'],
    );
    t.deepEqual([await User.count(), await Device.count(), rung], [1, 1, 0]);
    t.is(await currentRevision(database), before);
    await t.throwsAsync(
      undoneTransaction(database, () => Promise.reject(new TypeError('a mistake'))),
      { instanceOf: TypeError },
    );
    await t.throwsAsync(
      writeTransaction(database, () => undoneTransaction(database, async () => 1)),
      { message: /inside writeTransaction/ },
    );
  });

  test(`${kind}: a run that met a conflict leaves nothing beside the run that succeeds`, async (t) => {
    const database = await openDatabase(t, kind);
    let runs = 0;
    const { result } = await writeTransaction(database, async (transaction) => {
      runs += 1;
      await database.models.User.create(userValues(), { transaction });
      if (runs < 4) throw new TransactionLostError('again');
      return runs;
    });
    t.is(result, 4);
    t.is(await database.models.User.count(), 1);
  });

  test(`${kind}: a constraint that was broken can be handled, and the rest is kept`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    const user = await addUser(database);
    await write(database, async (transaction) => {
      await t.throwsAsync(User.create({ email: user.email }, { transaction }));
      await User.create(userValues(), { transaction });
    });
    t.is(await User.count(), 2);
  });

  if (kind === 'mariadb')
    test(`${kind}: a check that another writer overtook is made once more, and no oftener`, async (t) => {
      const place = await makePlace(t, kind);
      const database = await openAt(t, place);
      await migrate(database);
      const other = await openAt(t, place);
      const { User } = database.models;
      const values = userValues();
      let runs = 0;
      const checkAndCreate = (again: boolean) =>
        writeTransaction(database, async (transaction) => {
          runs += 1;
          const where = { email: values.email };
          const isThere = (await User.count({ where, transaction })) > 0;
          if (isThere && !again) return 'there';
          // What another node's gateway writes meanwhile waits for no lock of this one.
          if (!isThere) await addUser(other, values);
          await User.create(values, { transaction });
          return 'made';
        });
      t.is((await checkAndCreate(false)).result, 'there');
      t.is(runs, 2);
      runs = 0;
      await t.throwsAsync(checkAndCreate(true), { name: 'SequelizeUniqueConstraintError' });
      t.is(runs, 2);
    });

  test(`${kind}: a write inside a write is refused at once`, async (t) => {
    const database = await openDatabase(t, kind);
    const other = await openDatabase(t, kind);
    await writeTransaction(database, async () => {
      await t.throwsAsync(addUser(database), { message: /pass the transaction on/ });
      // Another database is another matter.
      await addUser(other);
    });
    // What was begun inside and goes on after the end is a write of its own.
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    let later: Promise<unknown> | undefined;
    await writeTransaction(database, async () => {
      later = ended.then(() => addUser(database));
    });
    resolve();
    await later;
    t.is(await database.models.User.count(), 1);
  });

  test(`${kind}: a reader sees one state, neither waits for a writer nor holds it up`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    await readTransaction(database, async (transaction) => {
      t.is(await User.count({ transaction }), 0);
      // The write begins and ends while the reader is open.
      await addUser(database);
      t.is(await User.count({ transaction }), 0);
      t.is(await User.count(), 1);
    });
    await writeTransaction(database, async (transaction) => {
      await User.create(userValues(), { transaction });
      const seen = await readTransaction(database, (reading) =>
        User.count({ transaction: reading }),
      );
      t.is(seen, 1);
    });
  });

  test(`${kind}: what was acknowledged to a killed process is there, whole`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const before = await currentRevision(database);
    const script = join(import.meta.dirname, 'writer.ts');
    const key = place.encryptionKey.toString('hex');
    const writer = spawn(process.execPath, [script, place.url, key], { stdio: 'pipe' });
    let acknowledged = '';
    writer.stdout.on('data', (text: Buffer) => (acknowledged += text.toString()));
    while (acknowledged.split('\n').length < 50 && writer.exitCode === null) await sleep(10);
    writer.kill('SIGKILL');
    await once(writer, 'close');
    const last = Number(acknowledged.split('\n').at(-2));
    await readTransaction(database, async (transaction) => {
      const since = await readChanges(database, before, transaction);
      t.is(since.full, undefined);
      t.true(last > before);
      t.true(since.revision >= last && since.revision <= last + 1);
      const users = await database.models.User.count({ transaction });
      t.is(users, since.revision - before);
      t.is(await database.models.Device.count({ transaction }), users);
    });
    await addUser(database);
    if (kind === 'sqlite')
      t.deepEqual(await database.sequelize.query('PRAGMA integrity_check', plainSelect()), [
        { integrity_check: 'ok' },
      ]);
  });

  test(`${kind}: many readers and writers at once all come to their end`, async (t) => {
    const database = await openDatabase(t, kind, { poolSize: 4 });
    const { User } = database.models;
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        i % 2 === 0
          ? addUser(database)
          : readTransaction(database, async (transaction) => {
              const count = await User.count({ transaction });
              await sleep(5);
              t.is(await User.count({ transaction }), count);
            }),
      ),
    );
    t.is(await User.count(), 20);
  });

  for (const [name, scope] of [
    ['a user', 'userId'],
    ['the configuration', 'configuration'],
    ['the address pool', 'addressPool'],
  ] as const)
    test(`${kind}: who locks ${name} checks and writes in one step, across processes`, async (t) => {
      const place = await makePlace(t, kind);
      const databases = [await openAt(t, place), await openAt(t, place)];
      await migrate(databases[0]!);
      const user = await addUser(databases[0]!);
      const scopes: Scopes = scope === 'userId' ? { userId: user.id } : { [scope]: true };
      const addFew = (database: Database) =>
        write(database, async (transaction) => {
          await lockScopes(database, transaction, scopes);
          const { Device } = database.models;
          if ((await Device.count({ transaction })) >= 3) return false;
          await Device.create(deviceValues(user.id), { transaction });
          return true;
        });
      const added = await Promise.all(
        Array.from({ length: 10 }, (_, i) => addFew(databases[i % 2]!)),
      );
      t.is(added.filter(Boolean).length, 3);
      t.is(await databases[0]!.models.Device.count(), 3);
    });

  test(`${kind}: all scopes may be locked together, by many`, async (t) => {
    const database = await openDatabase(t, kind);
    const users = [await addUser(database), await addUser(database)];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        write(database, async (transaction) => {
          const { id } = users[i % 2]!;
          const scopes = { addressPool: true, userId: id, configuration: true };
          await lockScopes(database, transaction, scopes);
          await database.models.Device.create(deviceValues(id), { transaction });
        }),
      ),
    );
    t.is(await database.models.Device.count(), 20);
  });
}
