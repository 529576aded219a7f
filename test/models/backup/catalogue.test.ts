// What a backup carries: every table but those that say how this one database came to its shape,
// and every column with a kind that both databases agree on.

import test from 'ava';
import { NOT_CARRIED, readCatalogue } from '../../../models/backup/catalogue.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const kinds = databaseKinds();

for (const kind of kinds) {
  test(`${kind}: every table is carried, owners before what is theirs`, async (t) => {
    const database = await openDatabase(t, kind);
    const tables = await readCatalogue(database);
    const names = tables.map(({ name }) => name);
    const all: string[] = await database.sequelize.getQueryInterface().showAllTables();
    t.deepEqual([...names, ...NOT_CARRIED].toSorted(), all.toSorted());
    const before = (one: string, other: string) =>
      t.true(names.indexOf(one) < names.indexOf(other), `${one} before ${other}`);
    before('users', 'devices');
    before('devices', 'device_statuses');
    before('identities', 'identity_tokens');
    before('changes', 'revisions');
    t.deepEqual(tables.find(({ name }) => name === 'changes')?.key, [
      'revision',
      'table_name',
      'row_id',
    ]);
  });

  test(`${kind}: a column that is none of the kinds is refused`, async (t) => {
    const database = await openDatabase(t, kind);
    await database.sequelize.query('ALTER TABLE users ADD COLUMN photo BLOB');
    await t.throwsAsync(readCatalogue(database), { message: /cannot carry users\.photo.*BLOB/ });
  });
}

test('all databases describe themselves alike', async (t) => {
  const [first, ...others] = await Promise.all(
    kinds.map(async (kind) => readCatalogue(await openDatabase(t, kind))),
  );
  t.true((first?.length ?? 0) > 20);
  for (const other of others) t.deepEqual(other, first);
});
