// Files of SQLite that other programs wrote: read as a copy, with their log, and never trusted.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { readForeignTables } from '../../../models/index.ts';
import { scratchFolder } from '../../support/database/full-database.ts';

/** Runs statements on a file and leaves the connection open, as a program that runs. */
function openWith(file: string, ...statements: string[]): () => void {
  const database = new DatabaseSync(file, {
    defensive: false,
    enableDoubleQuotedStringLiterals: true,
  });
  for (const statement of statements) database.exec(statement);
  return () => database.close();
}

test('tables are read with what the log beside the file holds, and the files stay', async (t) => {
  const folder = scratchFolder(t);
  const file = join(folder, 'a.db');
  const close = openWith(
    file,
    'PRAGMA journal_mode = WAL',
    "CREATE TABLE a (id INTEGER, name TEXT); INSERT INTO a VALUES (1, 'x'), (2, 'ü')",
  );
  t.true(readdirSync(folder).includes('a.db-wal'));
  const before = readFileSync(file);
  const { tables, lacksLog } = await readForeignTables(file, ['a', 'absent']);
  t.deepEqual(
    [...tables],
    [
      [
        'a',
        [
          { id: 1, name: 'x' },
          { id: 2, name: 'ü' },
        ],
      ],
    ],
  );
  t.false(lacksLog);
  t.deepEqual(readFileSync(file), before);
  close();
  rmSync(`${file}-wal`, { force: true });
  t.true((await readForeignTables(file, ['a'])).lacksLog);
});

test('virtual tables, views and damaged files are not read', async (t) => {
  const folder = scratchFolder(t);
  const [virtual, view, torn] = ['v.db', 'w.db', 't.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  openWith(virtual, 'CREATE VIRTUAL TABLE a USING fts5(x)')();
  await t.throwsAsync(readForeignTables(virtual, ['a']), {
    message: /^.*v\.db cannot be read as a database of SQLite: its table a is a virtual one$/,
  });
  openWith(view, 'CREATE VIEW a AS SELECT 1 AS x')();
  t.is((await readForeignTables(view, ['a'])).tables.size, 0);
  const rows = Array.from({ length: 500 }, (_, i) => `('${String(i).repeat(40)}')`).join();
  openWith(torn, `CREATE TABLE a (x TEXT); INSERT INTO a VALUES ${rows}`)();
  writeFileSync(torn, readFileSync(torn).fill(0xff, 8_192, 12_000));
  await t.throwsAsync(readForeignTables(torn, ['a']), {
    message: /t\.db cannot be read as a database/,
  });
  await t.throwsAsync(readForeignTables(join(folder, 'no.db'), ['a']), { message: /ENOENT/ });
});
