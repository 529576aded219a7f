// Making a backup: what is in it, and what never is.

import { readFileSync } from 'node:fs';
import test from 'ava';
import { writeBackup } from '../../../models/index.ts';
import { BackupError } from '../../../models/backup/format.ts';
import { migrations } from '../../../models/migrations/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { backupFile, fillDatabase } from '../../support/database/full-database.ts';
import { addDevice, addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: the header says what follows, and secrets stay sealed`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    await fillDatabase(database);
    const text = readFileSync(await backupFile(t, database), 'utf8');
    const lines = text.split('\n');
    const header = JSON.parse(lines[0] ?? '') as { tables: { rows: number }[] };
    t.like(header, {
      postern_backup: 1,
      key: database.keyring.keyId,
      schema: migrations.map(({ name }) => name),
    });
    const rows = header.tables.reduce((sum, table) => sum + table.rows, 0);
    t.like(JSON.parse(lines.at(-2) ?? ''), { rows });
    t.is(lines.length, rows + 3);
    t.false(text.includes(device.preshared_key));
    t.false(text.includes('secret 0'));
  });

  test(`${kind}: a database without tables has nothing to back up`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await t.throwsAsync(
      writeBackup(database, async () => undefined),
      { instanceOf: BackupError, message: /nothing to back up/ },
    );
  });

  test(`${kind}: many rows take no more memory than few`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let i = 0; i < 4; i += 1)
      await write(database, (transaction) =>
        database.models.User.bulkCreate(
          Array.from({ length: 5_000 }, (_, j) => ({ email: `${i}-${j}@b.example` })),
          { transaction },
        ),
      );
    let longest = 0;
    const { counts } = await writeBackup(database, async (chunk) => {
      longest = Math.max(longest, chunk.length);
    });
    t.is(counts['users'], 20_000);
    t.true(longest < 300_000, `${longest} characters at once`);
  });
}
