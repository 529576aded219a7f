// Backups that are made each night: each is read back, the last ones stay, and gateways learn
// of it.

import { readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import test from 'ava';
import { backUpInto } from '../../../../lib/installation/backups/kept.ts';
import {
  migrate,
  readLastBackup,
  registerGateway,
  restoreBackup,
  type Database,
} from '../../../../models/index.ts';
import { addUser } from '../../../models/fixtures.ts';
import { databaseKinds, makePlace, openAt } from '../../../support/database/databases.ts';
import { scratchFolder } from '../../../support/database/full-database.ts';

const OTHERS = ['before-upgrade-0001-20261121T085900.123Z.backup', 'postern-notes.txt'];

for (const kind of databaseKinds()) {
  test(`${kind}: the last ones stay, and files of others`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await addUser(database);
    const folder = scratchFolder(t);
    for (const name of OTHERS) writeFileSync(join(folder, name), '');
    const files: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const { file, count, deleted } = await backUpInto(database, folder, 2);
      files.push(file);
      t.is(count, Math.min(2, i + 1));
      t.is(deleted.length, i < 2 ? 0 : 1);
    }
    const left = readdirSync(folder).map((name) => join(folder, name));
    const kept = [...files.slice(2), ...OTHERS.map((name) => join(folder, name))];
    t.deepEqual(left.toSorted(), kept.toSorted());
    t.is(statSync(files[3] ?? '').mode & 0o777, 0o600);
    const other = await openAt(t, {
      ...(await makePlace(t, kind)),
      encryptionKey: place.encryptionKey,
    });
    await restoreBackup(other, files[3] ?? '', { replace: false, scratch: folder });
    t.is(await other.models.User.count(), 1);
  });

  test(`${kind}: every gateway learns of a backup that was read back`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database);
    const startedAt = new Date();
    for (const id of ['a', 'b']) await registerGateway(database, { id, name: id, startedAt });
    t.is(await readLastBackup(database), null);
    const folder = scratchFolder(t);
    await t.throwsAsync(backUpInto(cutting(database, folder), folder, 2), {
      message: /damaged|cut short/,
    });
    t.deepEqual(readdirSync(folder), []);
    t.is(await readLastBackup(database), null);
    await backUpInto(database, folder, 2);
    const at = await readLastBackup(database);
    t.true(at !== null && at >= startedAt && at <= new Date(), String(at));
    await registerGateway(database, { id: 'new', name: 'new', startedAt });
    t.deepEqual(await readLastBackup(database), at, 'a gateway that came later knows it too');
  });
}

test('a bad backup deletes none that is good, and what was killed leaves no part', async (t) => {
  const database = await openAt(t, await makePlace(t, 'sqlite'));
  await migrate(database);
  const folder = scratchFolder(t);
  const { file } = await backUpInto(database, folder, 1);
  const part = `${file}.999999999.part`;
  writeFileSync(part, '');
  await t.throwsAsync(backUpInto(cutting(database, folder), folder, 1));
  t.deepEqual(readdirSync(folder), [file.slice(folder.length + 1)]);
});

test('a backup is kept beside those of a clock that was ahead', async (t) => {
  const database = await openAt(t, await makePlace(t, 'sqlite'));
  await migrate(database);
  const folder = scratchFolder(t);
  const { file } = await backUpInto(database, folder, 1);
  renameSync(file, join(folder, 'postern-29990101T000000.000Z.backup'));
  const { file: next, deleted } = await backUpInto(database, folder, 1);
  t.deepEqual(readdirSync(folder), [basename(next)]);
  t.deepEqual(deleted, ['postern-29990101T000000.000Z.backup']);
});

/** The database, with a disk that has lost the end of a new file when that is read back. */
function cutting(database: Database, folder: string): Database {
  const before = new Set(readdirSync(folder));
  return new Proxy(database, {
    get(target, name) {
      // Whoever reads a file asks for the keys first.
      if (name === 'keyring')
        for (const found of readdirSync(folder).filter((file) => file.endsWith('Z.backup')))
          if (!before.has(found)) cut(join(folder, found));
      return Reflect.get(target, name) as unknown;
    },
  });
}

function cut(file: string): void {
  truncateSync(file, statSync(file).size - 10);
}
