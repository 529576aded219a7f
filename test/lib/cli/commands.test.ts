// What each command changes in a database, and what it prints.

import test from 'ava';
import { accountOf, ATTEMPTS_MAX, takeAttempt } from '../../../lib/auth/attempts.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { findTokenOwner, hashToken } from '../../../lib/auth/tokens.ts';
import { verifyPassword } from '../../../lib/auth/passwords.ts';
import { addSecondFactor } from '../../../lib/auth/second-factors.ts';
import { type Database, writeTransaction } from '../../../models/index.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { configure } from '../../support/web/portal.ts';
import { openServer } from '../../support/api/server.ts';
import { linesAt } from '../../support/api/terminal.ts';
import { addPerson, Visitor } from '../../support/web/visitor.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

/** Runs a line as a person types it; `stdin` is what is piped into it. */
const runLine = (
  database: Database,
  line: string,
  stdin = '',
  settings: Record<string, string> = {},
): Promise<Outcome> => runTyped(database, line, { stdin, settings });

for (const kind of databaseKinds()) {
  test(`${kind}: an administrator gets a random password, which is shown`, async (t) => {
    const database = await openDatabase(t, kind);
    const made = await runLine(database, 'admin create-or-reset --email a@b.example');
    const { text, data, note } = made;
    t.true(text.length >= 20);
    t.is(note, 'This is the password of a@b.example. Postern shows it only once.');
    t.deepEqual(data, { email: 'a@b.example', password: text });
    const user = await database.models.User.findOne({ rejectOnEmpty: true });
    t.is(user.role, 'admin');
    t.true(await verifyPassword(text, String(user.password_hash)));
  });

  test(`${kind}: a password from a pipe is not shown, and its last line break is no part of it`, async (t) => {
    const database = await openDatabase(t, kind);
    const line = 'admin create-or-reset --email a@b.example --password-stdin';
    const { text, data } = await runLine(database, line, 'correct horse battery\r\n');
    t.is(text, 'a@b.example is an administrator.');
    t.deepEqual(data, { email: 'a@b.example' });
    const user = await database.models.User.findOne({ rejectOnEmpty: true });
    t.true(await verifyPassword('correct horse battery', String(user.password_hash)));
    await t.throwsAsync(runLine(database, line, 'short\n'), { message: /12 to 64 characters/ });
  });

  test(`${kind}: users are disabled and enabled again`, async (t) => {
    const database = await openDatabase(t, kind);
    await runLine(database, 'admin create-or-reset --email a@b.example');
    await t.throwsAsync(runLine(database, 'user disable --email A@B.example'), {
      message: 'a@b.example: the last administrator cannot be disabled',
    });
    await runLine(database, 'admin create-or-reset --email deputy@b.example');
    t.deepEqual(await runLine(database, 'user disable --email A@B.example'), {
      text: 'A@B.example is disabled.',
      data: { email: 'A@B.example', enabled: false },
    });
    const user = await database.models.User.findOne({
      where: { email_key: 'a@b.example' },
      rejectOnEmpty: true,
    });
    t.is(user.disabled_by, 'administrator');
    await runLine(database, 'user enable --email a@b.example');
    t.is((await user.reload()).disabled_at, null);
    await t.throwsAsync(runLine(database, 'user disable --email nobody@b.example'), {
      message:
        /^there is no user nobody@b\.example; see: .* user list, or make one by: .* user create --email E$/,
    });
  });

  test(`${kind}: a wait after wrong passwords is listed, and can be ended`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@b.example' });
    const lock = async (): Promise<void> => {
      for (let n = 0; n < ATTEMPTS_MAX; n += 1)
        await takeAttempt(database, [accountOf(user.email)]);
    };
    await lock();
    t.regex((await runLine(database, 'user list')).text, /enabled, locked until 20\d\d-/);
    const { text } = await runLine(database, 'user unlock --email Ann@B.example');
    t.is(text, 'Ann@B.example may try to sign in at once.');
    t.regex((await runLine(database, 'audit list')).text, /unlock/);
    t.false((await runLine(database, 'user list')).text.includes('locked'));
    await lock();
    await runLine(database, 'user set-password --email ann@b.example');
    t.false((await runLine(database, 'user list')).text.includes('locked'));
    await t.throwsAsync(runLine(database, 'user unlock --email x@b.example'), {
      message: /^there is no user x@b\.example/,
    });
  });

  test(`${kind}: a device is disabled and enabled, and can expire`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database), { name: 'laptop' });
    const off = await runLine(database, `device disable --id ${id}`);
    t.is(off.text, 'laptop is switched off and does not end.');
    const ends = await runLine(database, `device expire --id ${id} --at 2099-12-31`);
    t.is(ends.text, 'laptop is switched off and ends at 2099-12-31T00:00:00.000Z.');
    t.is(
      ends.note,
      'That is the start of 2099-12-31, in UTC; for all of that day: --at 2099-12-31T23:59:59Z',
    );
    const timed = await runLine(database, `device expire ${id} --at 2099-12-31T00:00Z`);
    t.is(timed.note, undefined);
    await runLine(database, `device enable --id ${id}`);
    const past = await runLine(database, `device expire --id ${id} --at 2020-01-01`);
    t.is(past.text, 'laptop is switched on and has ended: 2020-01-01T00:00:00.000Z is past.');
    t.is(past.note, undefined);
    const last = await runLine(database, `device expire --id ${id} --at never`);
    t.deepEqual(last.data, { id, enabled: true, expires_at: null });
    const user = await addUser(database, { email: 'b@b.example' });
    const forged = await addDevice(database, user, { name: 'a is off.\nlaptop' });
    const line = await runLine(database, `device disable --id ${forged.id}`);
    t.is(line.text, 'a is off. laptop is switched off and does not end.', 'one line');
    await t.throwsAsync(runLine(database, 'device disable --id 0190'), {
      message: /no device 0190/,
    });
  });

  test(`${kind}: a token is created, listed without its secret, and revoked`, async (t) => {
    const database = await openDatabase(t, kind);
    await runLine(database, 'admin create-or-reset --email a@b.example');
    const made = await runLine(database, 'token create --email a@b.example --name ci --days 3');
    t.regex(made.text, /^pst_[\w-]{43}$/);
    const [says, rights] = String(made.note).split('\n');
    t.regex(says ?? '', /Its id is [\da-f-]{36}; .*token revoke [\da-f-]{36}$/);
    t.regex(
      rights ?? '',
      /^The token has all rights, because no scope was named; .*--scopes read$/,
    );
    await addUser(database, { email: 'user@b.example' });
    const plain = await runLine(database, 'token create --email user@b.example --name ci');
    t.regex(String(plain.note), /no administrator: .*forbidden/);
    t.notRegex(String(plain.note), /all rights/);
    t.not(await findTokenOwner(database, hashToken(made.text)), null);
    const list = await runLine(database, 'token list --email a@b.example');
    const [labels = '', row = '', ...others] = list.text.split('\n');
    t.regex(labels, /^ID +OWNER +NAME +SCOPES +EXPIRES +LAST USED$/);
    t.deepEqual(others, []);
    const [id, email, name, scopes, expires, used] = row.split(/ {2,}/);
    t.deepEqual([email, name, scopes, used], ['a@b.example', 'ci', 'admin', 'never used']);
    const days = (Date.parse(String(expires)) - Date.now()) / 86_400_000;
    t.true(days > 2.9 && days <= 3, String(expires));
    t.false(JSON.stringify(list).includes(made.text));
    const reading = 'token create --email a@b.example --name ci --scopes capture,read --json';
    const read = await runLine(database, reading);
    t.like(read.data, { scopes: ['read', 'capture'] });
    t.notRegex(String(read.note), /all rights/);
    await t.throwsAsync(runLine(database, reading.replace('read', 'all')), {
      message: '--scopes takes admin,read,metrics,capture, or some of them, not "capture,all"',
    });
    const none = await runLine(database, 'token list --email other@b.example');
    t.is(none.text, 'ID  OWNER  NAME  SCOPES  EXPIRES  LAST USED');

    t.is((await runLine(database, `token revoke ${id}`)).text, `${id} is revoked.`);
    t.is(await findTokenOwner(database, hashToken(made.text)), null);
    await t.throwsAsync(runLine(database, `token revoke ${id}`), {
      message: `there is no token ${id}; see: npm run -s postern -- token list`,
    });
    await t.throwsAsync(runLine(database, 'token create --email x@b.example --name ci'), {
      message: /x@b\.example/,
    });
  });
}

for (const kind of databaseKinds())
  test(`${kind}: a terminal shows the audit trail under headings, with names`, async (t) => {
    const database = await openDatabase(t, kind);
    await runLine(database, 'user create ann@b.example --no-password');
    const { data } = await runLine(database, 'device create --email ann@b.example --name laptop');
    await runLine(database, 'group create staff');
    await runLine(database, 'group add ann@b.example --group staff');
    await runLine(database, 'user delete ann@b.example');
    const list = await runLine(database, 'audit list --since today');
    const { id } = data as { id: string };
    t.true(list.text.includes(`\tdevice create\t${id}\t`), 'a pipe gets lines with tabs');
    const lines = linesAt(t, list, 400);
    t.regex(lines[0] ?? '', /^TIME +WHO +FROM +ACTION +RECORD +FIELDS$/);
    const cells = lines.map((line) => line.split(/ {2,}/).slice(1, 5).join('|'));
    t.true(cells.includes('command_line|-|create|user ann@b.example'), cells.join('\n'));
    t.true(cells.includes('command_line|-|create|device ann@b.example/laptop'), cells.join('\n'));
    const member = 'command_line|-|create|group_membership ann@b.example of staff';
    t.true(cells.includes(member), cells.join('\n'));
    // It is deleted with its user, and has its name nevertheless.
    t.true(cells.includes('command_line|-|delete|device ann@b.example/laptop'), cells.join('\n'));
    t.false(lines.join('\n').includes(id));
    // What has no name has its id.
    t.regex(lines.join('\n'), /create +configuration \([\da-f-]{8,36}\)/);
    t.true(linesAt(t, list, 80).length >= lines.length);
    const none = await runLine(database, 'audit list --since 2126-01-01');
    t.deepEqual(linesAt(t, none, 80), ['TIME  WHO  FROM  ACTION  RECORD  FIELDS']);
    t.is(none.text, '');
  });

test('an administrator can sign in again at once, on request without second factors', async (t) => {
  const server = await openServer(t, 'sqlite');
  const { database } = server;
  const { id } = await addPerson(database, 'boss@example.com', {
    role: 'admin',
    disabled_at: new Date(),
    disabled_by: 'provider',
    disabled_provider: 'okta',
  });
  const factor = { userId: id, name: 'phone', secret: 'JBSWY3DPEHPK3PXP', step: 0 };
  await writeTransaction(database, (transaction) => addSecondFactor(database, factor, transaction));
  for (let n = 0; n < 6; n += 1)
    await new Visitor(server).signIn('boss@example.com', 'a bad guess');
  const reset = async (line: string): Promise<string> => {
    const outcome = await runLine(database, line, 'a good password 1');
    t.is(outcome.text, 'boss@example.com is an administrator.');
    return (
      (await new Visitor(server).signIn('boss@example.com', 'a good password 1')).location ?? ''
    );
  };
  const line = 'admin create-or-reset --email boss@example.com --password-stdin';
  t.is(await reset(line), '/mfa/auth', 'the second factor is kept');
  t.is(await reset(`${line} --reset-mfa`), '/');
});

test('an administrator who is locked out enables sign-in by password', async (t) => {
  const server = await openServer(t, 'sqlite');
  const { database } = server;
  await configure(server, { local_auth_enabled: false });
  const line = 'admin create-or-reset --email boss@example.com --password-stdin';
  const { note } = await runLine(database, line, 'a good password 1');
  t.is(
    note,
    'Signing in by password was switched off; it is on again, for everyone who has a password.',
  );
  const boss = new Visitor(server);
  t.is((await boss.signIn('boss@example.com', 'a good password 1')).status, 303);
  t.is((await runLine(database, line, 'a good password 2')).note, undefined);
  const fixed = await runLine(database, line, 'a good password 3', { LOCAL_AUTH_ENABLED: 'false' });
  t.regex(fixed.note ?? '', /^LOCAL_AUTH_ENABLED=false disables passwords/);
  const both = 'admin create-or-reset --email boss@example.com';
  const { note: notes } = await runLine(database, both, '', { LOCAL_AUTH_ENABLED: 'false' });
  t.regex(notes ?? '', /^This is the password of .+\nLOCAL_AUTH_ENABLED=false/);
  const where = { kind: 'configuration', action: 'update' };
  t.is(
    await database.models.AuditEntry.count({ where }),
    2,
    'disabled and enabled are in the audit trail',
  );
});

test('second factors that a user lost are removed, and all sessions of the user end', async (t) => {
  const server = await openServer(t, 'sqlite');
  const { database } = server;
  const { id } = await addPerson(database, 'ann@example.com');
  const visitor = new Visitor(server);
  await visitor.signIn('ann@example.com');
  const factor = { userId: id, name: 'phone', secret: 'JBSWY3DPEHPK3PXP', step: 0 };
  await writeTransaction(database, (transaction) => addSecondFactor(database, factor, transaction));
  const { data, text } = await runLine(database, 'user reset-mfa --email Ann@example.com');
  t.deepEqual(data, { email: 'Ann@example.com', removed: 1 });
  t.regex(text, /^One second factor of Ann@example\.com removed/);
  t.is((await visitor.get('/user_account')).status, 302);
  t.is((await visitor.signIn('ann@example.com')).location, '/');
  const again = await runLine(database, 'user reset-mfa --email Ann@example.com');
  t.regex(again.text, /^Ann@example\.com has no second factor; the user is signed out\./);
  await t.throwsAsync(runLine(database, 'user reset-mfa --email nobody@example.com'), {
    message:
      /^there is no user nobody@example\.com; see: .* user list, or make one by: .* user create --email E$/,
  });
});
