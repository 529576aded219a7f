// The sentences that the console shows about linking people again.

import test from 'ava';
import { relinkedSentence, whyNotFreed } from '../../../../lib/auth/identity/relink.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';

const until = new Date('2026-05-06T07:08:09.010Z');

test('a user without a link and an administrator read why they cannot be linked again', (t) => {
  const links = { identityIds: [], users: 0, administrators: 0 };
  t.deepEqual(whyNotFreed(links), messages.notLinked);
  t.deepEqual(whyNotFreed({ ...links, administrators: 1 }), messages.administratorNotFreed);
  t.is(whyNotFreed({ ...links, users: 1 }), null);
});

test('the sentence says how many people, until when, and who is left out', (t) => {
  const one = relinkedSentence({ users: 1, administrators: 0 }, until);
  t.true(one.startsWith('1 user may be linked anew'));
  t.true(one.endsWith('until 2026-05-06T07:08:09.010Z.'));
  const many = relinkedSentence({ users: 0, administrators: 2 }, until);
  t.true(many.startsWith('0 users may'));
  t.true(many.includes(' 2 administrators are left out'));
});
