// The kinds of routes: who is let in, and that forms are read in bounds.

import test from 'ava';
import { adminPage, openPage, page, secondFactorPage } from '../../../../lib/web/kit/route.ts';
import { openServer, routesOf } from '../../../support/api/server.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';

test('each kind lets in whom it is for', async (t) => {
  const server = await openServer(t, 'sqlite');
  const show = () => 'shown';
  // The strategies come with the pages.
  await routesOf(server.server);
  server.server.route([
    page('GET', '/for-all', show),
    adminPage('GET', '/for-admins', show),
    openPage('GET', '/for-everybody', show),
    secondFactorPage('GET', '/for-the-second', show),
  ]);
  await addPerson(server.database, 'user@example.com');
  await addPerson(server.database, 'boss@example.com', { role: 'admin' });
  const [stranger, user, boss] = [0, 1, 2].map(() => new Visitor(server)) as [
    Visitor,
    Visitor,
    Visitor,
  ];
  await user.signIn('user@example.com');
  await boss.signIn('boss@example.com');
  const rows: [Visitor, string, number][] = [
    [stranger, '/for-everybody', 200],
    [stranger, '/for-all', 302],
    [stranger, '/for-admins', 302],
    [stranger, '/for-the-second', 302],
    [user, '/for-everybody', 200],
    [user, '/for-all', 200],
    [user, '/for-admins', 403],
    [user, '/for-the-second', 302],
    [boss, '/for-all', 200],
    [boss, '/for-admins', 200],
    [boss, '/for-the-second', 302],
  ];
  for (const [visitor, path, status] of rows) t.is((await visitor.get(path)).status, status, path);
});

test('only what may change something takes a body', (t) => {
  const takes = (method: 'GET' | 'POST'): unknown =>
    (page(method, '/x', () => '').options as { payload?: unknown }).payload;
  t.is(takes('GET'), undefined);
  t.like(takes('POST'), { maxBytes: 65_536, multipart: false });
});
