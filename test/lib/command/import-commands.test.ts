// The commands `import …`: where they read, and what they print.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parseCommandLine } from '../../../lib/command/cli.ts';
import type { Outcome } from '../../../lib/command/run.ts';
import { importCommands } from '../../../lib/command/import-commands.ts';
import { type Database, newId } from '../../../models/index.ts';
import { addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { rawRows, scratchFolder } from '../../support/database/full-database.ts';
import { configOf, newKey } from '../../support/api/server.ts';

async function runLine(database: Database, line: string, stdin = ''): Promise<Outcome> {
  const parsed = parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  const run = importCommands[parsed.command.words];
  if (run === undefined) throw new Error(`no such command: ${line}`);
  return run(configOf(), database, parsed.command, async () => stdin);
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
  test(`${kind}: a trial writes nothing, and an import with a fault writes nothing either`, async (t) => {
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
      message: /^one fault, and nothing was written/,
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
