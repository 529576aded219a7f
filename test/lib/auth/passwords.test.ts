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

// Alone: it fills the queue of this process.
test.serial('a queue that is too long refuses, and serves who is in it', async (t) => {
  const asked = Array.from({ length: 80 }, (_, i) => hashPassword(`p${i}`, COST));
  const outcomes = await Promise.allSettled(asked);
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  t.is(refused.length, 80 - 2 - 64);
  for (const one of refused)
    t.is((one as PromiseRejectedResult).reason.code, 'service_unavailable');
  t.truthy(await hashPassword(password, COST));
});

test('a password beyond what bcrypt reads is not the one that begins like it', async (t) => {
  const hash = await hashPassword('x'.repeat(72), COST);
  t.true(await verifyPassword('x'.repeat(72), hash));
  t.false(await verifyPassword('x'.repeat(73), hash));
});

test('many passwords are all hashed, a few at a time', async (t) => {
  const hashes = await Promise.all(
    Array.from({ length: 12 }, (_, i) => hashPassword(`p${i}`, COST)),
  );
  t.is(new Set(hashes).size, 12);
  for (const [i, hash] of hashes.entries()) t.true(await verifyPassword(`p${i}`, hash));
});
