// Errors: which unique column it was, the same on both databases; whether trying again may help.

import { closeSync, openSync, writeSync } from 'node:fs';
import test from 'ava';
import { ConnectionAcquireTimeoutError, DatabaseError, QueryTypes } from 'sequelize';
import {
  describeDatabaseError,
  isDatabaseAway,
  isDatabaseDamaged,
  isDatabaseFull,
  migrate,
} from '../../../models/index.ts';
import { uniqueColumn } from '../../../models/database/errors.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addDevice, addToken, addUser, deviceValues, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: the unique column that refused a value is named`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Device, ApiToken } = database.models;
    // Values with the words of the messages in them must not confuse.
    const user = await addUser(database, { email: "for key 'x'@UNIQUE constraint failed: a.b" });
    const device = await addDevice(database, user, {
      name: "it's-a, b for key 'name'",
      ipv4: '100.64.0.2',
      ipv6: 'fd00::2',
    });
    const token = await addToken(database, user);
    const create = async (values: object): Promise<unknown> =>
      t.throwsAsync(
        write(database, (transaction) =>
          Device.create({ ...deviceValues(user.id), ...values }, { transaction }),
        ),
      );
    t.is(uniqueColumn(await create({ name: device.name })), 'name');
    t.is(uniqueColumn(await create({ public_key: device.public_key })), 'public_key');
    t.is(uniqueColumn(await create({ ipv4: device.ipv4 })), 'ipv4_key');
    t.is(uniqueColumn(await create({ ipv6: device.ipv6 })), 'ipv6_key');
    t.is(
      uniqueColumn(
        await t.throwsAsync(
          write(database, (transaction) =>
            Device.create({ id: device.id, ...deviceValues(user.id) }, { transaction }),
          ),
        ),
      ),
      'id',
    );
    t.is(uniqueColumn(await t.throwsAsync(addUser(database, { email: user.email }))), 'email_key');
    const { user_id, name, sha256 } = token;
    const again = write(database, (transaction) =>
      ApiToken.create({ user_id, name, sha256 }, { transaction }),
    );
    t.is(uniqueColumn(await t.throwsAsync(again)), 'sha256');
    const bulk = write(database, (transaction) =>
      User.bulkCreate([{ email: user.email }], { transaction }),
    );
    t.is(uniqueColumn(await t.throwsAsync(bulk)), 'email_key');
  });
}

test('another error is about no unique column', (t) => {
  for (const error of [new Error('UNIQUE constraint failed: users.email_key'), null, 'text'])
    t.is(uniqueColumn(error), null);
});

const full: [title: string, fields: object][] = [
  ['a full disk under SQLite', { code: 'SQLITE_FULL' }],
  ['a full disk under MySQL', { code: 'ER_DISK_FULL', errno: 1021 }],
  ['a full table', { code: 'ER_RECORD_FILE_FULL', errno: 1114 }],
  [
    'a full disk under MySQL’s files',
    { errno: 3, message: 'Error writing file \'/tmp/x\' (Errcode: 28 "No space left on device")' },
  ],
  [
    'a full disk under MySQL’s engine',
    { errno: 1030, message: 'Got error 28 "No space left on device" from storage engine InnoDB' },
  ],
];
for (const [title, fields] of full)
  test(`${title} is a database that is away, and full`, (t) => {
    t.true(isDatabaseAway(driverError(fields)));
    t.true(isDatabaseFull(driverError(fields)));
  });

for (const code of [
  // A Galera node that is not, or no longer, part of its cluster refuses every statement so.
  'ER_UNKNOWN_COM_ERROR',
  'SQLITE_IOERR',
  'SQLITE_IOERR_WRITE',
  'SQLITE_READONLY',
  'SQLITE_READONLY_DBMOVED',
  'SQLITE_CANTOPEN',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
])
  test(`${code} is a database that is away, but not full`, (t) => {
    t.is(isDatabaseDamaged(driverError({ code })), /CORRUPT|NOTADB/.test(code));
    t.true(isDatabaseAway(driverError({ code })));
    t.false(isDatabaseFull(driverError({ code })));
  });

test('a file system that is full is recognised as well', (t) => {
  t.true(isDatabaseFull(Object.assign(new Error('no'), { code: 'ENOSPC' })));
  t.false(isDatabaseFull(driverError({ code: 'SQLITE_CONSTRAINT', errno: 3 })));
  t.false(isDatabaseAway(driverError({ code: 'SQLITE_CONSTRAINT' })));
});

function driverError(fields: object): Error {
  return new DatabaseError(Object.assign(new Error('no'), { sql: '' }, fields));
}

test('a database that is away or busy is distinguished from a mistake', (t) => {
  const driver = (fields: object): Error =>
    new DatabaseError(Object.assign(new Error('no'), { sql: '' }, fields));
  t.true(isDatabaseAway(new ConnectionAcquireTimeoutError(new Error('no'))));
  t.true(isDatabaseAway(driver({ code: 'PROTOCOL_CONNECTION_LOST' })));
  t.true(isDatabaseAway(driver({ code: 'SQLITE_BUSY' })));
  t.true(isDatabaseAway(driver({ errno: 1205 })));
  t.true(isDatabaseAway(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })));
  t.false(isDatabaseAway(driver({ code: 'ER_PARSE_ERROR' })));
  t.false(isDatabaseAway(new TypeError('a mistake')));
});

test('a file that was overwritten is a damaged database', async (t) => {
  const place = await makePlace(t, 'sqlite');
  const before = await openAt(t, place);
  await migrate(before);
  const [root] = await before.sequelize.query<{ at: number; size: number }>(
    "SELECT (rootpage - 1) * page_size AS at, page_size AS size FROM sqlite_master, pragma_page_size WHERE name = 'users'",
    { type: QueryTypes.SELECT },
  );
  await before.close();
  const file = openSync(place.url.slice('sqlite:'.length), 'r+');
  writeSync(file, Buffer.alloc(root?.size ?? 0, 0xff), 0, null, root?.at);
  closeSync(file);
  const database = await openAt(t, place);
  const error = await t.throwsAsync(database.models.User.findAll());
  t.true(isDatabaseDamaged(error));
  t.deepEqual(describeDatabaseError(error), {
    code: 'SQLITE_CORRUPT',
    message: 'SQLITE_CORRUPT: database disk image is malformed',
    statement: 'SELECT FROM users',
  });
});

const SECRET = 'ann@b.example';
const described: [says: string, fields: object, message: string, statement: string | null][] = [
  [
    'an error of the disk',
    { code: 'SQLITE_IOERR', message: 'SQLITE_IOERR: disk I/O error', sql: 'COMMIT;' },
    'SQLITE_IOERR: disk I/O error',
    'COMMIT',
  ],
  [
    'a value that is taken, in SQLite',
    {
      code: 'SQLITE_CONSTRAINT',
      message: 'SQLITE_CONSTRAINT: UNIQUE constraint failed: users.email_key',
      sql: 'INSERT INTO `users` (`id`,`email`) VALUES ($1,$2);',
    },
    'SQLITE_CONSTRAINT: UNIQUE constraint failed: users.email_key',
    'INSERT INTO users',
  ],
  [
    'a value that is taken, in MySQL',
    {
      code: 'ER_DUP_ENTRY',
      message: `Duplicate entry '${SECRET}' for key 'users_email_key'`,
      sql: `INSERT INTO users (email) VALUES ('it\\'s from ${SECRET}')`,
    },
    'ER_DUP_ENTRY: Duplicate entry …',
    'INSERT INTO users',
  ],
  [
    'an apostrophe inside a word',
    {
      code: 'ER_ACCESS_DENIED_ERROR',
      message: `Column count doesn't match value count near "${SECRET}"`,
      sql: `SELECT '${SECRET} FROM ${SECRET}' FROM users`,
    },
    "ER_ACCESS_DENIED_ERROR: Column count doesn't match value count near …",
    'SELECT',
  ],
  [
    'a quotation right behind a word',
    { code: 'ER_DUP_ENTRY', message: `键'users_email_key'的条目'${SECRET}'重复`, sql: 'COMMIT' },
    'ER_DUP_ENTRY: 键…',
    'COMMIT',
  ],
  ['nothing but a code', { code: 'ECONNREFUSED', message: '' }, 'ECONNREFUSED', null],
  [
    'a deletion',
    { message: 'no', sql: 'DELETE FROM "devices" WHERE id = $1' },
    'no',
    'DELETE FROM devices',
  ],
  [
    'a statement with a common table',
    { message: 'no', sql: 'WITH a AS (SELECT 1) UPDATE\n rules SET x = 1' },
    'no',
    'WITH UPDATE rules',
  ],
];
for (const [says, fields, message, statement] of described)
  test(`what may be said of an error: ${says}`, (t) => {
    const said = describeDatabaseError(driverError({ sql: undefined, ...fields }));
    t.like(said, { message, statement });
    t.false(JSON.stringify(said).includes(SECRET));
  });

test('an error of another kind is not described', (t) => {
  for (const error of [new Error('no'), Object.assign(new Error('no'), { code: 'EACCES' }), null])
    t.is(describeDatabaseError(error), null);
});
