// Files for spreadsheets: quoted as RFC 4180 says, and never a formula.

import test from 'ava';
import { csvField, csvLine } from '../../../lib/records/csv.ts';

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
