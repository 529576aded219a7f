// The account of whoever is signed in.

import test from 'ava';
import { openServer } from '../../../support/server.ts';
import { addPerson, Visitor } from '../../../support/visitor.ts';

test('everybody sees their own account', async (t) => {
  const server = await openServer(t, 'sqlite');
  await addPerson(server.database, 'ann@example.com');
  const visitor = new Visitor(server);
  await visitor.signIn('ann@example.com');
  const { status, text } = await visitor.get('/user_account');
  t.is(status, 200);
  t.true(text.includes('<dd>ann@example.com</dd>'));
});
