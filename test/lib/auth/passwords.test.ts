// Passwords: what is hashed, and how many at once.

import test from 'ava';
import { hashPassword, passwordBytes, verifyPassword } from '../../../lib/auth/passwords.ts';

const COST = 4;
const password = 'correct horse battery';

test('a hash is of the NFC form, spaces and all', async (t) => {
  const hash = await hashPassword(' Pa\u0308sswörd 1234 ', COST);
  t.regex(hash, /^\$2b\$04\$/);
  t.true(await verifyPassword(' Pässwo\u0308rd 1234 ', hash));
  t.false(await verifyPassword('Pässwörd 1234', hash));
  t.false(await verifyPassword('', hash));
  t.is(passwordBytes('a\u0308'), 2);
});

test('the default cost is 12', async (t) => {
  t.regex(await hashPassword(password), /^\$2b\$12\$/);
});

test('many passwords are all hashed, a few at a time', async (t) => {
  const hashes = await Promise.all(
    Array.from({ length: 12 }, (_, i) => hashPassword(`p${i}`, COST)),
  );
  t.is(new Set(hashes).size, 12);
  for (const [i, hash] of hashes.entries()) t.true(await verifyPassword(`p${i}`, hash));
});
