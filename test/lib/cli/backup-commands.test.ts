// The commands `backup` and `restore`: what they print and what they change.

import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { backUpBefore } from '../../../lib/installation/backups/automatic.ts';
import { backupCommands } from '../../../lib/cli/backup-commands.ts';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { type Database, migrate, readDevices } from '../../../models/index.ts';
import { EncryptionKeyError } from '../../../models/storage/encryption.ts';
import { DatabaseTooNewError } from '../../../models/migrations/index.ts';
import { migrations } from '../../../models/migrations/index.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, makePlace, openAt, type Place } from '../../support/database/databases.ts';
import { scratchFolder } from '../../support/database/full-database.ts';
import { configOf } from '../../support/api/server.ts';

async function runLine(database: Database, folder: string, line: string): Promise<Outcome> {
  const parsed = await parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  const run = backupCommands[parsed.command.words];
  if (run === undefined) throw new Error(`no such command: ${line}`);
  return run(configOf({ DATA_DIR: folder }), database, parsed.command);
}

for (const kind of databaseKinds()) {
  test(`${kind}: a backup says what it holds and which key it needs`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database);
    await addDevice(database, await addUser(database));
    const folder = scratchFolder(t);
    const file = join(folder, 'a.backup');
    const { text, data, note } = await runLine(database, folder, `backup ${file}`);
    t.regex(text, /a\.backup holds \d+ rows: 1 users, 1 devices, 0 rules/);
    t.is(note, undefined);
    t.like(data, { keys: [database.keyring.keyId] });
    t.true(text.includes(`encryption key ${database.keyring.keyId} alone`));
    t.like(data, { file, key: database.keyring.keyId, counts: { users: 1, devices: 1 } });
    await t.throwsAsync(runLine(database, folder, `backup ${file}`), {
      message: /is there already/,
    });
  });

  test(`${kind}: a backup is written to a named file, not to a stream`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database);
    const folder = scratchFolder(t);
    await t.throwsAsync(runLine(database, folder, 'backup -'), { message: /name one, not "-"/ });
    t.false(existsSync('-'));
  });

  test(`${kind}: a restore that replaces a database keeps the former one as a backup`, async (t) => {
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

  test(`${kind}: no backup is made with another key than that of the database`, async (t) => {
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

  test(`${kind}: in the middle of a key rotation a backup names both keys, and needs both`, async (t) => {
    const { place, next, present } = await interruptedRotation(t, kind);
    const keys = [present.keyring.keyId, next.keyring.keyId];
    const before = await readDevices(present);
    const folder = scratchFolder(t);
    const file = join(folder, 'a.backup');
    const { text, data, note } = await runLine(present, folder, `backup ${file}`);
    t.regex(text, new RegExp(`Its secrets need all of the encryption keys ${keys.join(', ')}\\.`));
    t.like(data, { key: keys[0], keys });
    t.regex(note ?? '', /Finish it \(stop the gateway, then: npm run -s postern -- keys rotate\)/);

    const first = { ...(await makePlace(t, kind)), encryptionKey: place.encryptionKey };
    await t.throwsAsync(runLine(await openAt(t, first), folder, `restore ${file}`), {
      instanceOf: EncryptionKeyError,
      message: new RegExp(
        `needs all of the encryption keys ${keys.join(', ')}; not given: ${keys[1]}\\.`,
      ),
    });
    const both = await openAt(t, first, { olderEncryptionKeys: [place.nextKey] });
    const restored = await runLine(both, folder, `restore ${file}`);
    t.deepEqual(
      (await readDevices(both)).map(({ preshared_key }) => preshared_key),
      before.map(({ preshared_key }) => preshared_key),
    );
    t.like(restored.data, { keys: keys.toSorted(), replaced: null });
    t.regex(restored.note ?? '', new RegExp(`need encryption key ${keys[1]} besides`));
  });

  test(`${kind}: a secret under a lost key is reported at every backup`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database);
    const device = await addDevice(database, await addUser(database));
    await database.sequelize.query(
      `UPDATE devices SET preshared_key = '1:0badc0de:AAAA' WHERE id = '${device.id}'`,
    );
    const folder = scratchFolder(t);
    const { text, note } = await runLine(database, folder, `backup ${join(folder, 'a.backup')}`);
    t.regex(text, /keys [0-9a-f]{8}, 0badc0de \(not known here: 0badc0de\)/);
    t.regex(note ?? '', /cannot be restored without it/);
  });

  test(`${kind}: a rescue replaces a database whose key is lost, and says which key opens it`, async (t) => {
    const lost = await makePlace(t, kind);
    const before = await openAt(t, lost);
    await migrate(before);
    await addDevice(before, await addUser(before, { email: 'before@b.example' }));
    const good = await makePlace(t, kind);
    const source = await openAt(t, good);
    await migrate(source);
    await addUser(source, { email: 'rescued@b.example' });
    const folder = scratchFolder(t);
    const file = join(folder, 'a.backup');
    await runLine(source, folder, `backup ${file}`);

    const [wanted, given] = [before.keyring.keyId, randomBytes(32)];
    const target = await openAt(
      t,
      { ...lost, encryptionKey: given },
      { olderEncryptionKeys: [good.encryptionKey] },
    );
    const { text, data } = await runLine(target, folder, `restore ${file} --replace`);
    t.is((await target.models.User.findOne())?.email, 'rescued@b.example');
    t.true(
      text.endsWith(
        `Its secrets need all of the encryption keys ${target.keyring.keyId}, ${wanted} ` +
          `(not known here: ${wanted}).`,
      ),
      text,
    );
    const { replaced } = data as { replaced: string };
    // The key was found again.
    const found = await openAt(
      t,
      { ...(await makePlace(t, kind)), encryptionKey: lost.encryptionKey },
      { olderEncryptionKeys: [given] },
    );
    await runLine(found, folder, `restore ${replaced}`);
    t.is((await readDevices(found)).length, 1);
    t.is((await found.models.User.findOne())?.email, 'before@b.example');
  });

  test(`${kind}: a file that is no backup is named, with the reason`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    const folder = scratchFolder(t);
    for (const [operand, message] of [
      ['/nowhere/a', 'there is no file /nowhere/a'],
      ['-', 'a backup is read twice, so it comes from a file: name one, not "-"'],
      [folder, `${folder} is a folder; name the file of a backup`],
      ['/dev/null', '/dev/null is no file that can be read twice; name the file of a backup'],
    ] as const)
      await t.throwsAsync(runLine(database, folder, `restore ${operand}`), { message });
  });

  // "Later" is a step that this version does not know, as after an upgrade.
  test(`${kind}: an earlier version can be used again with an empty database`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await addUser(database, { email: 'ann@b.example' });
    const folder = scratchFolder(t);
    let saved = '';
    const beforeUpgrade = async () => {
      const config = configOf({ DATA_DIR: folder });
      saved = (await backUpBefore('before-upgrade', config, database)).path;
    };
    const later = { name: '9999-later', up: async () => undefined };
    await migrate(database, { migrations: [...migrations, later], beforeUpgrade });
    const refused = { instanceOf: DatabaseTooNewError, message: /cannot be restored into either/ };
    await t.throwsAsync(runLine(database, folder, `restore ${saved} --replace`), refused);
    const { encryptionKey } = place;
    const empty = await openAt(t, { ...(await makePlace(t, kind)), encryptionKey });
    await runLine(empty, folder, `restore ${saved}`);
    t.is((await empty.models.User.findOne())?.email, 'ann@b.example');
  });
}

/** A database of two devices, one of them under the next key; opened as a start opens it. */
async function interruptedRotation(t: ExecutionContext, kind: Parameters<typeof makePlace>[1]) {
  const place: Place & { nextKey: Buffer } = {
    ...(await makePlace(t, kind)),
    nextKey: randomBytes(32),
  };
  const { encryptionKey, nextKey } = place;
  const present = await openAt(t, place, { olderEncryptionKeys: [nextKey] });
  await migrate(present);
  const user = await addUser(present);
  await addDevice(present, user);
  const next = await openAt(
    t,
    { ...place, encryptionKey: nextKey },
    { olderEncryptionKeys: [encryptionKey] },
  );
  await addDevice(next, user);
  return { place, present, next };
}
