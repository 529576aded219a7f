// The commands `backup` and `restore`: what they say and what they leave.

import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { backupCommands } from '../../../lib/backups/commands.ts';
import { parseCommandLine } from '../../../lib/cli.ts';
import type { Outcome } from '../../../lib/commands.ts';
import { type Database, EncryptionKeyError, migrate } from '../../../models/index.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, makePlace, openAt } from '../../support/databases.ts';
import { scratchFolder } from '../../support/full-database.ts';
import { configOf } from '../../support/server.ts';

async function runLine(database: Database, folder: string, line: string): Promise<Outcome> {
  const parsed = parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  const run = backupCommands[parsed.command.words];
  if (run === undefined) throw new Error(`no such command: ${line}`);
  return run(configOf({ DATA_DIR: folder }), database, parsed.command);
}

for (const kind of databaseKinds()) {
  test(`${kind}: a backup says what is in it and which key it needs`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database);
    await addDevice(database, await addUser(database));
    const folder = scratchFolder(t);
    const file = join(folder, 'a.backup');
    const { text, data } = await runLine(database, folder, `backup ${file}`);
    t.regex(text, /a\.backup holds \d+ rows: 1 users, 1 devices, 0 rules/);
    t.true(text.includes(`encryption key ${database.keyring.keyId} alone`));
    t.like(data, { file, key: database.keyring.keyId, counts: { users: 1, devices: 1 } });
    await t.throwsAsync(runLine(database, folder, `backup ${file}`), {
      message: /is there already/,
    });
  });

  test(`${kind}: a backup goes to a file with a name, not into a stream`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database);
    const folder = scratchFolder(t);
    await t.throwsAsync(runLine(database, folder, 'backup -'), { message: /name one, not "-"/ });
    t.false(existsSync('-'));
  });

  test(`${kind}: a restore that replaces keeps what was there in a backup`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await addUser(database, { email: 'first@b.example' });
    const folder = scratchFolder(t);
    const file = join(folder, 'a.backup');
    await runLine(database, folder, `backup ${file}`);
    await addUser(database, { email: 'second@b.example' });
    const { text, data } = await runLine(database, folder, `restore ${file} --replace`);
    t.is(await database.models.User.count(), 1);
    const saved = readdirSync(folder).find((name) => name.startsWith('before-restore-'));
    t.true(text.endsWith(`What it held before is in ${join(folder, saved ?? '?')}.`));
    t.like(data, { file, replaced: join(folder, saved ?? '?') });
    await runLine(database, folder, `restore ${join(folder, saved ?? '?')} --replace`);
    t.is(await database.models.User.count(), 2);
  });

  test(`${kind}: a backup is not made with another key than the database has`, async (t) => {
    const place = await makePlace(t, kind);
    const folder = scratchFolder(t);
    await t.throwsAsync(
      runLine(await openAt(t, place), folder, `backup ${join(folder, 'a.backup')}`),
      { message: /nothing to back up/ },
    );
    await migrate(await openAt(t, place));
    const other = await openAt(t, { ...place, encryptionKey: randomBytes(32) });
    await t.throwsAsync(runLine(other, folder, `backup ${join(folder, 'a.backup')}`), {
      instanceOf: EncryptionKeyError,
    });
    t.deepEqual(readdirSync(folder), []);
  });

  test(`${kind}: a file that is not there is named`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await t.throwsAsync(runLine(database, scratchFolder(t), 'restore /nowhere/a'), {
      message: 'there is no file /nowhere/a',
    });
  });
}
