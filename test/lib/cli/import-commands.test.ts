// The commands `import …`: where they read, and what they print.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { AskPerson } from '../../../lib/cli/ask-person.ts';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { importCommands } from '../../../lib/cli/import-commands.ts';
import { type Database, newId, readDevices } from '../../../models/index.ts';
import { addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { rawRows, scratchFolder } from '../../support/database/full-database.ts';
import { configOf, newKey } from '../../support/api/server.ts';

async function runLine(
  database: Database,
  line: string,
  stdin = '',
  person: AskPerson | null = null,
): Promise<Outcome> {
  const parsed = await parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  const run = importCommands[parsed.command.words];
  if (run === undefined) throw new Error(`no such command: ${line}`);
  return run(configOf(), database, parsed.command, async () => stdin, person);
}

for (const kind of databaseKinds())
  test(`${kind}: files and standard input are read, and the output says whether it was a trial`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const file = join(scratchFolder(t), 'wg0.conf');
    const text = `[Interface]\nTable = off\n[Peer]\nPublicKey = ${newKey()}\nAllowedIPs = 100.64.0.9/32\n`;
    writeFileSync(file, text);
    const line = `import wg-quick ${file} --email Ann@b.example`;
    const before = await rawRows(database);
    const trial = await runLine(database, `${line} --dry-run`);
    t.deepEqual(await rawRows(database), before);
    t.is(
      trial.text,
      '1 device: could be taken over; nothing was written.\n' +
        '  line 2: Table is not taken over; the gateway routes its own networks only',
    );
    t.like(trial.data, { dry_run: true, counts: { devices: 1 } });
    const done = await runLine(database, line);
    t.regex(done.text, /^1 device: taken over\.\n/);
    t.is(await database.models.Device.count(), 1);

    const dump = JSON.stringify({ users: [{ email: 'bob@b.example' }] });
    const { text: said } = await runLine(database, 'import firezone -', dump);
    t.regex(said, /^1 user made, 0 users merged, 0 devices, 0 rules, 0 configurations: taken over/);
    t.is(await database.models.User.count(), 2);
  });

for (const kind of databaseKinds())
  test(`${kind}: programs can read which users existed already`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const dump = { users: [{ email: 'Ann@b.example', role: 'admin' }] };
    const { data, text } = await runLine(database, 'import firezone -', JSON.stringify(dump));
    t.like(data, {
      users_present: [
        { email: 'ann@b.example', differs: { role: { here: 'unprivileged', there: 'admin' } } },
      ],
    });
    t.true(
      text.includes(
        '\n  ann@b.example is there already and stays unprivileged (in the dump admin)',
      ),
    );
  });

for (const kind of databaseKinds())
  test(`${kind}: a trial writes nothing, and an import with an error writes nothing either`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await rawRows(database);
    const dump = {
      users: [{ id: newId(), email: 'bob@b.example' }],
      configuration: { vpn_session_duration: 60 },
    };
    await runLine(database, 'import firezone - --dry-run', JSON.stringify(dump));
    t.deepEqual(await rawRows(database), before);
    const bad = { ...dump, rules: [{ destination: 'nowhere' }] };
    await t.throwsAsync(runLine(database, 'import firezone -', JSON.stringify(bad)), {
      message: /^one error, and nothing was written/,
    });
    t.deepEqual(await rawRows(database), before);
    await runLine(database, 'import firezone -', JSON.stringify(dump));
    const configuration = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.is(configuration.vpn_session_duration, 60);
  });

test('a missing file and a missing user are named', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await t.throwsAsync(runLine(database, 'import firezone /nowhere'), {
    message: /^\/nowhere cannot be read \(.*ENOENT/,
  });
  await t.throwsAsync(runLine(database, 'import wg-quick - --email x@y'), {
    message: /^there is no user x@y; with --create-user the import makes this user$/,
  });
});

for (const kind of databaseKinds())
  test(`${kind}: an import after which nobody can sign in names the command that helps`, async (t) => {
    const database = await openDatabase(t, kind);
    const dump = JSON.stringify({ users: [{ email: 'boss@b.example', role: 'admin' }] });
    const trial = await runLine(database, 'import firezone - --dry-run', dump);
    t.notRegex(trial.text, /no administrator/);
    const { text } = await runLine(database, 'import firezone -', dump);
    t.regex(
      text,
      /no administrator can sign in yet; .* admin create-or-reset --email boss@b\.example$/,
    );
  });

for (const kind of databaseKinds())
  test(`${kind}: the owner of the devices of a wg-quick file is created on request`, async (t) => {
    const database = await openDatabase(t, kind);
    const file = `[Interface]\n[Peer]\nPublicKey = ${newKey()}\nAllowedIPs = 100.64.0.9/32\n`;
    const line = 'import wg-quick - --email Ann@b.example';
    await t.throwsAsync(runLine(database, line, file), {
      message: 'there is no user Ann@b.example; with --create-user the import makes this user',
    });
    await runLine(database, `${line} --create-user --dry-run`, file);
    t.is(await database.models.User.count(), 0);
    const { text } = await runLine(database, `${line} --create-user`, file);
    t.regex(text, /^1 user made, 1 device: taken over\./);
    t.regex(text, /there is no administrator yet; the next start of the gateway makes one/);
    const user = await database.models.User.findOne({ rejectOnEmpty: true });
    t.like(user, { email: 'Ann@b.example', role: 'unprivileged' });
    t.is((await database.models.Device.findOne())?.user_id, user.id);
    const bad = 'import wg-quick - --email ann --create-user';
    await t.throwsAsync(runLine(database, bad, file), {
      message: /--email is invalid email address/,
    });
  });

for (const kind of databaseKinds())
  test(`${kind}: names are printed, and a person at a terminal is asked before`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const peers = ['# phone', ''].map(
      (comment, i) =>
        `${comment}\n[Peer]\nPublicKey = ${newKey()}\nAllowedIPs = 100.64.0.${i + 7}/32\n`,
    );
    const file = `[Interface]\n${peers.join('')}`;
    const line = 'import wg-quick - --email ann@b.example';
    const trial = await runLine(database, `${line} --dry-run`, file);
    t.is(
      trial.text,
      '2 devices: could be taken over; nothing was written.\n  line 3: [Peer] is named phone',
    );
    t.like(trial.data, {
      devices: [
        { place: 'line 3: [Peer]', name: 'phone' },
        { place: 'line 7: [Peer]', name: null },
      ],
    });
    const asked: string[] = [];
    const answer = (isYes: boolean) => async (text: string) => {
      asked.push(text);
      return isYes;
    };
    await t.throwsAsync(runLine(database, line, file, answer(false)), {
      message: 'nothing was taken over, because the answer was no',
    });
    t.is(await database.models.Device.count(), 0);
    t.deepEqual(asked, [
      '  line 3: [Peer] is named phone\nMake these 2 devices for ann@b.example?',
    ]);
    await runLine(database, `${line} --dry-run`, file, answer(false));
    const done = await runLine(database, line, file, answer(true));
    t.regex(done.text, /^2 devices: taken over\.\n {2}line 3: \[Peer\] is named phone/);
    t.is(asked.length, 2);
    const another = `[Interface]\n# desk\n[Peer]\nPublicKey = ${newKey()}\nAllowedIPs = 100.64.0.99/32\n`;
    await runLine(database, `${line} --yes`, another, answer(false));
    t.is(await database.models.Device.count(), 3);
  });

test('wg-easy is read as JSON and as a database', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const folder = scratchFolder(t);
  const json = join(folder, 'wg0.json');
  const client = { name: 'phone', address: '100.64.0.9', publicKey: newKey(), enabled: true };
  writeFileSync(
    json,
    JSON.stringify({
      server: { privateKey: newKey(), address: '100.64.0.1' },
      clients: { a: client },
    }),
  );
  const how = '--email ann@b.example --create-user';
  const { text } = await runLine(database, `import wg-easy ${json} ${how}`);
  t.regex(text, /^1 user made, 1 device: taken over\.\n(?!.*is named)/);
  t.regex(text, /\n {2}set WIREGUARD_IPV4_NETWORK=100\.64\.0\.0\/24\n/);

  const file = join(folder, 'wg-easy.db');
  const opened = new DatabaseSync(file);
  opened.exec(
    `PRAGMA journal_mode = WAL;
     CREATE TABLE interfaces_table (name, port, private_key, ipv4_cidr, ipv6_cidr, mtu);
     INSERT INTO interfaces_table VALUES ('wg0', 51820, '${newKey()}', '100.64.0.0/10', 'fd00::/106', 1280);
     CREATE TABLE clients_table (id, name, ipv4_address, ipv6_address, private_key, public_key,
       pre_shared_key, expires_at, allowed_ips, server_allowed_ips, enabled);
     INSERT INTO clients_table VALUES (1, 'desk', '100.64.0.8', 'fd00::8', 'x', '${newKey()}',
       '${newKey()}', NULL, NULL, '[]', 1)`,
  );
  t.teardown(() => opened.close());
  const second = await runLine(database, `import wg-easy ${file} --email ann@b.example`);
  t.regex(second.text, /^1 device: taken over\.\n(?!.*is named)/);
  t.notRegex(second.text, /-wal/);
  const rows = await readDevices(database);
  t.deepEqual(rows.map(({ name }) => name).toSorted(), ['desk', 'phone']);
});
