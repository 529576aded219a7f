// Restoring: every table equal on either database, all or nothing, and what is refused.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { emailLook, migrate, readDevices, restoreBackup } from '../../../models/index.ts';
import { EncryptionKeyError } from '../../../models/storage/encryption.ts';
import { BackupError } from '../../../models/backup/format.ts';
import { DatabaseTooNewError } from '../../../models/migrations/index.ts';
import { GatewayRunsError } from '../../../models/queries/gateways.ts';
import { type Migration, migrations } from '../../../models/migrations/index.ts';
import { KEY, loadReleased } from '../migrations/released-databases.ts';
import { addColumn } from '../../../models/migrations/schema.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import {
  backupFile,
  fillDatabase,
  linesByTable,
  rawRows,
  scratchFolder,
} from '../../support/database/full-database.ts';
import { beat, enterGateway, startBeating } from '../../support/database/heartbeat.ts';
import { addDevice, addUser } from '../fixtures.ts';

const kinds = databaseKinds();

for (const from of kinds)
  for (const to of kinds)
    test(`${from} to ${to}: every table is equal afterwards, and on the way back`, async (t) => {
      const place = await makePlace(t, from);
      const source = await openAt(t, place);
      await migrate(source);
      await fillDatabase(source);
      const file = await backupFile(t, source);
      const target = await openAt(t, { ...(await makePlace(t, to)), ...keyOf(place) });
      const options = { replace: false, scratch: scratchFolder(t), watchMs: 0 };
      const restored = await restoreBackup(target, file, options);
      const again = await backupFile(t, target);
      t.deepEqual(linesByTable(again), linesByTable(file));
      t.is(restored.rows, Object.values(linesByTable(file)).flat().length);
      t.true(restored.rows > 50);
      await migrate(target);
      const back = await openAt(t, { ...(await makePlace(t, from)), ...keyOf(place) });
      await restoreBackup(back, again, options);
      t.deepEqual(await rawRows(back), await rawRows(source));
      t.deepEqual(
        (await readDevices(back)).map(({ preshared_key }) => preshared_key),
        ['secret 0', 'secret 1', 'secret 2'],
      );
    });

function keyOf({ encryptionKey }: { encryptionKey: Buffer }) {
  return { encryptionKey };
}

for (const kind of kinds) {
  test(`${kind}: what is there is replaced only when that is said, and then whole`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    await migrate(source);
    const user = await addUser(source);
    await addDevice(source, user);
    const file = await backupFile(t, source);
    await addDevice(source, user);
    await addUser(source);
    const before = await rawRows(source);
    const options = { replace: false, scratch: scratchFolder(t), watchMs: 0 };
    await t.throwsAsync(restoreBackup(source, file, options), {
      instanceOf: BackupError,
      message: /not empty.*nothing was changed.*--replace/,
    });
    t.deepEqual(await rawRows(source), before);
    let calls = 0;
    const beforeReplacing = async () => void (calls += 1);
    await restoreBackup(source, file, { ...options, replace: true, beforeReplacing });
    t.is(calls, 1);
    t.deepEqual(linesByTable(await backupFile(t, source)), linesByTable(file));
    await addDevice(source, user);
    t.is((await readDevices(source)).length, 2);
  });

  test(`${kind}: an error in the middle leaves everything as it was`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    await migrate(source);
    await fillDatabase(source);
    const file = await backupFile(t, source);
    const before = await rawRows(source);
    let inserts = 0;
    source.sequelize.addHook('beforeQuery', ({ type }) => {
      inserts += Number(type === 'INSERT');
      if (inserts === 15) throw new Error('pulled out');
    });
    const options = { replace: true, scratch: scratchFolder(t), watchMs: 0 };
    await t.throwsAsync(restoreBackup(source, file, options), { message: 'pulled out' });
    t.deepEqual(await rawRows(await openAt(t, place)), before);
  });

  test(`${kind}: damaged files are found out before anything is touched`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    await migrate(source);
    await fillDatabase(source);
    const file = await backupFile(t, source);
    const whole = readFileSync(file);
    const before = await rawRows(source);
    const options = { replace: true, scratch: scratchFolder(t), watchMs: 0 };
    const beforeReplacing = async () => t.fail('nothing may be replaced');
    const trailer = whole.lastIndexOf(10, whole.length - 2) + 1;
    const cuts = [0, 1, 100, Math.floor(whole.length / 2), trailer, trailer + 9, whole.length - 1];
    for (const cut of cuts) {
      writeFileSync(file, whole.subarray(0, cut));
      await t.throwsAsync(
        restoreBackup(source, file, { ...options, beforeReplacing }),
        { instanceOf: BackupError },
        `cut at ${cut}`,
      );
    }
    // The last letter of the seal's base64 has bits that mean nothing to a decoder.
    const seal = whole.indexOf('"}', trailer) - 1;
    t.is(whole.toString('utf8', seal, seal + 3), '="}');
    const chosen = [1, 2, 3].flatMap((back) => [0, 1, 2, 3].map((bit) => [seal - back, bit]));
    const random = Array.from({ length: 50 }, () => [
      Math.floor(Math.random() * whole.length),
      Math.floor(Math.random() * 8),
    ]);
    for (const [at, bit] of [...chosen, ...random] as [number, number][]) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ (1 << bit);
      writeFileSync(file, changed);
      const error = await t.throwsAsync(
        restoreBackup(source, file, { ...options, beforeReplacing }),
        undefined,
        `changed at ${at}`,
      );
      const named = [BackupError, EncryptionKeyError, DatabaseTooNewError];
      t.true(
        named.some((one) => error instanceof one),
        `${at}: ${error}`,
      );
    }
    writeFileSync(file, Buffer.concat([whole, Buffer.from('{}\n')]));
    await t.throwsAsync(restoreBackup(source, file, options), { message: /follows its trailer/ });
    t.deepEqual(await rawRows(source), before);
  });

  test(`${kind}: a backup under another key is refused, and which one is said`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    await migrate(source);
    await fillDatabase(source);
    const file = await backupFile(t, source);
    const target = await openAt(t, await makePlace(t, kind));
    const options = { replace: false, scratch: scratchFolder(t), watchMs: 0 };
    const { keyId: wanted } = source.keyring;
    const { keyId: given } = target.keyring;
    await t.throwsAsync(restoreBackup(target, file, options), {
      instanceOf: EncryptionKeyError,
      message: new RegExp(`made with encryption key ${wanted}, the given key is ${given}\\. Use`),
    });
    // With both, it is taken, and the database it makes opens with both as well.
    const both = await openAt(t, await makePlace(t, kind), {
      encryptionKey: randomBytes(32),
      olderEncryptionKeys: [place.encryptionKey],
    });
    await restoreBackup(both, file, options);
    t.is((await readDevices(both))[0]?.preshared_key, 'secret 0');
  });

  test(`${kind}: a file that a stranger wrote anew is refused, checksum or not`, async (t) => {
    const { createHash } = await import('node:crypto');
    const source = await openAt(t, await makePlace(t, kind));
    await migrate(source);
    await addUser(source, { email: 'honest@b.example' });
    const file = await backupFile(t, source);
    const lines = readFileSync(file, 'utf8').replace('honest@', 'strange@').trimEnd().split('\n');
    const trailer = JSON.parse(lines.pop() as string) as object;
    const body = lines.map((line) => `${line}\n`).join('');
    const sha256 = createHash('sha256').update(body).digest('hex');
    writeFileSync(file, `${body}${JSON.stringify({ ...trailer, sha256 })}\n`);
    const options = { replace: true, scratch: scratchFolder(t), watchMs: 0 };
    await t.throwsAsync(restoreBackup(source, file, options), {
      instanceOf: BackupError,
      message: /did not have the encryption key/,
    });
  });

  test(`${kind}: a backup of an earlier schema is brought up, and scratch goes`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    await migrate(source, { checksKey: false });
    await fillDatabase(source);
    const file = await backupFile(t, source);
    const target = await openAt(t, { ...(await makePlace(t, kind)), ...keyOf(place) });
    const scratch = scratchFolder(t);
    const later: Migration = {
      name: '9999-later',
      up: async (database) => {
        await addColumn(database, 'users', 'nickname', { type: 'VARCHAR(255)', allowNull: true });
        await database.sequelize.query('UPDATE users SET nickname = email');
      },
    };
    const known = [...migrations, later];
    const options = { replace: false, scratch, watchMs: 0, migrations: known };
    const { schema } = await restoreBackup(target, file, options);
    t.is(schema, migrations.at(-1)?.name ?? '');
    t.deepEqual(readdirSync(scratch), []);
    await migrate(source, { migrations: known, checksKey: false });
    t.deepEqual(await rawRows(target), await rawRows(source));
    const [row] = (await rawRows(target))['users'] as { nickname: string; email: string }[];
    t.is(row?.nickname, row?.email);
  });

  for (const number of ['0010', '0019'])
    test(`${kind}: a backup of ${number}, between two releases, is restored`, async (t) => {
      const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
      await loadReleased(place.url, number, kind);
      const source = await openAt(t, place);
      const file = await backupFile(t, source);
      t.regex(readFileSync(file, 'utf8'), new RegExp(`^\\{[^\n]*,"${number}-[^"]*"\\]`));
      const target = await openAt(t, { ...(await makePlace(t, kind)), encryptionKey: KEY });
      const scratch = scratchFolder(t);
      await restoreBackup(target, file, { replace: false, scratch, watchMs: 0 });
      t.deepEqual(readdirSync(scratch), []);
      await migrate(source);
      const { migrations: _steps, ...restored } = await rawRows(target);
      const { migrations: _others, ...wanted } = await rawRows(source);
      t.deepEqual(restored, wanted);
      const looks = restored['users'] as { email: string; email_look: string }[];
      for (const { email, email_look: look } of looks) t.is(look, emailLook(email));
      t.true(looks.length > 0);
    });

  test(`${kind}: a backup of before 1.0.0 is restored`, async (t) => {
    const encryptionKey = Buffer.alloc(32, 7);
    const target = await openAt(t, { ...(await makePlace(t, kind)), encryptionKey });
    const file = join(import.meta.dirname, 'before-1.0.0.backup');
    t.regex(
      readFileSync(file, 'utf8'),
      /"schema":\["0001-first-tables",.*"0015-gateway-settings"\]/,
    );
    const options = { replace: false, scratch: scratchFolder(t), watchMs: 0 };
    await restoreBackup(target, file, options);
    const again = linesByTable(await backupFile(t, target));
    const before = linesByTable(file);
    // Tables that later versions added are there, and empty.
    const added = Object.keys(again).filter((name) => !(name in before));
    // Columns that later versions added are at the end, and have their defaults.
    const look = (line: string): string => emailLook(String((JSON.parse(line) as unknown[])[1]));
    const grown = Object.entries({
      rules: ',null,true,null,null,null,null,true]',
      configurations: ',false,null,null,null,false]',
      users: (line: string) => `,null,null,null,null,"${look(line)}",null,null]`,
      identities: ',null]',
      devices: ',null,null,null,null]',
      device_statuses: ',null]',
      gateways: ',null,null,null,null]',
      api_tokens: ',"admin"]',
      audit_entries: ',null,null,null]',
    }).map(([name, columns]) => {
      const lines = before[name] ?? [];
      t.true(lines.length > 0, name);
      const added = typeof columns === 'string' ? () => columns : columns;
      return [name, lines.map((line) => line.replace(/]$/, added(line)))];
    });
    t.deepEqual(again, {
      ...before,
      ...Object.fromEntries(grown),
      ...Object.fromEntries(added.map((name) => [name, []])),
    });
    t.true((await readDevices(target)).every(({ preshared_key }) => preshared_key?.length === 44));
  });

  test(`${kind}: a backup of a later schema is refused`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    const later = { name: '9999-later', up: async () => undefined };
    await migrate(source, { migrations: [...migrations, later] });
    const file = await backupFile(t, source);
    const target = await openAt(t, { ...(await makePlace(t, kind)), ...keyOf(place) });
    const options = { replace: false, scratch: scratchFolder(t), watchMs: 0 };
    await t.throwsAsync(restoreBackup(target, file, options), {
      instanceOf: DatabaseTooNewError,
      message: /later version of Postern \(9999-later\)/,
    });
  });

  test(`${kind}: a gateway that runs is noticed, before and during; one that stopped is not`, async (t) => {
    const place = await makePlace(t, kind);
    const source = await openAt(t, place);
    await migrate(source);
    const id = await enterGateway(source);
    const file = await backupFile(t, source);
    const options = { replace: true, scratch: scratchFolder(t), watchMs: 600 };
    const beating = startBeating(t, source, id);
    await t.throwsAsync(restoreBackup(source, file, options), {
      instanceOf: GatewayRunsError,
      message: new RegExp(`A gateway runs on this database \\(${id}\\).*stop all gateways`),
    });
    await beating.stop();
    await beat(source, id);
    await t.notThrowsAsync(restoreBackup(source, file, options));
    // One that starts once the look is over has the last word.
    await addUser(source);
    const other = await openAt(t, place);
    const before = await rawRows(source);
    const beforeReplacing = () => beat(other, id);
    const refused = { instanceOf: GatewayRunsError };
    await t.throwsAsync(restoreBackup(source, file, { ...options, beforeReplacing }), refused);
    t.deepEqual({ ...(await rawRows(source)), gateways: [] }, { ...before, gateways: [] });
  });
}
