// What is remembered is never older than the last refresh.

import test from 'ava';
import { Recall, type Memory } from '../../../../lib/kit/records/recall.ts';
import {
  type Database,
  pruneChanges,
  readOrCreateConfiguration,
  writeTransaction,
} from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

async function addRule(database: Database, destination: string): Promise<string> {
  const { result } = await writeTransaction(database, (transaction) =>
    database.models.Rule.create({ destination }, { transaction }),
  );
  return result.id;
}

async function changeRule(database: Database, id: string, destination: string): Promise<void> {
  await writeTransaction(database, (transaction) =>
    database.models.Rule.update({ destination }, { where: { id }, transaction }),
  );
}

/** Reads a rule through the recall, and counts the readings. */
function reader(database: Database, recall: Recall, id: string) {
  const counts = { reads: 0 };
  const load = async (): Promise<Memory<string> | null> => {
    counts.reads += 1;
    const rule = await database.models.Rule.findByPk(id);
    return rule === null ? null : { value: rule.destination, sources: [{ table: 'rules', id }] };
  };
  return { counts, read: () => recall.read(`rule ${id}`, load) };
}

for (const kind of databaseKinds()) {
  test(`${kind}: a row is read once, and again when it changed`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    const id = await addRule(database, '10.0.0.1');
    const { read, counts } = reader(database, recall, id);
    for (let i = 0; i < 3; i += 1) {
      await recall.refresh();
      t.is(await read(), '10.0.0.1');
    }
    t.is(counts.reads, 1);
    await addRule(database, '10.0.0.9');
    await recall.refresh();
    await read();
    t.is(counts.reads, 1, 'another row is no reason');
    await changeRule(database, id, '10.0.0.2');
    t.is(await read(), '10.0.0.1', 'as of the last refresh');
    await recall.refresh();
    t.is(await read(), '10.0.0.2');
    t.is(counts.reads, 2);
    await writeTransaction(database, (transaction) =>
      database.models.Rule.destroy({ where: { id }, transaction }),
    );
    await recall.refresh();
    t.is(await read(), null);
    t.is(await read(), null);
    t.is(counts.reads, 4, 'what does not exist is not remembered');
  });

  test(`${kind}: changes that are not known any more make it forget everything`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    const id = await addRule(database, '10.0.0.1');
    const { read } = reader(database, recall, id);
    await recall.refresh();
    await read();
    await changeRule(database, id, '10.0.0.2');
    await addRule(database, '10.0.0.9');
    await pruneChanges(database, 1);
    await recall.refresh();
    t.is(await read(), '10.0.0.2');
  });

  test(`${kind}: a list depends on every row of its table, and may have its time`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    let reads = 0;
    const count = (keepMs?: number): Promise<number | null> =>
      recall.read(`count ${keepMs}`, async () => {
        reads += 1;
        const value = await database.models.Rule.count();
        const sources = [{ table: 'rules' }] as const;
        return keepMs === undefined ? { value, sources } : { value, sources, keepMs };
      });
    await recall.refresh();
    t.is(await count(), 0);
    await addRule(database, '10.0.0.1');
    await recall.refresh();
    t.is(await count(), 1);
    await count();
    t.is(reads, 2);
    await count(0);
    await count(0);
    t.is(reads, 4, 'no time at all');
    await count(50);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await count(50);
    t.is(reads, 6);
  });

  test(`${kind}: readers of one moment share a reading, those after a change do not`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    const id = await addRule(database, '10.0.0.1');
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const read = (): Promise<string | null> =>
      recall.read('slow', async () => {
        reads += 1;
        const rule = await database.models.Rule.findByPk(id, { rejectOnEmpty: true });
        if (reads === 1) await gate.promise;
        return { value: rule.destination, sources: [{ table: 'rules', id }] };
      });
    await recall.refresh();
    const early = [read(), read()];
    await new Promise((resolve) => setTimeout(resolve, 50));
    await changeRule(database, id, '10.0.0.2');
    await recall.refresh();
    t.is(await read(), '10.0.0.2');
    gate.resolve();
    t.deepEqual(await Promise.all(early), ['10.0.0.1', '10.0.0.1']);
    t.is(reads, 2);
    await recall.refresh();
    t.is(await read(), '10.0.0.2', 'the late one did not overwrite the newer one');
  });

  test(`${kind}: many refreshes at once see what was committed before them`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    const id = await addRule(database, '10.0.0.0');
    const { read } = reader(database, recall, id);
    for (let i = 1; i <= 10; i += 1) {
      const noise = Array.from({ length: 5 }, () => recall.refresh());
      await changeRule(database, id, `10.0.0.${i}`);
      await recall.refresh();
      t.is(await read(), `10.0.0.${i}`);
      await Promise.all(noise);
    }
  });

  test(`${kind}: refreshes at once ask the database once; on SQLite only after a commit`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    await recall.refresh();
    let asked = 0;
    const { sequelize } = database;
    const query = sequelize.query.bind(sequelize);
    sequelize.query = ((...given: Parameters<typeof query>) => {
      asked += 1;
      return query(...given);
    }) as typeof query;
    const refreshes = () => Promise.all(Array.from({ length: 8 }, () => recall.refresh()));
    await refreshes();
    t.is(asked, kind === 'sqlite' ? 0 : 1);
    await addRule(database, '10.0.0.1');
    asked = 0;
    await refreshes();
    t.is(asked, 1);
  });

  test(`${kind}: the configuration is made where there is none`, async (t) => {
    const database = await openDatabase(t, kind);
    const recall = new Recall(database);
    const { id } = await recall.configuration();
    t.is((await readOrCreateConfiguration(database)).id, id);
    t.is(await recall.configuration(), await recall.configuration());
  });
}
