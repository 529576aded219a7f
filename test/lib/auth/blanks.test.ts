// Blanks around a text: those of XML go, all others stay.

import process from 'node:process';
import test from 'ava';
import { withoutBlanks } from '../../../lib/auth/blanks.ts';

test('the blanks of XML go, at both ends alone', (t) => {
  for (const [text, bare] of [
    ['', ''],
    [' \t\r\n', ''],
    ['\r\n a  b\t', 'a  b'],
    ['a', 'a'],
    ['\u00a0a ', '\u00a0a'],
    [' a\ufeff', 'a\ufeff'],
    ['\u000ba\u2003', '\u000ba\u2003'],
  ] as const)
    t.is(withoutBlanks(text), bare, JSON.stringify(text));
});

test('many blanks inside cost one pass', (t) => {
  const text = `a${' '.repeat(300_000)}b`;
  const before = process.cpuUsage();
  t.is(withoutBlanks(text), text);
  const { user } = process.cpuUsage(before);
  // An expression that looks for blanks at the end from each of them takes half a minute.
  t.true(user < 1_000_000, `${user} µs`);
});
