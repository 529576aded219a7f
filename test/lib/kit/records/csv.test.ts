// Files for spreadsheets: quoted as RFC 4180 says, and never a formula.

import test from 'ava';
import { csvField, csvLine, readCsv } from '../../../../lib/kit/records/csv.ts';

test('values with commas, quotes or line ends are quoted', (t) => {
  t.is(csvLine(['a', 'b,c', 'd"e', 'f\ng', null, 5]), 'a,"b,c","d""e","f\ng",,5\r\n');
});

test('what a spreadsheet would take for a formula is text', (t) => {
  for (const bad of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    ' =1',
    '\t=1',
    '\r=1',
    '\n=1',
    '＝1',
    '|x',
    '%x',
  ])
    t.regex(csvField(bad), /^"?'/, JSON.stringify(bad));
  t.is(csvField('=HYPERLINK("http://x","y")'), `"'=HYPERLINK(""http://x"",""y"")"`);
  for (const good of ['laptop', '10.0.0.1', 'fd00::1', 'a=b', 'user@example.com'])
    t.is(csvField(good), good);
  t.is(csvField(-5), '-5');
});

test('a file is read as RFC 4180 says, with the line at which each record begins', (t) => {
  const rows: [string, [number, readonly string[] | null][]][] = [
    ['', []],
    ['a', [[1, ['a']]]],
    ['a,b;c\td\r\n', [[1, ['a', 'b', 'c', 'd']]]],
    ['"a,b","d""e","",f"g\n', [[1, ['a,b', 'd"e', '', 'f"g']]]],
    [
      '\r\n "a" ,\rb',
      [
        [1, ['']],
        [2, ['a', '']],
        [3, ['b']],
      ],
    ],
    [
      '"f\r\n\ng",1\nh',
      [
        [1, ['f\r\n\ng', '1']],
        [4, ['h']],
      ],
    ],
    [
      'a\n"b\nc',
      [
        [1, ['a']],
        [2, null],
        [3, ['c']],
      ],
    ],
    [
      '"a"b\nc,"d',
      [
        [1, null],
        [2, null],
      ],
    ],
  ];
  for (const [text, records] of rows) {
    const read = Array.from(readCsv(text), ({ line, values }) => [line, values]);
    t.deepEqual(read, records, JSON.stringify(text));
  }
});

test('what was written is read again, and long values cost no stack', (t) => {
  const values = ['a', 'b,c', 'd"e', 'f\ng', '', '"'.repeat(100_000), 'x'.repeat(500_000)];
  t.deepEqual([...readCsv(csvLine(values) + csvLine(values))][1], {
    line: 3,
    values,
  });
  const [unclosed] = readCsv(`"${'x""\n'.repeat(500_000)}`);
  t.deepEqual(unclosed, { line: 1, values: null });
});
