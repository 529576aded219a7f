// Lists of e-mails as people bring them: CSV files of spreadsheets, or one in a line.

import test from 'ava';
import { ENROLLED_MAX, enrolledFile, enrolMany, readEmails } from '../../../lib/enrolment/many.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../../models/fixtures.ts';

test('the first column of a list is read, once for each person', (t) => {
  const good: [string, string[]][] = [
    ['a@example.com', ['a@example.com']],
    ['a@example.com\nb@example.com\n\n', ['a@example.com', 'b@example.com']],
    [
      '\uFEFFE-Mail,Name\r\n"a@example.com",Ann\r\nb@example.com;Bob\r\n',
      ['a@example.com', 'b@example.com'],
    ],
    ['email\tname\n a@example.com\tAnn\n', ['a@example.com']],
    ['A@example.com\na@EXAMPLE.com', ['A@example.com']],
    ['Ann Lee <ann@example.com>\n< b@example.com >,B', ['ann@example.com', 'b@example.com']],
    ['ann@example.com\n"Lee, Ann <ANN@example.com>"', ['ann@example.com']],
    ['"d""4@example.com"\n"b@example.com\r\n",B', ['d"4@example.com', 'b@example.com']],
    ['a@example.com,"a note\nno@example.com"\nb@example.com', ['a@example.com', 'b@example.com']],
  ];
  for (const [text, emails] of good) t.deepEqual(readEmails(text), { emails, fault: null }, text);
});

test('what is wrong with a list is named with its lines', (t) => {
  t.is(readEmails('').fault, 'holds no e-mail address');
  t.is(readEmails('email\n').fault, 'holds no e-mail address');
  t.is(readEmails('a@example.com\nbob').fault, 'line 2: “bob” is no e-mail address');
  const unclosed =
    /^line 2: a quote is not closed where its value ends; close it there, or remove it \(/;
  t.regex(
    readEmails('e1@example.com\n"unclosed@example.com\ne5@example.com\n').fault ?? '',
    unclosed,
  );
  t.regex(readEmails('e1@example.com\n"e 2"@example.com').fault ?? '', unclosed);
  for (const formula of ['=1+1@example.com', '"+x@example.com"', '-x@example.com'])
    t.regex(
      readEmails(`a@example.com\n${formula}\n`).fault ?? '',
      /^line 2: “[=+-].*@example\.com” begins as a formula .* alone: .*postern.* user enrol E-MAIL$/,
    );
  const many = Array.from({ length: 9 }, () => 'x').join('\n');
  t.regex(readEmails(many).fault ?? '', /line 5: .*; and 4 more$/);
  const crowd = Array.from({ length: ENROLLED_MAX + 1 }, (_, i) => `u${i}@example.com`);
  t.is(
    readEmails(crowd.join('\n')).fault,
    `holds ${ENROLLED_MAX + 1} e-mail addresses; ${ENROLLED_MAX} at most`,
  );
  t.is(readEmails(crowd.slice(1).join('\n')).fault, null);
  t.not(readEmails(`${'a'.repeat(300)}@example.com`).fault, null);
  for (const odd of ['ann lee@example.com', 'Ann <ann @example.com>', '"a;b@example.com"', 'a@(b)'])
    t.regex(
      readEmails(`a@example.com\n${odd}\n`).fault ?? '',
      /^line 2: “a.*” holds a space, a comma, a semicolon or a bracket; write the address alone/,
      odd,
    );
  for (const odd of ['Ann <>', 'Ann <ann>', 'Ann <a@example.com> <b@example.com>'])
    t.regex(readEmails(odd).fault ?? '', /^line 1: /, odd);
  const several = 'line 1: there are several e-mail addresses; put each in a line of its own';
  for (const text of [
    'a@example.com; b@example.com',
    'a@example.com,b@example.com,',
    'Ann <a@example.com>, Bob <b@example.com>',
  ])
    t.is(readEmails(text).fault, several, text);
  t.is(readEmails('a@example.com,Ann,b@example.com').fault, null, 'a file with other columns');
});

for (const kind of databaseKinds())
  test(`${kind}: everybody who is enabled gets a link; who is new is made`, async (t) => {
    const database = await openDatabase(t, kind);
    const present = await addUser(database, { email: 'Ann@example.com', role: 'admin' });
    const disabled = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    await addUser(database, { email: 'bob@example.com', ...disabled });
    const emails = ['ann@example.com', 'bob@example.com', 'eve@example.com'];
    const wish = {
      hours: 1,
      createdBy: null,
      isMailed: false,
      externalUrl: 'https://vpn.example/postern/',
    };
    const { people: made } = await write(database, (transaction) =>
      enrolMany(database, emails, wish, transaction),
    );
    t.deepEqual(
      made.map(({ email, was_there: wasThere, url }) => [email, wasThere, url !== null]),
      [
        ['Ann@example.com', true, true],
        ['bob@example.com', true, false],
        ['eve@example.com', false, true],
      ],
    );
    t.regex(made[0]?.url ?? '', /^https:\/\/vpn\.example\/postern\/one_time_links\/[\w-]{43}$/);
    await present.reload();
    t.is(present.role, 'admin');
    const eve = await database.models.User.findByPk(made[2]?.user_id ?? '');
    t.like(eve, { email: 'eve@example.com', role: 'unprivileged', password_hash: null });
    const file = enrolledFile(made).split('\r\n');
    t.deepEqual(file.slice(2), [
      'bob@example.com,,',
      `eve@example.com,${made[2]?.url},${made[2]?.expires_at}`,
      '',
    ]);
  });
