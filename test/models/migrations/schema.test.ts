// The building blocks of migrations: what is there already is left alone.

import test from 'ava';
import { DataTypes } from 'sequelize';
import {
  addIndex,
  createTable,
  insertIfAbsent,
  longText,
} from '../../../models/migrations/schema.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';

const schema = {
  columns: {
    id: { type: DataTypes.INTEGER, primaryKey: true },
    a: { type: DataTypes.STRING(10), allowNull: false },
    b: { type: DataTypes.STRING(10), allowNull: true },
  },
  unique: [['a', 'b']],
  indexes: [['b'], ['b', 'a']],
};

for (const kind of databaseKinds()) {
  test(`${kind}: a table is made with its indexes, and made again without harm`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    const queries = database.sequelize.getQueryInterface();
    await createTable(database, 'things', schema);
    await insertIfAbsent(database, 'things', { id: 1, a: 'x', b: 'y' });
    await createTable(database, 'things', schema);
    const indexes = (await queries.showIndex('things')) as { name: string; unique: boolean }[];
    const unique = indexes.filter((index) => index.unique && index.name !== 'PRIMARY');
    t.is(unique.length, 1);
    t.true(indexes.some(({ name }) => name === 'things_b'));
    t.true(indexes.some(({ name }) => name === 'things_b_a'));
    t.is((await database.sequelize.query('SELECT * FROM things', plainSelect())).length, 1);
  });

  test(`${kind}: an index that a crash left out is made by the next run`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await createTable(database, 'things', { ...schema, indexes: [['b']] });
    await createTable(database, 'things', schema);
    const indexes = await database.sequelize.getQueryInterface().showIndex('things');
    t.true((indexes as { name: string }[]).some(({ name }) => name === 'things_b_a'));
  });

  test(`${kind}: an index is added to a table that exists, once`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await createTable(database, 'things', schema);
    for (let i = 0; i < 2; i += 1) await addIndex(database, 'things', ['a', 'id']);
    const indexes = await database.sequelize.getQueryInterface().showIndex('things');
    const names = (indexes as { name: string }[]).map(({ name }) => name);
    t.is(names.filter((name) => name === 'things_a_id').length, 1);
  });

  test(`${kind}: a row is inserted once, and never overwritten`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await createTable(database, 'things', schema);
    await insertIfAbsent(database, 'things', { id: 1, a: "it's" });
    await insertIfAbsent(database, 'things', { id: 1, a: 'other' });
    const rows = await database.sequelize.query('SELECT id, a FROM things', plainSelect());
    t.deepEqual(rows, [{ id: 1, a: "it's" }]);
  });

  test(`${kind}: long text holds megabytes`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    const text = 'é'.repeat(3_000_000);
    await createTable(database, 'texts', {
      columns: { text: { type: longText(database), allowNull: false } },
    });
    await insertIfAbsent(database, 'texts', { text });
    const [row] = await database.sequelize.query<{ text: string }>(
      'SELECT text FROM texts',
      plainSelect(),
    );
    t.true(row?.text === text);
  });
}
