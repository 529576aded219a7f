// Reading a backup: page by page, and to the end only when it is whole. What becomes of damaged
// files is in restore.test.ts.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { BackupError } from '../../../models/backup/format.ts';
import { readHeader, readPages, verifyBackup } from '../../../models/backup/read.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { backupFile, fillDatabase, scratchFolder } from '../../support/database/full-database.ts';
import { write } from '../fixtures.ts';

test('rows come in pages, in the order of the header', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await write(database, (transaction) =>
    database.models.User.bulkCreate(
      Array.from({ length: 1_200 }, (_, i) => ({ email: `u${i}@b.example` })),
      { transaction },
    ),
  );
  const file = await backupFile(t, database);
  const { header, keys } = await verifyBackup(file, database.keyring);
  t.deepEqual(keys, [database.keyring.keyId]);
  t.deepEqual(await readHeader(file), header);
  const counts = new Map<string, number>();
  for await (const { table, rows } of readPages(file, database.keyring)) {
    t.true(rows.length <= 500);
    counts.set(table.name, (counts.get(table.name) ?? 0) + rows.length);
  }
  for (const { name, rows } of header.tables) t.is(counts.get(name) ?? 0, rows, name);
});

test('an empty file and a line that never ends are no backups', async (t) => {
  const { keyring } = await openDatabase(t, 'sqlite');
  const file = join(scratchFolder(t), 'file');
  writeFileSync(file, '');
  await t.throwsAsync(verifyBackup(file, keyring), { instanceOf: BackupError, message: /empty/ });
  writeFileSync(file, Buffer.alloc(65 * 1024 * 1024, 'x'));
  await t.throwsAsync(verifyBackup(file, keyring), { message: /a line does not end/ });
});

test('a value of another kind is named with its place', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await fillDatabase(database);
  const file = await backupFile(t, database);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"kind":"time"', '"kind":"flag"'));
  await t.throwsAsync(verifyBackup(file, database.keyring), {
    instanceOf: BackupError,
    message: /damaged: configurations\.\w+ is no flag/,
  });
});
