// An open database: its bell, and its end.

import test from 'ava';
import { writeTransaction } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: listeners hear of each commit, after it`, async (t) => {
    const database = await openDatabase(t, kind);
    const heard: number[] = [];
    const counts: Promise<number>[] = [];
    const stop = database.onCommit((revision) => {
      heard.push(revision);
      counts.push(database.models.User.count());
    });
    const revisions = [];
    for (let i = 0; i < 3; i += 1) {
      await addUser(database);
      revisions.push(heard.at(-1));
      // The next write must not be counted.
      await counts.at(-1);
    }
    t.deepEqual(heard, revisions as number[]);
    t.deepEqual(await Promise.all(counts), [1, 2, 3]);
    stop();
    await addUser(database);
    t.is(heard.length, 3);
  });

  test(`${kind}: nobody hears of a write that failed or changed nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    const heard: number[] = [];
    database.onCommit((revision) => heard.push(revision));
    await writeTransaction(database, async () => undefined);
    await t.throwsAsync(
      writeTransaction(database, async () => {
        throw new Error('no');
      }),
    );
    t.deepEqual(heard, []);
  });

  test(`${kind}: a listener's error is logged and neither fails the write nor the rest`, async (t) => {
    const warnings: string[] = [];
    const log = {
      info: () => undefined,
      warn: (_fields: object, text: string) => warnings.push(text),
    };
    const database = await openDatabase(t, kind, { log });
    const heard: number[] = [];
    database.onCommit(() => {
      throw new Error('an error');
    });
    database.onCommit((revision) => heard.push(revision));
    await addUser(database);
    t.is(heard.length, 1);
    t.deepEqual(warnings, ['a listener failed after a commit']);
  });

  test(`${kind}: a listener may write in turn`, async (t) => {
    const database = await openDatabase(t, kind);
    let written: Promise<unknown> | undefined;
    const stop = database.onCommit(() => {
      stop();
      written = addUser(database);
    });
    await addUser(database);
    await written;
    t.is(await database.models.User.count(), 2);
  });

  test(`${kind}: a closed database refuses statements`, async (t) => {
    const database = await openDatabase(t, kind);
    await database.close();
    await t.throwsAsync(database.models.User.count());
    await t.throwsAsync(writeTransaction(database, async () => undefined));
    await database.close();
  });
}
