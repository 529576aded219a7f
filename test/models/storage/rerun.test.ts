// Reruns: real deadlocks, real lock timeouts, a really busy file; and what is not run again.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { DatabaseError } from 'sequelize';
import {
  type Database,
  isDatabaseAway,
  migrate,
  type Transaction,
  type User,
  writeTransaction,
} from '../../../models/index.ts';
import {
  BUSY_TIMEOUT_MS,
  driverError,
  isConflict,
  isDiskError,
  isFull,
  rerunOnConflict,
  TransactionLostError,
} from '../../../models/storage/rerun.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { lockSqliteFile } from '../../support/database/sqlite-lock.ts';
import { addUser, userValues } from '../fixtures.ts';

const busy = (): Error =>
  new DatabaseError(Object.assign(new Error('locked'), { code: 'SQLITE_BUSY', sql: '' }));

test('a conflict is met with five more runs, then it is the answer', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const late = Object.assign(new Error('Lock wait timeout exceeded'), { errno: 1205, sql: '' });
  for (const [conflict, expected] of [
    [new DatabaseError(late), 6],
    [busy(), 6],
  ] as const) {
    let runs = 0;
    const error = await t.throwsAsync(
      rerunOnConflict(database, async () => {
        runs += 1;
        throw conflict;
      }),
    );
    t.true(isConflict(error));
    t.is(runs, expected);
  }
});

test('deadlocks, which cost no waiting, are met with fifteen more', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const conflict = Object.assign(new Error('Deadlock found'), { errno: 1213, sql: '' });
  for (const error of [new DatabaseError(conflict), new TransactionLostError('lost')]) {
    let runs = 0;
    await t.throwsAsync(
      rerunOnConflict(database, async () => {
        runs += 1;
        throw error;
      }),
    );
    t.is(runs, 16);
  }
});

test('work that succeeds in the end gives its result, and each rerun is logged', async (t) => {
  const texts: string[] = [];
  const log = { info: (_fields: object, text: string) => texts.push(text), warn: () => undefined };
  const database = await openDatabase(t, 'sqlite', { log });
  texts.length = 0;
  let runs = 0;
  const result = await rerunOnConflict(database, async () => {
    runs += 1;
    if (runs < 2) throw busy();
    return 'done';
  });
  t.is(result, 'done');
  t.is(texts.length, 1);
});

test('any other error is not run again', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  let runs = 0;
  await t.throwsAsync(
    rerunOnConflict(database, async () => {
      runs += 1;
      throw new TypeError('a mistake');
    }),
    { instanceOf: TypeError },
  );
  t.is(runs, 1);
});

test('conflicts are recognised by what the driver says', (t) => {
  const of = (fields: object): boolean =>
    isConflict(new DatabaseError(Object.assign(new Error('no'), { sql: '' }, fields)));
  t.true(of({ errno: 1213 }));
  t.true(of({ errno: 1205 }));
  t.true(of({ code: 'SQLITE_BUSY', errno: 5 }));
  t.true(isConflict(new TransactionLostError('lost')));
  t.false(of({ errno: 1062 }));
  t.false(of({ code: 'SQLITE_CONSTRAINT', errno: 19 }));
  t.false(isConflict(null));
  t.is(driverError('text').message, 'text');
});

test('errors of the disk are distinguished from conflicts', (t) => {
  const of = (code: string): Error =>
    new DatabaseError(Object.assign(new Error('no'), { sql: '', code }));
  for (const code of ['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_IOERR_WRITE', 'SQLITE_NOMEM']) {
    t.true(isDiskError(of(code)), code);
    t.false(isConflict(of(code)), code);
  }
  t.false(isDiskError(of('SQLITE_BUSY')));
  t.true(isFull(of('SQLITE_FULL')));
  t.false(isFull(of('SQLITE_IOERR')));
});

test('a file that another process keeps busy is waited for', async (t) => {
  const { database, release } = await heldByAnother(t);
  let runs = 0;
  const writing = writeTransaction(database, async (transaction) => {
    runs += 1;
    await database.models.User.create(userValues(), { transaction });
  });
  await sleep(BUSY_TIMEOUT_MS - 1_500);
  t.is(runs, 0);
  release();
  await writing;
  t.is(runs, 1);
  t.is(await database.models.User.count(), 1);
});

test('however many writes wait for a busy file, each is refused in time', async (t) => {
  const { database, release } = await heldByAnother(t);
  const startedAt = performance.now();
  const ends = await Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      await sleep(i * 100);
      const write = writeTransaction(database, (transaction) =>
        database.models.User.create(userValues(), { transaction }),
      );
      t.true(isDatabaseAway(await t.throwsAsync(write)));
      return performance.now() - startedAt - i * 100;
    }),
  );
  // Those that came late waited for the turn of one more.
  t.true(Math.max(...ends) < 2 * BUSY_TIMEOUT_MS + 1_500, `${Math.max(...ends)} ms`);
  release();
  await writeTransaction(database, (transaction) =>
    database.models.User.create(userValues(), { transaction }),
  );
  t.is(await database.models.User.count(), 1);
});

if (databaseKinds().includes('mariadb')) {
  test('a deadlock is broken by the database, and both writes stand in the end', async (t) => {
    const { database, users } = await twoUsers(t);
    const runs = await deadlock(database, users);
    t.true(runs > 2, `${runs} runs`);
    for (const user of users) {
      await user.reload();
      t.true(user.last_signed_in_method === 'a' || user.last_signed_in_method === 'b');
    }
  });

  test('a deadlock whose error is swallowed is run again all the same', async (t) => {
    const { database, users } = await twoUsers(t);
    const runs = await deadlock(database, users, () => undefined);
    t.true(runs > 2, `${runs} runs`);
    await users[0]!.reload();
    await users[1]!.reload();
    // Half a write would leave the two apart.
    t.is(users[0]!.last_signed_in_method, users[1]!.last_signed_in_method);
  });

  test('what was sent together with the victim of a deadlock does not stand', async (t) => {
    const { database, users } = await twoUsers(t);
    const { User } = database.models;
    const before = await User.count();
    await deadlock(database, users, undefined, async (transaction) => {
      await User.create(userValues(), { transaction });
    });
    // One of each committed run; that of the broken run would make three.
    t.is((await User.count()) - before, 2);
  });

  test('a lock that takes too long is tried again', async (t) => {
    const { database, users } = await twoUsers(t);
    const [user] = users;
    const holder = await database.sequelize.transaction();
    await database.models.User.findByPk(user!.id, { transaction: holder, lock: true });
    let runs = 0;
    const writing = writeTransaction(database, async (transaction) => {
      runs += 1;
      await user!.update({ role: 'admin' }, { transaction });
    });
    await sleep(5500);
    await holder.rollback();
    await writing;
    t.is(runs, 2);
    await user!.reload();
    t.is(user!.role, 'admin');
  });
}

/** A database whose file another program holds until `release`. */
async function heldByAnother(
  t: ExecutionContext,
): Promise<{ database: Database; release: () => void }> {
  const place = await makePlace(t, 'sqlite');
  const database = await openAt(t, place);
  await migrate(database);
  return { database, release: lockSqliteFile(place.url.slice('sqlite:'.length)) };
}

async function twoUsers(t: ExecutionContext): Promise<{ database: Database; users: User[] }> {
  const database = await openDatabase(t, 'mariadb');
  return { database, users: [await addUser(database), await addUser(database)] };
}

/**
 * Two writers that take two rows in opposite order, sure to meet; returns how many runs it took.
 */
async function deadlock(
  database: Database,
  users: readonly User[],
  onError: (error: unknown) => void = (error) => {
    throw error;
  },
  beside: (transaction: Transaction) => Promise<void> = async () => undefined,
): Promise<number> {
  let runs = 0;
  let arrived = 0;
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const sign = (name: string, order: readonly User[]) =>
    writeTransaction(database, async (transaction) => {
      runs += 1;
      const { User } = database.models;
      const update = (user: User) =>
        User.update({ last_signed_in_method: name }, { where: { id: user.id }, transaction });
      await update(order[0]!);
      arrived += 1;
      if (arrived === 2) resolve();
      await both;
      await Promise.all([update(order[1]!), beside(transaction)]).catch(onError);
    });
  await Promise.all([sign('a', users), sign('b', users.toReversed())]);
  return runs;
}
