// The commands of users and devices: what they make is what the API makes, by the same rules.

import test from 'ava';
import { verifyPassword } from '../../../lib/auth/passwords.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import {
  type Database,
  readAuditEntries,
  readDevices,
  readOrCreateConfiguration,
  readUsers,
} from '../../../models/index.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const runLine = (
  database: Database,
  line: string,
  stdin = '',
  settings: Record<string, string> = {},
): Promise<Outcome> => runTyped(database, line, { stdin, settings });

for (const kind of databaseKinds()) {
  test(`${kind}: users are made with a password of their own, a piped one, or none`, async (t) => {
    const database = await openDatabase(t, kind);
    const find = (email: string) =>
      database.models.User.findOne({ where: { email_key: email }, rejectOnEmpty: true });
    const { text, data, note } = await runLine(database, 'user create --email Ann@b.example');
    t.is(note, 'This is the password of Ann@b.example. Postern shows it only once.');
    const ann = await find('ann@b.example');
    t.like(ann, { email: 'Ann@b.example', role: 'unprivileged' });
    t.true(await verifyPassword(text, String(ann.password_hash)));
    t.like(data, { id: ann.id, email: 'Ann@b.example', password: text });

    const piped = 'user create --email bob@b.example --role admin --password-stdin';
    const said = await runLine(database, piped, 'correct horse battery\n');
    t.is(said.text, 'bob@b.example is made, admin.');
    t.is(said.note, undefined);
    t.false(Object.hasOwn(said.data as object, 'password'));
    const bob = await find('bob@b.example');
    t.true(await verifyPassword('correct horse battery', String(bob.password_hash)));

    await runLine(database, 'user create --email eve@b.example --no-password');
    t.is((await find('eve@b.example')).password_hash, null);
    const [entry] = await readAuditEntries(database, { limit: 1 });
    t.is(entry?.action, 'create');
  });

  test(`${kind}: a user and a device are disabled where the list of providers does not open`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateConfiguration(database);
    const sealed = "UPDATE configurations SET openid_connect_providers = '1:00000000:AAAA'";
    await database.sequelize.query(sealed);
    const user = await addUser(database, { email: 'ann@b.example' });
    const { id } = await addDevice(database, user);
    const { text } = await runLine(database, 'user disable --email ann@b.example');
    t.is(text, 'ann@b.example is disabled.');
    t.regex((await runLine(database, `device disable --id ${id}`)).text, /is switched off/);
    t.not((await readUsers(database))[0]?.disabled_at, null);
    t.not((await readDevices(database))[0]?.disabled_at, null);
  });

  test(`${kind}: what the API refuses of a user is refused here, in words`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const rows: [line: string, stdin: string, message: RegExp][] = [
      ['user create --email ANN@b.example', '', /^email: has already been taken$/],
      [
        'user create --email \uff41nn@b.example',
        '',
        /^email: looks like the address of another user$/,
      ],
      [
        'user create --email ann',
        '',
        /^email: is invalid email address; give --email ann@example\.com$/,
      ],
      [
        'user create --email a@b --role boss',
        '',
        /^role: is invalid; give --role unprivileged\|admin$/,
      ],
      ['user create --email a@b --password-stdin', 'short', /^password: should be at least 12/],
      ['user create --email a@b --password-stdin', '\n', /^standard input held no password$/],
      ['user set-password --email ann@b.example --password-stdin', 'short', /at least 12/],
      ['user set-password --email x@y', '', /^there is no user x@y; see: .* user list, or make/],
    ];
    for (const [line, stdin, message] of rows)
      await t.throwsAsync(runLine(database, line, stdin), { message }, line);
    t.is(await database.models.User.count(), 1);
  });

  test(`${kind}: a password is set, and users are listed under labels`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database, { email: 'ann@b.example' });
    const { text, note } = await runLine(database, 'user set-password --email Ann@b.example');
    t.is(note, 'This is the password of Ann@b.example. Postern shows it only once.');
    const user = await database.models.User.findByPk(id, { rejectOnEmpty: true });
    t.true(await verifyPassword(text, String(user.password_hash)));
    const list = await runLine(database, 'user list');
    t.regex(list.text, /^ID +E-MAIL +ROLE +STATE +LAST SIGN-IN\n/);
    t.regex(list.text, new RegExp(`\n${id} +ann@b\\.example +unprivileged +enabled +never`));
    t.notRegex(JSON.stringify(list.data), /password/);
  });

  test(`${kind}: the list of users names the provider that made an administrator`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { role: 'admin', role_provider: 'oidc/okta' });
    const { text, data } = await runLine(database, 'user list');
    t.regex(text, / admin by oidc\/okta +enabled +never/);
    t.like(data, [{ role_provider: 'oidc/okta' }]);
  });

  test(`${kind}: a role is changed, but the last administrator stays one`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example', role: 'admin' });
    await addUser(database, { email: 'bob@b.example' });
    const role = (email: string, to: string): Promise<Outcome> =>
      runLine(database, `user set-role --email ${email} --role ${to}`);
    await t.throwsAsync(role('ann@b.example', 'unprivileged'), { message: /last administrator/i });
    t.is((await role('Bob@b.example', 'admin')).text, 'Bob@b.example is admin now.');
    await role('ann@b.example', 'unprivileged');
    const users = await readUsers(database);
    t.is(users.find(({ email }) => email === 'ann@b.example')?.role, 'unprivileged');
    await t.throwsAsync(role('ann@b.example', 'boss'), {
      message: 'role: is invalid; give --role unprivileged|admin',
    });
    await t.throwsAsync(role('x@b.example', 'admin'), { message: /no user x@b\.example/ });
  });

  test(`${kind}: the only administrator with a password stays one while passwords serve`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateConfiguration(database);
    await addUser(database, { email: 'ann@b.example', role: 'admin', password_hash: 'x' });
    await addUser(database, { email: 'bob@b.example', role: 'admin' });
    const lines = ['user set-role --role unprivileged', 'user delete'];
    for (const line of lines)
      await t.throwsAsync(
        runLine(database, `${line} --email ann@b.example`),
        { message: /no other administrator can sign in/ },
        line,
      );
    await runLine(database, 'user delete --email ann@b.example', '', {
      LOCAL_AUTH_ENABLED: 'false',
    });
    t.deepEqual(
      (await readUsers(database)).map(({ email }) => email),
      ['bob@b.example'],
    );
  });

  test(`${kind}: a user is deleted with all they have, but not the last administrator`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example', role: 'admin' });
    await addDevice(database, await addUser(database, { email: 'bob@b.example' }));
    await runLine(database, 'user delete --email bob@b.example');
    t.is((await readUsers(database)).length, 1);
    t.is((await readDevices(database)).length, 0);
    const last = runLine(database, 'user delete --email ann@b.example');
    await t.throwsAsync(last, { message: /last administrator/i });
  });

  test(`${kind}: a device is deleted`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database), { name: 'laptop' });
    const { text } = await runLine(database, `device delete --id ${id}`);
    t.is(text, 'laptop is deleted; it passes no packet any more.');
    t.is((await readDevices(database)).length, 0);
    const again = runLine(database, `device delete --id ${id}`);
    await t.throwsAsync(again, { message: /^there is no device .*; see: .* device list$/ });
  });
}
