// The revision: no gap, no number twice, whoever writes; and what one learns from it.

import test from 'ava';
import {
  currentRevision,
  migrate,
  pruneChanges,
  readChanges,
  readTransaction,
  type Revision,
  writeTransaction,
} from '../../../models/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addUser, userValues } from '../fixtures.ts';

const minus = (revision: Revision, steps: number): Revision => (revision - steps) as Revision;

for (const kind of databaseKinds()) {
  test(`${kind}: fifty writes at once make fifty revisions without a gap`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await currentRevision(database);
    const written = await Promise.all(
      Array.from({ length: 50 }, () =>
        writeTransaction(database, (transaction) =>
          database.models.User.create(userValues(), { transaction }),
        ),
      ),
    );
    const steps = written.map(({ revision }) => revision - before).toSorted((a, b) => a - b);
    t.deepEqual(
      steps,
      Array.from({ length: 50 }, (_, i) => i + 1),
    );
    const since = await readChanges(database, before);
    t.deepEqual(
      since.full === true || since.changes.map(({ id }) => id).toSorted(),
      written.map(({ result }) => result.id).toSorted(),
    );
  });

  test(`${kind}: two processes make one sequence, and each sees the other's changes`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = [await openAt(t, place), await openAt(t, place)];
    await migrate(databases[0]!);
    const before = await currentRevision(databases[0]!);
    const heard: number[][] = [[], []];
    for (const [i, database] of databases.entries())
      database.onCommit((revision) => heard[i]!.push(revision - before));
    // Few: on SQLite the second one waits for the lock until the first one has made all of its own.
    const each = 10;
    await Promise.all(
      databases.flatMap((database) => Array.from({ length: each }, () => addUser(database))),
    );
    t.deepEqual(
      heard.flat().toSorted((a, b) => a - b),
      Array.from({ length: 2 * each }, (_, i) => i + 1),
    );
    t.is(heard[0]!.length, each);
    for (const database of databases) {
      const since = await readChanges(database, before);
      t.is(since.full === true || since.changes.length, 2 * each);
    }
  });

  test(`${kind}: revisions become visible in their order`, async (t) => {
    const database = await openDatabase(t, kind);
    let isDone = false;
    const seen: number[] = [];
    let last = await currentRevision(database);
    const watching = (async () => {
      while (!isDone) {
        const since = await readTransaction(database, (transaction) =>
          readChanges(database, last, transaction),
        );
        // A gap would ask for a full read.
        t.not(since.full, true);
        seen.push(since.revision);
        last = since.revision;
      }
    })();
    await Promise.all(Array.from({ length: 40 }, () => addUser(database)));
    isDone = true;
    await watching;
    t.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
  });

  test(`${kind}: a write that fails leaves neither row nor revision nor gap`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await currentRevision(database);
    await t.throwsAsync(
      writeTransaction(database, async (transaction) => {
        await database.models.User.create(userValues(), { transaction });
        throw new Error('no');
      }),
      { message: 'no' },
    );
    t.is(await currentRevision(database), before);
    t.deepEqual(await readChanges(database, before), {
      revision: before,
      later: null,
      changes: [],
    });
    await addUser(database);
    t.is((await currentRevision(database)) - before, 1);
    t.is(await database.models.User.count(), 1);
  });

  test(`${kind}: a row that changed often is named once`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const before = await currentRevision(database);
    for (let i = 0; i < 3; i += 1)
      await writeTransaction(database, (transaction) =>
        user.update({ email: `${i}@x` }, { transaction }),
      );
    t.deepEqual(await readChanges(database, before), {
      revision: (before + 3) as Revision,
      later: null,
      changes: [{ table: 'users', id: user.id }],
    });
  });

  test(`${kind}: a gap, a prune or a smaller revision ask for a full read`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let i = 0; i < 5; i += 1) await addUser(database);
    const revision = await currentRevision(database);
    const full = { revision, later: null, full: true } as const;
    t.deepEqual(await readChanges(database, (revision + 1) as Revision), full);
    t.is((await readChanges(database, minus(revision, 5))).full, undefined);
    t.is(await pruneChanges(database, 2), revision - 2);
    t.deepEqual(await readChanges(database, minus(revision, 3)), full);
    const since = await readChanges(database, minus(revision, 2));
    t.is(since.full === true || since.changes.length, 2);
    await database.sequelize.query(`DELETE FROM changes WHERE revision = ${revision - 1}`);
    t.deepEqual(await readChanges(database, minus(revision, 2)), full);
    t.is(await pruneChanges(database, 0), 1);
    t.is(await pruneChanges(database, 0), 0);
    t.deepEqual(await readChanges(database, revision), { revision, later: null, changes: [] });
  });

  test(`${kind}: a write of many rows is one revision; very many ask for a full read`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    const before = await currentRevision(database);
    const add = (count: number) =>
      writeTransaction(database, (transaction) =>
        User.bulkCreate(Array.from({ length: count }, userValues), { transaction }),
      );
    await add(2500);
    const since = await readChanges(database, before);
    t.is(since.revision - before, 1);
    t.is(since.full === true || since.changes.length, 2500);
    for (let i = 0; i < 8; i += 1) await add(2500);
    t.true((await readChanges(database, before)).full);
  });

  test(`${kind}: a database without its revision row says so`, async (t) => {
    const database = await openDatabase(t, kind);
    await database.sequelize.query('DELETE FROM revisions');
    const missing = { message: /revision row is missing/ };
    await t.throwsAsync(currentRevision(database), missing);
    await t.throwsAsync(addUser(database), missing);
    t.is(await database.models.User.count(), 0);
  });
}
