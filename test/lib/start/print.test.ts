// What a command prints for people.

import test from 'ava';
import { textForPeople } from '../../../lib/start/print.ts';

test('what users wrote steers no terminal; lines and tabs stay', (t) => {
  const name = 'pwn\u001b]0;owned\u0007\u001b[31m\r\u009b2J\u202e';
  t.is(
    textForPeople({ text: `${name} is off.\nID\tx\n` }),
    'pwn ]0;owned  [31m  2J  is off.\nID\tx\n\n',
  );
  t.is(textForPeople({ text: 'a,b\r\nc,d\r\n' }), 'a,b\r\nc,d\r\n\n', 'lines of a CSV file');
});

test('a picture is printed below the text, with its colours', (t) => {
  const picture = '\u001b[97;40m█\u001b[0m';
  t.is(textForPeople({ text: 'file\n', picture }), `file\n\n${picture}\n`);
});
