// Writes that wait together share a transaction, and stay strangers to one another.

import type { Request } from '@hapi/hapi';
import test from 'ava';
import { ApiError } from '../../../lib/api/errors.ts';
import { refuseFaults, saveChanges, Writes } from '../../../lib/api/writes.ts';
import { currentRevision, type Database } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';

const request = (): Request => ({ app: {}, auth: {} }) as Request;

const make = (writes: Writes, database: Database, destination: string, before = noop) =>
  writes.run(request(), {
    judge: async () => {
      if (destination === 'refused') throw new ApiError('not_found');
    },
    write: async (transaction) => {
      before();
      return (await database.models.Rule.create({ destination }, { transaction })).destination;
    },
  });

const noop = (): void => undefined;

for (const kind of databaseKinds()) {
  test(`${kind}: many writes make few revisions, and each gets its own result`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const before = await currentRevision(database);
    const wanted = Array.from({ length: 50 }, (_, i) => `10.0.0.${i}`);
    t.deepEqual(await Promise.all(wanted.map((one) => make(writes, database, one))), wanted);
    t.is(await database.models.Rule.count(), 50);
    const steps = (await currentRevision(database)) - before;
    t.true(steps >= 2 && steps <= 4, String(steps));
  });

  test(`${kind}: the request learns the revision that covers its write`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const asked = request();
    const write = { judge: async () => undefined, write: async () => 5 };
    t.is(await writes.run(asked, write), 5);
    t.is(asked.app.revision, await currentRevision(database), 'also when nothing changed');
  });

  test(`${kind}: a refused write harms no other and leaves nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const results = await Promise.allSettled(
      ['10.0.0.1', 'refused', '10.0.0.2', 'refused', '10.0.0.3'].map((one) =>
        make(writes, database, one),
      ),
    );
    t.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    );
    t.is(await database.models.Rule.count(), 3);
  });

  test(`${kind}: a write that fails takes none along, and what it wrote is undone`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const failing = (): Promise<unknown> =>
      writes.run(request(), {
        judge: async () => undefined,
        write: async (transaction) => {
          await database.models.Rule.create({ destination: '10.9.9.9' }, { transaction });
          throw new TypeError('a mistake');
        },
      });
    const results = await Promise.allSettled([
      make(writes, database, '10.0.0.1'),
      make(writes, database, '10.0.0.2'),
      failing(),
      make(writes, database, '10.0.0.3'),
    ]);
    t.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    const rules = await database.models.Rule.findAll();
    t.deepEqual(rules.map(({ destination }) => destination).sort(), [
      '10.0.0.1',
      '10.0.0.2',
      '10.0.0.3',
    ]);
    t.is(await make(writes, database, '10.0.0.4'), '10.0.0.4', 'and the next one runs');
  });

  test(`${kind}: a write that was overtaken is judged again`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const { User } = database.models;
    let judged = 0;
    const taken = writes.run(request(), {
      judge: async (transaction) => {
        judged += 1;
        const present = await User.count({ where: { email_key: 'a@b.c' }, transaction });
        // As if the other write had come between this look and the insert.
        if (judged > 1 && present > 0) refuseFaults({ email: ['has already been taken'] });
        await User.create({ email: judged === 1 ? 'a@b.c' : 'x@y.z' }, { transaction });
      },
      write: (transaction) => User.create({ email: 'a@b.c' }, { transaction }),
    });
    await t.notThrowsAsync(taken);
    t.is(judged, 2);
  });

  test(`${kind}: saving without a change touches nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const save = (values: object): Promise<{ destination: string }> =>
      writes.run(request(), {
        judge: (transaction) => database.models.Rule.findOne({ transaction, rejectOnEmpty: true }),
        write: (transaction, rule) => saveChanges(rule, values, transaction),
      });
    await make(writes, database, '10.0.0.1');
    const before = await currentRevision(database);
    await save({ destination: '10.0.0.1', action: 'drop' });
    t.is(await currentRevision(database), before);
    t.is((await save({ destination: '10.0.0.2' })).destination, '10.0.0.2');
    t.true((await currentRevision(database)) > before);
  });
}

test('faults are refused, none are not', (t) => {
  t.notThrows(() => refuseFaults({}));
  const error = t.throws(() => refuseFaults({ a: ['b'] }), { instanceOf: ApiError });
  t.deepEqual(error?.faults, { a: ['b'] });
});
