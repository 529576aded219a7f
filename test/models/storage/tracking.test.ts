// Change tracking: every tracked table through every kind of write; what would leave no trace is
// refused, and refused before it reaches the database.

import test from 'ava';
import type { Model, ModelStatic } from 'sequelize';
import {
  currentRevision,
  type Database,
  readChanges,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { UntrackedWriteError } from '../../../models/storage/tracking.ts';
import { addLast, BULK_ROWS_MAX } from '../../../models/storage/tracking.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, deviceValues, identityValues, tokenValues, userValues } from '../fixtures.ts';

/** A tracked table, values for a new row, and a change that the row does not have yet. */
interface Walk {
  table: string;
  model: ModelStatic<Model>;
  values: () => Record<string, unknown>;
  change: (i: number) => Record<string, unknown>;
}

type Act = (transaction: Transaction) => Promise<unknown>;

let names = 0;

async function walks(database: Database): Promise<Walk[]> {
  const { User, Device, Rule, Configuration, ApiToken, Secret } = database.models;
  const { Identity, TrustedProvider } = database.models;
  const owner = await addUser(database);
  const name = (i: number) => ({ name: `changed ${i}` });
  return [
    { table: 'users', model: User, values: userValues, change: (i) => ({ email: `c${i}@x` }) },
    { table: 'devices', model: Device, values: () => deviceValues(owner.id), change: name },
    {
      table: 'rules',
      model: Rule,
      values: () => ({ destination: '10.0.0.0/8' }),
      change: (i) => ({ destination: `10.0.0.${i}` }),
    },
    {
      table: 'configurations',
      model: Configuration,
      values: () => ({ singleton: (names = (names + 1) % 100) }),
      change: (i) => ({ vpn_session_duration: i }),
    },
    { table: 'api_tokens', model: ApiToken, values: () => tokenValues(owner.id), change: name },
    {
      table: 'secrets',
      model: Secret,
      values: () => ({ name: `secret ${(names += 1)}`, value: 'v' }),
      change: (i) => ({ value: `changed ${i}` }),
    },
    {
      table: 'identities',
      model: Identity,
      values: () => identityValues(owner.id),
      change: (i) => ({ subject: `changed ${i}` }),
    },
    {
      table: 'trusted_providers',
      model: TrustedProvider,
      values: () => ({ kind: 'oidc', provider_id: `p${(names += 1)}`, authority: 'a' }),
      change: (i) => ({ authority: `changed ${i}` }),
    },
  ];
}

/** Names the rows that the newest revision is about. */
async function lastChanges(database: Database): Promise<string[]> {
  const revision = await currentRevision(database);
  const since = await readChanges(database, (revision - 1) as typeof revision);
  return since.full === true
    ? ['full']
    : since.changes.map(({ table, id }) => `${table}/${id}`).toSorted();
}

for (const kind of databaseKinds()) {
  test(`${kind}: every kind of write of every table leaves its change row`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const { table, model, values, change } of await walks(database)) {
      const key = model.primaryKeyAttribute;
      const nameOf = (row: Model): string => `${table}/${String(row.get(key))}`;
      const expect = async (what: string, rows: Model[], act: Act) => {
        const before = await currentRevision(database);
        const { revision } = await writeTransaction(database, act);
        t.is(revision - before, 1, `${table}: ${what} makes one revision`);
        t.deepEqual(await lastChanges(database), rows.map(nameOf).toSorted(), what);
      };
      /** The values of a row that is not saved; the id comes first, encryption needs it. */
      const valuesOf = (row: Model) => ({ [key]: row.get(key), ...(row.get() as object) });
      const whereIs = (...rows: Model[]) => ({ [key]: rows.map((row) => String(row.get(key))) });

      const one = model.build(values());
      const where = whereIs(one);
      await expect('save of a new row', [one], (transaction) => one.save({ transaction }));
      await expect('update of a row', [one], (transaction) =>
        one.update(change(1), { transaction }),
      );
      await expect('save of a row', [one], (transaction) =>
        one.set(change(2)).save({ transaction }),
      );
      await expect('update by where', [one], (transaction) =>
        model.update(change(3), { where, transaction }),
      );
      await expect('destroy of a row', [one], (transaction) => one.destroy({ transaction }));

      const two = model.build(values());
      await expect('create', [two], (transaction) => model.create(valuesOf(two), { transaction }));
      await expect('destroy by where', [two], (transaction) =>
        model.destroy({ where: whereIs(two), transaction }),
      );

      const many = [model.build(values()), model.build(values())];
      await expect('bulkCreate', many, (transaction) =>
        model.bulkCreate(many.map(valuesOf), { transaction }),
      );
      await expect('destroy of many by where', many, (transaction) =>
        model.destroy({ where: whereIs(...many), transaction }),
      );

      const found = model.build(values());
      await expect('findOrCreate', [found], (transaction) =>
        model.findOrCreate({
          where: { [key]: String(found.get(key)) },
          defaults: valuesOf(found) as Record<string, never>,
          transaction,
        }),
      );
    }
  });

  test(`${kind}: a last statement goes with the commit, and not with a rollback`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, SignInAttempt } = database.models;
    const user = await addUser(database);
    let asked = 0;
    const write = (error: Error | null) =>
      writeTransaction(database, async (transaction) => {
        addLast(User, { transaction }, async () => {
          asked += 1;
          return SignInAttempt.destroy({ where: {}, transaction });
        });
        await user.update({ role: 'admin' }, { transaction });
        t.is(asked, 0);
        if (error !== null) throw error;
      });
    await t.throwsAsync(write(new Error('no')), { message: 'no' });
    t.is(asked, 0);
    await write(null);
    t.is(asked, 1);
  });

  test(`${kind}: several writes make one revision that names each row once`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Rule } = database.models;
    const before = await currentRevision(database);
    const { result, revision, changed } = await writeTransaction(database, async (transaction) => {
      const user = await User.create(userValues(), { transaction });
      await user.update({ role: 'admin' }, { transaction });
      const rule = await Rule.create({ destination: '10.0.0.1' }, { transaction });
      await rule.destroy({ transaction });
      return [`users/${user.id}`, `rules/${rule.id}`];
    });
    t.true(changed);
    t.is(revision - before, 1);
    t.deepEqual(await lastChanges(database), result.toSorted());
  });

  test(`${kind}: a write that changes nothing moves no revision`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const before = await currentRevision(database);
    const written = await writeTransaction(database, async (transaction) => {
      await user.update({ email: user.email }, { transaction });
      await user.save({ transaction });
      await database.models.User.update({ email: user.email }, { where: {}, transaction });
      await database.models.Device.destroy({ where: { user_id: user.id }, transaction });
    });
    t.deepEqual(written, { result: undefined, revision: before, changed: false });
    t.is((await currentRevision(database)) - before, 0);
  });

  test(`${kind}: a write outside writeTransaction is refused and does nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    const refused = { instanceOf: UntrackedWriteError, message: /would leave no change row/ };
    for (const { model, values, change } of await walks(database)) {
      const { result: row } = await writeTransaction(database, (transaction) =>
        model.create(values(), { transaction }),
      );
      const key = model.primaryKeyAttribute;
      const where = { [key]: String(row.get(key)) };
      await t.throwsAsync(model.create(values()), refused);
      await t.throwsAsync(model.bulkCreate([values()]), refused);
      await t.throwsAsync(row.update(change(1)), refused);
      await t.throwsAsync(row.destroy(), refused);
      await t.throwsAsync(model.update(change(1), { where }), refused);
      await t.throwsAsync(model.destroy({ where }), refused);
      await t.throwsAsync(
        database.sequelize.transaction((transaction) => model.create(values(), { transaction })),
        refused,
      );
      await row.reload();
      t.is(
        await model.count(),
        model.tableName === 'users' ? 2 : model.tableName === 'secrets' ? 2 : 1,
      );
    }
  });

  test(`${kind}: what cannot name its rows is refused inside writeTransaction too`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const { User } = database.models;
    const where = { id: user.id };
    const refused = { instanceOf: UntrackedWriteError };
    await writeTransaction(database, async (transaction) => {
      const silent = { transaction, hooks: false };
      await t.throwsAsync(User.upsert(userValues(), { transaction }), refused);
      await t.throwsAsync(User.increment('email', { where, transaction }), refused);
      await t.throwsAsync(User.decrement('email', { where, transaction }), refused);
      await t.throwsAsync(user.increment('email', { transaction }), refused);
      await t.throwsAsync(User.truncate({ transaction }), refused);
      await t.throwsAsync(User.destroy({ truncate: true, transaction }), refused);
      await t.throwsAsync(User.destroy({ where, limit: 1, transaction }), refused);
      await t.throwsAsync(User.create(userValues(), silent), refused);
      await t.throwsAsync(User.bulkCreate([userValues()], silent), refused);
      await t.throwsAsync(user.update({ role: 'admin' }, silent), refused);
      await t.throwsAsync(user.destroy(silent), refused);
      await t.throwsAsync(User.update({ role: 'admin' }, { where, ...silent }), refused);
      await t.throwsAsync(User.destroy({ where, ...silent }), refused);
      await t.throwsAsync(
        User.bulkCreate([userValues()], { transaction, updateOnDuplicate: ['role'] }),
        refused,
      );
    });
    await user.reload();
    t.is(user.role, 'unprivileged');
    t.is(await User.count(), 1);
  });

  test(`${kind}: a write after the end of its transaction is refused`, async (t) => {
    const database = await openDatabase(t, kind);
    let late: Promise<unknown> | undefined;
    await writeTransaction(database, async (transaction) => {
      late = new Promise((resolve) => {
        setImmediate(() => {
          resolve(t.throwsAsync(database.models.User.create(userValues(), { transaction })));
        });
      });
    });
    await late;
    t.is(await database.models.User.count(), 0);
  });

  test(`${kind}: an update by where touches only rows that really change`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    const admin = await addUser(database, { role: 'admin' });
    const other = await addUser(database);
    const before = await currentRevision(database);
    const { result } = await writeTransaction(database, (transaction) =>
      User.update({ role: 'admin' }, { where: {}, transaction }),
    );
    t.deepEqual(result, [1]);
    t.deepEqual(await lastChanges(database), [`users/${other.id}`]);
    t.is((await currentRevision(database)) - before, 1);
    const reloaded = await User.findByPk(admin.id, { rejectOnEmpty: true });
    t.deepEqual(reloaded.updated_at, admin.updated_at);
  });

  test(`${kind}: a bulk operation on too many rows is refused whole`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Secret } = database.models;
    for (let part = 0; part < 3; part += 1)
      await writeTransaction(database, (transaction) =>
        Secret.bulkCreate(
          Array.from({ length: BULK_ROWS_MAX / 2 }, (_, i) => ({
            name: `${part}-${i}`,
            value: '',
          })),
          { transaction },
        ),
      );
    const tooMany = { instanceOf: RangeError, message: /at most 10000 rows/ };
    const count = await Secret.count();
    await writeTransaction(database, async (transaction) => {
      await t.throwsAsync(Secret.destroy({ where: {}, transaction }), tooMany);
      await t.throwsAsync(Secret.update({ value: 'x' }, { where: {}, transaction }), tooMany);
    });
    t.is(await Secret.count(), count);
  });

  test(`${kind}: tables of what is observed are written freely`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Gateway } = database.models;
    const before = await currentRevision(database);
    const now = new Date();
    await Gateway.create({ id: 'g', name: 'g', started_at: now, seen_at: now });
    await Gateway.update({ name: 'h' }, { where: { id: 'g' } });
    await Gateway.destroy({ where: { id: 'g' } });
    t.is((await currentRevision(database)) - before, 0);
  });
}
