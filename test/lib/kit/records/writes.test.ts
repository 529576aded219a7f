// Writes that wait at the same time share a transaction, and do not affect each other.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import {
  type JointWork,
  refuseErrors,
  saveChanges,
  Writes,
} from '../../../../lib/kit/records/writes.ts';
import { currentRevision, type Database, readAuditEntries } from '../../../../models/index.ts';
import { someCaller } from '../../../support/api/caller.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const make = (writes: Writes, database: Database, destination: string, before = noop) =>
  writes.run(someCaller(), {
    check: async () => {
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

  test(`${kind}: programs that write in parallel keep sharing transactions`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const before = await currentRevision(database);
    const program = async (name: number): Promise<void> => {
      for (let i = 0; i < 20; i += 1) {
        await make(writes, database, `10.${name}.0.${i}`);
        // Each program does something else in between, every third one for long.
        for (let turns = 0; turns < name; turns += 1) await nextTurn();
      }
    };
    await Promise.all([1, 2, 3, 4].map(program));
    const steps = (await currentRevision(database)) - before;
    t.true(steps >= 20 && steps < 40, `${steps} transactions for 80 writes`);
  });

  test(`${kind}: the caller gets the revision that holds its write`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const asked = someCaller();
    const write = { check: async () => undefined, write: async () => 5 };
    t.is(await writes.run(asked, write), 5);
    t.is(asked.revision, await currentRevision(database), 'also when nothing changed');
  });

  test(`${kind}: a refused write changes nothing and stops no other write`, async (t) => {
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

  test(`${kind}: a write that fails is undone, and the others of its transaction are kept`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const failing = (): Promise<unknown> =>
      writes.run(someCaller(), {
        check: async () => undefined,
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

  test(`${kind}: a write that waited long for a database that is away is refused with the reason`, async (t) => {
    const database = await openDatabase(t, kind);
    const patienceMs = 500;
    const writes = new Writes(database, patienceMs);
    const away = Object.assign(new Error('away'), { code: 'ECONNRESET' });
    let isHeld = false;
    const fails = Promise.withResolvers<void>();
    const holding = writes.run(someCaller(), {
      check: async () => {
        isHeld = true;
        await fails.promise;
        throw away;
      },
      write: async () => undefined,
    });
    while (!isHeld) await nextTurn();
    const early = make(writes, database, '10.0.0.1');
    const failed = Promise.all([
      t.throwsAsync(holding, { is: away }),
      t.throwsAsync(early, { is: away }),
    ]);
    await sleep(2 * patienceMs);
    const late = make(writes, database, '10.0.0.2');
    fails.resolve();
    await failed;
    t.is(await late, '10.0.0.2', 'who came just now tries');
    t.is(await database.models.Rule.count(), 1, 'and what was answered as failed is never done');
  });

  test(`${kind}: a write is checked again if another one came first`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const { User } = database.models;
    let tries = 0;
    const taken = writes.run(someCaller(), {
      check: async (transaction) => {
        tries += 1;
        const present = await User.count({ where: { email_key: 'a@b.c' }, transaction });
        // The other write comes between this check and the insert.
        if (tries > 1 && present > 0) refuseErrors({ email: [messages.taken] });
        await User.create({ email: tries === 1 ? 'a@b.c' : 'x@y.z' }, { transaction });
      },
      write: (transaction) => User.create({ email: 'a@b.c' }, { transaction }),
    });
    await t.notThrowsAsync(taken);
    t.is(tries, 2);
  });

  test(`${kind}: a write that others overtake many times in a row is made in the end`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const { User } = database.models;
    let tries = 0;
    const email = (number: number): string => `free-${number}@example.test`;
    const made = await writes.run(someCaller(), {
      check: async (transaction) => {
        tries += 1;
        // Another writer chooses the same value, and is first.
        if (tries <= 12) await User.create({ email: email(tries) }, { transaction });
        return tries;
      },
      write: (transaction, number) => User.create({ email: email(number) }, { transaction }),
    });
    t.is(made.email, email(13));
  });

  test(`${kind}: saving without a change writes nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const save = (values: object): Promise<{ destination: string }> =>
      writes.run(someCaller(), {
        check: (transaction) => database.models.Rule.findOne({ transaction, rejectOnEmpty: true }),
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

for (const kind of databaseKinds()) {
  test(`${kind}: writes of one kind are checked and written together`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new Writes(database);
    const log: string[] = [];
    const work: JointWork<string, string, string> = {
      check: async (_transaction, inputs) => {
        log.push(`check ${inputs.join(' ')}`);
        // Three at a time, and the odd ones are refused.
        return inputs
          .slice(0, 3)
          .map((input) => (/[13579]$/.test(input) ? new ApiError('not_found') : input));
      },
      write: async (transaction, plans) => {
        log.push(`write ${plans.join(' ')}`);
        const rows = plans.map((destination) => ({ destination }));
        const made = await database.models.Rule.bulkCreate(rows, { transaction });
        return made.map(({ destination }) => destination);
      },
    };
    const destinations = Array.from({ length: 6 }, (_, i) => `10.0.0.${i}`);
    const first = make(writes, database, '10.1.0.0');
    const joint = destinations.map((one, i) => writes.join(someCaller(`r${i}`), work, one));
    const between = make(writes, database, '10.1.0.1');
    const results = await Promise.allSettled([...joint, first, between]);
    t.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value : null)),
      ['10.0.0.0', null, '10.0.0.2', null, '10.0.0.4', null, '10.1.0.0', '10.1.0.1'],
    );
    t.deepEqual(log, [
      `check ${destinations.join(' ')}`,
      'write 10.0.0.0 10.0.0.2',
      'check 10.0.0.3 10.0.0.4 10.0.0.5',
      'write 10.0.0.4',
    ]);
    const entries = await readAuditEntries(database, { limit: 100 });
    const writers = entries.flatMap(({ changes, request_id }) => {
      const { to } = (changes['destination'] ?? {}) as { to?: string };
      return to === undefined ? [] : [`${to} ${request_id}`];
    });
    t.deepEqual(writers.sort(), [
      '10.0.0.0 r0',
      '10.0.0.2 r2',
      '10.0.0.4 r4',
      '10.1.0.0 null',
      '10.1.0.1 null',
    ]);
  });
}

test('a write with errors is refused, one without is not', (t) => {
  t.notThrows(() => refuseErrors({}));
  const error = t.throws(() => refuseErrors({ a: [messages.blank] }), { instanceOf: ApiError });
  t.deepEqual(error?.errors, { a: [messages.blank] });
});
