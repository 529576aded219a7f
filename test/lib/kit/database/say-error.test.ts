// What is said of a database that cannot be used: the error, and the setting to look at.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { DatabaseError } from 'sequelize';
import { sayError } from '../../../../lib/kit/database/say-error.ts';
import { connectDatabase } from '../../../../models/index.ts';
import { configOf } from '../../../support/api/server.ts';

const DATABASE_ENCRYPTION_KEY = Buffer.alloc(32).toString('base64');
const encryptionKey = Buffer.alloc(32);
const full = Object.assign(new Error('SQLITE_FULL: database or disk is full'), {
  code: 'SQLITE_FULL',
});
const byUrl = { DATABASE_URL: 'mysql://me:hunter2@127.0.0.1:1/none', DATABASE_ENCRYPTION_KEY };
const byHost = { DATABASE_HOST: 'db.test', DATABASE_ENCRYPTION_KEY };

const rows: [error: unknown, environment: Record<string, string>, says: RegExp][] = [
  [
    full,
    { DATA_DIR: '/d' },
    /^no space is left \(SQLITE_FULL.*free space on the disk of DATA_DIR \(\/d\)$/,
  ],
  [full, { DATABASE_URL: 'sqlite:/e/f' }, /free space on the disk of DATABASE_URL \(\/e\/f\)$/],
  [full, byUrl, /the disk of the database server, DATABASE_URL \(127\.0\.0\.1:1\)$/],
  [
    Object.assign(new Error('SQLITE_CORRUPT: malformed'), { code: 'SQLITE_CORRUPT' }),
    { DATA_DIR: '/d' },
    /^the database is damaged, or the file is not a database \(SQLITE_CORRUPT.*move \/d\/postern\.sqlite away with its -wal and -shm.*DATA_DIR \(\/d\)$/,
  ],
  [full, byHost, /the disk of the database server, DATABASE_HOST \(db\.test\)$/],
  [
    Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    byHost,
    /^the database cannot be used \(connect\); look at DATABASE_HOST \(db\.test\), DATABASE_PORT \(3306\)/,
  ],
  ...[
    'ER_OPTION_PREVENTS_STATEMENT',
    'ER_READ_ONLY_MODE',
    'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  ].map((code): [error: unknown, environment: Record<string, string>, says: RegExp] => [
    Object.assign(new Error('refused'), { code }),
    byHost,
    /^the database is read-only \(refused\).*name the primary in DATABASE_HOST \(db\.test\)/,
  ]),
  [
    Object.assign(new Error('EACCES'), { code: 'EACCES', path: '/d/encryption.key' }),
    { DATA_DIR: '/d' },
    /look at DATA_DIR \(\/d\)$/,
  ],
  [
    Object.assign(new Error('EROFS'), { code: 'EROFS', path: '/d/postern.sqlite' }),
    { DATA_DIR: '/d' },
    /^the file of the database cannot be written \(EROFS\); its disk is mounted read-only: .*DATA_DIR \(\/d\)$/,
  ],
  [
    Object.assign(new Error('EPERM'), { code: 'EPERM', path: '/e/f' }),
    { DATABASE_URL: 'sqlite:/e/f' },
    /^the file of the database cannot be written \(EPERM\); .*chown USER \/e\/f; .*DATABASE_URL/,
  ],
  [
    new DatabaseError(
      Object.assign(new Error('SQLITE_READONLY: attempt to write'), {
        code: 'SQLITE_READONLY',
        sql: '',
      }),
    ),
    { DATA_DIR: '/d' },
    /^the file of the database cannot be written .*chown USER \/d\/postern\.sqlite/,
  ],
  [
    Object.assign(new Error('EACCES'), { code: 'EACCES', path: '/dev/x' }),
    { DATA_DIR: '/d' },
    /^EACCES$/,
  ],
  [new Error('there is no user a@b'), {}, /^there is no user a@b$/],
  ['text', {}, /^text$/],
  [null, {}, /^null$/],
];
for (const [i, [error, environment, says]] of rows.entries())
  test(`an error and where to look for its fix, row ${i + 1}`, (t) => {
    t.regex(sayError(error, configOf(environment)), says);
  });

test('a disk that fails is one without room, where that is known', (t) => {
  const error = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
  const say = (bytes: number | null): string =>
    sayError(error, configOf({ DATA_DIR: '/d' }), () => bytes);
  // All that SQLite says where there is no room to open a file.
  const full = 'no space is left (disk I/O error); free space on the disk of DATA_DIR (/d)';
  const other = 'the database cannot be used (disk I/O error); look at DATA_DIR (/d)';
  t.deepEqual([0, 65_535, 65_536, null].map(say), [full, full, other, other]);
});

test('a file that cannot be opened, and a server that is not there, name their setting', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-error-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'text'), 'this is no database, and long enough to be seen as none');
  for (const [url, name] of [
    ['sqlite:/dev/null/x.sqlite', '/dev/null/x.sqlite'],
    [`sqlite:${folder}/folder`, `${folder}/folder`],
    [`sqlite:${folder}/text`, `${folder}/text`],
    [byUrl.DATABASE_URL, '127.0.0.1:1'],
  ] as const) {
    const error = await t.throwsAsync(connectDatabase({ url, encryptionKey }));
    const said = sayError(error, configOf({ ...byUrl, DATABASE_URL: url }));
    const isText = name.endsWith('/text');
    const what = isText
      ? 'the database is damaged, or the file is not a database ('
      : 'the database cannot be used (';
    t.true(said.startsWith(what), said);
    t.true(said.endsWith(` DATABASE_URL (${name})`), said);
    t.is(said.includes(`move ${name} away`), isText, said);
    t.false(said.includes('hunter2'));
  }
});
