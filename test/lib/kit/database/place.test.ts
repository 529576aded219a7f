// Where a SQLite database is by each way to set one, and what is free on a disk.

import test from 'ava';
import {
  databaseFile,
  defaultDatabaseFile,
  missingDatabase,
  roomOf,
  setAsService,
} from '../../../../lib/kit/database/place.ts';

const rows: [set: object, file: string | null][] = [
  [{}, '/data/postern.sqlite'],
  [{ databaseUrl: 'sqlite:/srv/a.sqlite' }, '/srv/a.sqlite'],
  [{ databaseUrl: 'sqlite:./a.sqlite' }, './a.sqlite'],
  [{ databaseUrl: 'sqlite::memory:' }, null],
  [{ databaseUrl: 'mysql://u:p@db/postern' }, null],
  [{ databaseHost: 'db' }, null],
];
for (const [set, file] of rows)
  test(`${JSON.stringify(set)} is ${file ?? 'no file'}`, (t) => {
    const config = { databaseHost: null, databaseUrl: null, dataDir: '/data', ...set };
    t.is(databaseFile(config), file);
  });

test('the file that no setting names is in DATA_DIR', (t) => {
  t.is(defaultDatabaseFile({ dataDir: 'data' }), 'data/postern.sqlite');
});

test('a database that is not there is missing, and a server is not looked for', (t) => {
  const config = { databaseHost: null, databaseUrl: null, dataDir: '/nowhere' };
  t.deepEqual(missingDatabase(config), { place: 'in /nowhere', setting: 'DATA_DIR' });
  const named = { ...config, databaseUrl: 'sqlite:/dev/null/x' };
  t.deepEqual(missingDatabase(named), { place: 'at /dev/null/x', setting: 'DATABASE_URL' });
  t.is(missingDatabase({ ...config, databaseUrl: `sqlite:${import.meta.filename}` }), null);
  t.is(missingDatabase({ ...config, databaseHost: 'db' }), null);
});

test('a command whose shell does not name a folder is shown that of the service', (t) => {
  const there = import.meta.dirname;
  t.is(
    setAsService({ dataDir: './data' }, there),
    `the service of this host has its data in ${there}: set DATA_DIR=${there}, and the settings of the service`,
  );
  t.is(setAsService({ dataDir: './data' }, '/nowhere/at/all'), null);
  t.is(setAsService({ dataDir: '/srv/data' }, there), null);
});

test('nobody knows how much room there is in a folder that is not there', (t) => {
  t.true((roomOf('/') ?? -1) >= 0);
  t.is(roomOf('/nowhere/at/all'), null);
});
