// Which database two processes have open: equal for one, another one for a copy.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { databaseIdentity } from '../../../models/index.ts';
import {
  databaseKinds,
  openAt,
  openDatabase,
  openPlace,
} from '../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: connections to one database find one identity, and other databases have another`, async (t) => {
    const { database, place } = await openPlace(t, kind);
    const identity = await databaseIdentity(database);
    t.regex(identity, /^[0-9a-f]{64}$/);
    t.is(await databaseIdentity(await openAt(t, place)), identity);
    t.not(await databaseIdentity(await openDatabase(t, kind)), identity);
  });

test('a copy of a file is another database', async (t) => {
  const { database, place } = await openPlace(t, 'sqlite');
  const file = place.url.slice('sqlite:'.length);
  const copy = join(file, '../copy.sqlite');
  copyFileSync(file, copy);
  const copied = await openAt(t, { ...place, url: `sqlite:${copy}` });
  t.not(await databaseIdentity(copied), await databaseIdentity(database));
});
