// The command that makes one-time links: for one user, and for a list.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { Outcome } from '../../../lib/cli/run.ts';
import { type Database, readAuditEntries } from '../../../models/index.ts';
import { addUser } from '../../models/fixtures.ts';
import { linesAt } from '../../support/api/terminal.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { openSmtpServer } from '../../support/network/smtp-server.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const URL_OF = /^https:\/\/vpn\.example\/one_time_links\/[\w-]{43}$/;

function runLine(
  database: Database,
  line: string,
  stdin = '',
  settings: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  return runWords(database, line.split(' '), stdin, settings);
}

const runWords = (
  database: Database,
  words: readonly string[],
  stdin = '',
  settings: Readonly<Record<string, string>> = {},
): Promise<Outcome> =>
  runTyped(database, words, {
    stdin,
    settings: { EXTERNAL_URL: 'https://vpn.example/', ...settings },
  });

for (const kind of databaseKinds()) {
  test(`${kind}: one user gets a link; nobody is made by a slip of the pen`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@example.com' });
    const { text, data, note } = await runLine(database, 'user enrol ANN@example.com --hours 1');
    t.regex(text, URL_OF);
    t.like(data, { user_id: user.id, email: 'ann@example.com', was_there: true, url: text });
    t.regex(note ?? '', /works once/);
    const link = await database.models.OneTimeLink.findOne({ rejectOnEmpty: true });
    t.is(link.expires_at.getTime() - link.inserted_at.getTime(), 3_600_000);
    t.is(link.created_by, null);
    const [entry] = await readAuditEntries(database, { limit: 1 });
    t.like(entry, { action: 'make link', record_id: user.id });

    await t.throwsAsync(runLine(database, 'user enrol bob@example.com'), {
      message: /^there is no user bob@example\.com/,
    });
    t.regex((await runLine(database, 'user enrol bob@example.com --create-user')).text, URL_OF);
    for (const wrong of ['bob', 'a@example.com,b@example.com'])
      await t.throwsAsync(runLine(database, `user enrol ${wrong} --create-user`), {
        message: `“${wrong}” is no e-mail address`,
      });
    const named = ['user', 'enrol', 'Bob <BOB@example.com>'];
    await t.throwsAsync(runWords(database, named), { message: /^there is no user Bob </ });
    t.like((await runWords(database, [...named, '--create-user'])).data, {
      email: 'bob@example.com',
      was_there: true,
    });
    await t.throwsAsync(runWords(database, ['user', 'enrol', 'a b@example.com', '--create-user']), {
      message: /^“a b@example\.com” holds a space, .*; write the address alone/,
    });
    const formula = 'user enrol =1+1@example.com --create-user';
    t.regex((await runLine(database, formula)).text, URL_OF);
    await t.throwsAsync(runLine(database, `${formula} --csv`), {
      message: '=1+1@example.com begins as a formula of a spreadsheet does; leave --csv away',
    });
    for (const line of ['user enrol', 'user enrol a@example.com --file -'])
      await t.throwsAsync(runLine(database, line), { message: /^give the e-mail of one user/ });
    for (const hours of ['0', '337', 'x'])
      await t.throwsAsync(runLine(database, `user enrol a@example.com --hours ${hours}`), {
        message: /--hours takes a whole number from 1 to 336/,
      });
  });

  test(`${kind}: a disabled user gets none, in words`, async (t) => {
    const database = await openDatabase(t, kind);
    const values = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await addUser(database, { email: 'ann@example.com', ...values });
    await t.throwsAsync(runLine(database, 'user enrol ann@example.com'), {
      message: /^ann@example\.com is disabled/,
    });
  });

  test(`${kind}: a list becomes users and links, as a table, as CSV and as JSON`, async (t) => {
    const database = await openDatabase(t, kind);
    const list = 'email,name\na@example.com,A\nb@example.com,B\n';
    const outcome = await runLine(database, 'user enrol --file -', list);
    const { text, data } = outcome;
    t.regex(text, /^E-MAIL +LINK\n/);
    t.is((data as { url: string }[]).length, 2);
    t.regex((data as { url: string }[])[1]?.url ?? '', URL_OF);
    // A link is never cut: where it has no room beside the e-mail, it is below it.
    for (const [width, count] of [
      [80, 6],
      [200, 3],
    ] as const) {
      const lines = linesAt(t, outcome, width);
      t.is(lines.length, count);
      for (const { url } of data as { url: string }[])
        t.true(lines.some((line) => line.endsWith(url)));
    }
    const folder = mkdtempSync(join(tmpdir(), 'postern-enrol-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'people.csv');
    writeFileSync(file, list);
    const csv = await runLine(database, `user enrol --file ${file} --csv`);
    t.regex(csv.text, /^email,link,expires_at\r\na@example\.com,https:/);
    t.is(await database.models.User.count(), 2);
    t.is(await database.models.OneTimeLink.count(), 2);
    await t.throwsAsync(runLine(database, `user enrol --file ${file}x`), {
      message: /cannot be read/,
    });
    await t.throwsAsync(runLine(database, 'user enrol --file -', 'nobody'), {
      message: '- line 1: “nobody” is no e-mail address',
    });
  });

  test(`${kind}: links go out by mail, and whoever got none is named`, async (t) => {
    const database = await openDatabase(t, kind);
    const smtp = await openSmtpServer(t);
    await addUser(database, { email: 'ann@example.com' });
    const one = 'user enrol ann@example.com --mail';
    await t.throwsAsync(runLine(database, one), {
      message: '--mail needs the settings SMTP_URL and MAIL_FROM in this shell',
    });
    t.is(await database.models.OneTimeLink.count(), 0, 'no link for nothing');
    const sent = await runLine(database, one, '', smtp.settings);
    t.is(sent.isBad, undefined);
    t.deepEqual(smtp.mails[0]?.to, ['ann@example.com']);
    t.true(smtp.mails[0]?.text.includes(`\n${sent.text}\n`));
    const link = await database.models.OneTimeLink.findOne({ rejectOnEmpty: true });
    t.truthy(link.mailed_at);

    const disabled = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await addUser(database, { email: 'off@example.com', ...disabled });
    const list = 'bob@example.com\noff@example.com\neve@example.com\n';
    smtp.manners.refuses = { DATA: '552 full' };
    const failed = await runLine(database, 'user enrol --file - --mail', list, smtp.settings);
    t.true(failed.isBad);
    t.deepEqual(failed.note?.match(/No mail went to \S+ /g), [
      'No mail went to bob@example.com. ',
      'No mail went to eve@example.com. ',
    ]);
    t.regex(failed.note ?? '', /refused the mail \(it answered 552\)/);
    t.is(failed.text.match(/one_time_links/g)?.length, 2, 'the links are there all the same');
    t.is(smtp.mails.length, 1);
  });
}
