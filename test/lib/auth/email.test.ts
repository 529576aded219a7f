// What is an e-mail address here, and what only looks like one.

import test from 'ava';
import { EMAIL_PATTERN, isEmail } from '../../../lib/auth/email.ts';

test('an address has one @ with text on both sides', (t) => {
  for (const good of ['a@b', 'Ann Example@example.com', 'ä@例え.jp', "o'neill+vpn@example.com"])
    t.true(isEmail(good), good);
  for (const bad of ['', 'a', '@', 'a@', '@b', 'a@b@c']) t.false(isEmail(bad), bad);
});

test('an address holds no sign that steers a terminal, a line or the direction of writing', (t) => {
  const signs = ['\0', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085', '\u009b'];
  for (const sign of [...signs, '\u200e', '\u200f', '\u2028', '\u2029', '\u202e', '\u2066'])
    for (const text of [`a${sign}b@c`, `a@b${sign}c`, `${sign}a@b`, `a@b${sign}`])
      t.false(isEmail(text), JSON.stringify(text));
});

test('the pattern is one that other languages read too', (t) => {
  t.notRegex(EMAIL_PATTERN.source, /\\p/);
});
