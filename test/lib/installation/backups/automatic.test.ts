// Backups that nobody asked for: where they are, what they are called, how many are kept.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { backUpBefore, KEPT } from '../../../../lib/installation/backups/automatic.ts';
import { restoreBackup } from '../../../../models/index.ts';
import { addUser } from '../../../models/fixtures.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../../support/database/databases.ts';
import { scratchFolder } from '../../../support/database/full-database.ts';
import { configOf } from '../../../support/api/server.ts';
import { migrate } from '../../../../models/index.ts';

for (const kind of databaseKinds())
  test(`${kind}: it is a backup like any other, in DATA_DIR`, async (t) => {
    const folder = scratchFolder(t);
    const config = configOf({ DATA_DIR: folder });
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await addUser(database, { email: 'a@b.example' });
    const { path, keys } = await backUpBefore('before-upgrade', config, database);
    t.deepEqual(keys, [database.keyring.keyId]);
    t.regex(path, /\/before-upgrade-0\d{3}-\d{8}T\d{6}\.\d{3}Z\.backup$/);
    const target = await openAt(t, {
      ...(await makePlace(t, kind)),
      encryptionKey: place.encryptionKey,
    });
    await restoreBackup(target, path, { replace: false, scratch: folder, watchMs: 0 });
    t.is((await target.models.User.findOne())?.email, 'a@b.example');
  });

test('a SQLite file elsewhere has it beside it', async (t) => {
  const folder = scratchFolder(t);
  const config = configOf({
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: `sqlite:${folder}/there/postern.sqlite`,
  });
  mkdirSync(join(folder, 'there'));
  const database = await openDatabase(t, 'sqlite');
  const { path } = await backUpBefore('before-restore', config, database);
  t.true(path.startsWith(join(folder, 'there', 'before-restore-')));
});

test('what killed processes left is removed, and what others write is not', async (t) => {
  const folder = scratchFolder(t);
  const database = await openDatabase(t, 'sqlite');
  const part = (pid: number): string =>
    `before-upgrade-0003-20261121T085900.123Z.backup.${pid}.part`;
  // No process has an id so high.
  for (const name of [part(4_194_305), part(process.pid), part(process.ppid), 'mine.7.part'])
    writeFileSync(join(folder, name), '');
  await backUpBefore('before-upgrade', configOf({ DATABASE_URL: `sqlite:${folder}/p` }), database);
  const left = readdirSync(folder).filter((name) => name.endsWith('.part'));
  t.deepEqual(left.sort(), [part(process.ppid), 'mine.7.part'].sort());
});

test('the oldest give way, and nothing else does', async (t) => {
  const folder = scratchFolder(t);
  const config = configOf({ DATA_DIR: folder });
  const old = Array.from(
    { length: KEPT + 2 },
    (_, i) => `before-${i % 2 ? 'upgrade' : 'restore'}-000${i}-2020010${i}T000000.000Z.backup`,
  );
  const others = ['mine.backup', 'before-upgrade-0001-my-own.backup', 'postern.sqlite'];
  for (const name of [...old, ...others]) writeFileSync(join(folder, name), '');
  const database = await openDatabase(t, 'sqlite');
  const { path } = await backUpBefore('before-upgrade', config, database);
  const left = readdirSync(folder).toSorted();
  const kept = [path.slice(folder.length + 1), ...old.slice(3), ...others];
  t.deepEqual(left, kept.toSorted());
});

test('an upgrade that is tried again and again keeps the backup of the version before', async (t) => {
  const folder = scratchFolder(t);
  const config = configOf({ DATA_DIR: folder });
  const first = 'before-upgrade-0001-20200101T000000.000Z.backup';
  const restored = 'before-restore-0001-20200101T000001.000Z.backup';
  for (const name of [first, restored]) writeFileSync(join(folder, name), '');
  const database = await openDatabase(t, 'sqlite');
  const made: string[] = [];
  for (let i = 0; i <= KEPT; i += 1)
    made.push((await backUpBefore('before-upgrade', config, database)).path);
  // A step may have begun before the second one, so it need not be what the first one is.
  const left = [first, restored, ...[made[0], made.at(-1)].map((path = '') => basename(path))];
  t.deepEqual(readdirSync(folder).toSorted(), left.toSorted());
});

test('where none can be made, the reason says that nothing was changed', async (t) => {
  const config = configOf({ DATA_DIR: '/nowhere' });
  await t.throwsAsync(backUpBefore('before-upgrade', config, await openDatabase(t, 'sqlite')), {
    message:
      /^the backup that comes first could not be made, so nothing was changed: the folder \/nowhere does not exist/,
  });
});
