// Passwords of commands: the one that was piped in, or a new one each time.

import test from 'ava';
import { labelOfPassword, passwordOf } from '../../../lib/cli/passwords.ts';

test('a password that is piped in loses its last line break and nothing else', async (t) => {
  for (const [piped, password] of [
    [' a b \n', ' a b '],
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    ['a', 'a'],
  ] as const)
    t.is(await passwordOf(true, async () => piped), password);
});

test('a password that is made up is another one each time, and reads no input', async (t) => {
  const refuse = async (): Promise<string> => t.fail('it was read') as unknown as string;
  const [one, other] = [await passwordOf(false, refuse), await passwordOf(false, refuse)];
  t.regex(one, /^[\w-]{20}$/);
  t.not(one, other);
});

test('the label says whose password it is, and does not hold it', (t) => {
  t.is(
    labelOfPassword('ann@b.example'),
    'This is the password of ann@b.example. Postern shows it only once.',
  );
});
