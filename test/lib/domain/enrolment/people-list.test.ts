// Lists of people as others bring them: CSV files of spreadsheets, or one e-mail in a line.

import test from 'ava';
import {
  ENROLLED_MAX,
  groupNames,
  readPeople,
} from '../../../../lib/domain/enrolment/people-list.ts';

/** The e-mails of a list without errors. */
function emailsIn(text: string): string[] {
  const { people, error } = readPeople(text);
  return error === null ? people.map(({ email }) => email) : [error];
}

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
  for (const [text, emails] of good) t.deepEqual(emailsIn(text), emails, text);
});

test('a list says names in a column, or before the address', (t) => {
  const named = (text: string) => readPeople(text).people.map(({ name }) => name);
  t.deepEqual(named('email,name\na@example.com, Ann  Lee \nb@example.com,'), [
    'Ann Lee',
    undefined,
  ]);
  t.deepEqual(named('Ann Lee <a@example.com>\n<b@example.com>'), ['Ann Lee', undefined]);
  t.deepEqual(named('"""Lee, Ann"" <a@example.com>"'), ['Lee, Ann']);
  t.deepEqual(named('email,Full name\nAnn <a@example.com>,Ann Lee'), ['Ann Lee']);
  t.deepEqual(named('email,name\na@example.com,Ann\nA@example.com,Bo'), ['Ann'], 'the first one');
  t.deepEqual(named('a@example.com,Ann'), [undefined], 'no heading says that it is one');
  const { error } = readPeople(`email,name\na@example.com,${'x'.repeat(256)}`);
  t.is(error, 'line 2: the name is no name of at most 255 characters');
});

test('what is wrong with a list is named with its lines', (t) => {
  t.is(readPeople('').error, 'holds no e-mail address');
  t.is(readPeople('email\n').error, 'holds no e-mail address');
  t.is(readPeople('a@example.com\nbob').error, 'line 2: “bob” is no e-mail address');
  const unclosed =
    /^line 2: a quote is not closed where its value ends; close it there, or remove it \(/;
  t.regex(
    readPeople('e1@example.com\n"unclosed@example.com\ne5@example.com\n').error ?? '',
    unclosed,
  );
  t.regex(readPeople('e1@example.com\n"e 2"@example.com').error ?? '', unclosed);
  for (const formula of ['=1+1@example.com', '"+x@example.com"', '-x@example.com'])
    t.regex(
      readPeople(`a@example.com\n${formula}\n`).error ?? '',
      /^line 2: “[=+-].*@example\.com” begins as a formula .* alone: .*postern.* user enrol E-MAIL$/,
    );
  const many = Array.from({ length: 9 }, () => 'x').join('\n');
  t.regex(readPeople(many).error ?? '', /line 5: .*; and 4 more$/);
  const crowd = Array.from({ length: ENROLLED_MAX + 1 }, (_, i) => `u${i}@example.com`);
  t.is(
    readPeople(crowd.join('\n')).error,
    `holds ${ENROLLED_MAX + 1} e-mail addresses; ${ENROLLED_MAX} at most`,
  );
  t.is(readPeople(crowd.slice(1).join('\n')).error, null);
  t.not(readPeople(`${'a'.repeat(300)}@example.com`).error, null);
  for (const odd of ['ann lee@example.com', 'Ann <ann @example.com>', '"a;b@example.com"', 'a@(b)'])
    t.regex(
      readPeople(`a@example.com\n${odd}\n`).error ?? '',
      /^line 2: “a.*” holds a space, a comma, a semicolon or a bracket; write the address alone/,
      odd,
    );
  for (const odd of ['Ann <>', 'Ann <ann>', 'Ann <a@example.com> <b@example.com>'])
    t.regex(readPeople(odd).error ?? '', /^line 1: /, odd);
  const several = 'line 1: there are several e-mail addresses; put each in a line of its own';
  for (const text of [
    'a@example.com; b@example.com',
    'a@example.com,b@example.com,',
    'Ann <a@example.com>, Bob <b@example.com>',
  ])
    t.is(readPeople(text).error, several, text);
  t.is(readPeople('a@example.com,Ann,b@example.com').error, null, 'a file with other columns');
});

test('a column with the heading groups says who joins which group', (t) => {
  const of = (text: string) =>
    readPeople(text).people.map(({ email, groups }) => [
      email.split('@')[0],
      ...groups.map(({ name, line }) => `${line} ${name}`),
    ]);
  const rows: [string, string[][]][] = [
    ['email,groups\na@example.com,staff|vpn\nb@example.com,\n', [['a', '2 staff', '2 vpn'], ['b']]],
    [
      'E-Mail;Name;Group\na@example.com;Ann;"big; staff | vpn ||"',
      [['a', '2 big; staff', '2 vpn']],
    ],
    ['email\tgroups\tname\na@example.com\tstaff\tAnn\nb@example.com', [['a', '2 staff'], ['b']]],
    ['email,groups\na@example.com,x\nA@example.com,y\n', [['a', '2 x', '3 y']]],
    ['email,groups\na@example.com,ops@example.com\n', [['a', '2 ops@example.com']]],
    ['email,name\na@example.com,staff\n', [['a']]],
    ['a@example.com,groups\n', [['a']]],
  ];
  for (const [text, people] of rows) {
    t.is(readPeople(text).error, null, text);
    t.deepEqual(of(text), people, text);
  }
  t.is(
    readPeople('email,groups\na@example.com,staff;vpn\n').error,
    'line 2: there are more values than the heading has; put several groups into one value, with | between them',
  );
  t.regex(
    readPeople('email,groups\na@example.com,staff;b@example.com\n').error ?? '',
    /^line 2: there are several e-mail addresses/,
  );
  t.is(readPeople('email,groups\na@example.com,staff,,\n').error, null);
  t.deepEqual(
    groupNames(' a b , c,,', ',', null).map(({ name }) => name),
    ['a b', 'c'],
  );
});
