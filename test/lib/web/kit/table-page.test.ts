// One page of a great table: what an address asks for, and the links around.

import test from 'ava';
import { askedIn, findPage } from '../../../../lib/web/kit/table-page.ts';
import { addUser } from '../../../models/fixtures.ts';
import { openDatabase } from '../../../support/database/databases.ts';

const PLAN = { table: 'users', path: '/users', states: { enabled: 'Enabled' } } as const;

test('a query that cannot be read asks for everything', (t) => {
  const nothing = { text: '', isDescending: false };
  t.deepEqual(askedIn({ query: {} }, PLAN), nothing);
  t.deepEqual(askedIn({ query: { state: 'x', sort: 'password_hash' } }, PLAN), nothing);
  t.deepEqual(askedIn({ query: { state: ['enabled', 'x'], sort: '__proto__' } }, PLAN), nothing);
  t.deepEqual(askedIn({ query: { q: ' a ', state: 'disabled', sort: '-email' } }, PLAN), {
    text: 'a',
    state: 'disabled',
    order: 'email',
    isDescending: true,
  });
});

test('an address says whose records are shown, where the table has owners or groups', async (t) => {
  const id = '0190a8a0-0000-7000-8000-000000000001';
  const asked = (table: 'users' | 'devices', query: Record<string, string | string[]>) =>
    askedIn({ query }, { table });
  t.like(asked('devices', { owner: id, group: id }), { userId: id, groupId: id });
  t.deepEqual(asked('users', { owner: id }), { text: '', isDescending: false });
  t.deepEqual(asked('devices', { owner: 'x', group: [id] }), { text: '', isDescending: false });
  const database = await openDatabase(t, 'sqlite');
  const ann = await addUser(database, { email: 'ann@example.com' });
  const plan = { table: 'devices', path: '/devices', states: {} } as const;
  const { view } = await findPage(database, { query: { owner: ann.id, q: 'x' } }, plan);
  t.true(view.isFiltered);
  t.deepEqual(view.filters, [{ label: 'of ann@example.com', without: '/devices?q=x' }]);
  t.deepEqual(view.kept, { owner: ann.id });
  t.is(view.file, `/devices.csv?q=x&owner=${ann.id}`);
});

test('pages are numbered, and one beyond the last is the last', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  for (let i = 0; i < 101; i += 1) await addUser(database, { email: `u${i}@example.com` });
  const look = (query: Record<string, string>) => findPage(database, { query }, PLAN);
  const first = await look({ sort: 'email' });
  t.is(first.ids.length, 50);
  t.is(first.view.summary, '1 to 50 of 101');
  t.like(first.view.pages, { previous: null, next: '/users?sort=email&page=2' });
  for (const page of ['3', '99', '999999999']) {
    const last = await look({ page });
    t.is(last.ids.length, 1, page);
    t.is(last.view.summary, '101 to 101 of 101');
    t.like(last.view.pages, { previous: '/users?page=2', next: null });
    t.is(last.view.here, '/users?page=3');
  }
  for (const page of ['0', '-1', 'x', '1e3', '9999999999'])
    t.is((await look({ page })).view.here, '/users', page);
  const none = await look({ q: 'nobody', page: '7' });
  t.like(none, {
    ids: [],
    view: { summary: '0 in all', isFiltered: true, here: '/users?q=nobody' },
  });
  const sorted = (await look({ sort: 'email', q: 'u1' })).view;
  t.deepEqual(sorted.sorts['email'], { href: '/users?q=u1&sort=-email', sorted: 'ascending' });
  t.is(sorted.sorts['role']?.href, '/users?q=u1&sort=role');
  t.is(sorted.file, '/users.csv?q=u1&sort=email');
});
