// One page of a great table: what an address asks for, and the links around.

import test, { type ExecutionContext } from 'ava';
import { askedIn, findPage } from '../../../../lib/web/kit/table-page.ts';
import { newId } from '../../../../models/index.ts';
import { sqlTime } from '../../../../models/storage/time.ts';
import { addUser } from '../../../models/fixtures.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { addManyDevices, addManyRules } from '../../../support/database/many-devices.ts';
import { fakeLive, fakeObserved, fakeWatched } from '../../../support/observe/fake-gateway.ts';
import { type Console, openConsole } from '../../../support/web/console.ts';

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

/** Of a list of fifty records, whatever there is besides. */
const LIST_BYTES_MAX = 52_000;
/** Of a page of one record. */
const PAGE_BYTES_MAX = 60_000;

/** More than one page of them; each of them is tried for the page, at most 1,000. */
const POLICY_TESTS = 60;

/** Records of which a page is opened. */
interface Ids {
  readonly device: string;
  readonly user: string;
  readonly test: string;
}

/** So many users with invitations, devices of one of them, and rules. */
async function fill({ database, plainUser }: Console, count: number): Promise<Ids> {
  const now = sqlTime(database.kind, new Date());
  const insert = (into: string, rows: readonly (readonly string[])[]) => {
    const values = rows.map((row) => `(${row.map((text) => `'${text}'`).join(', ')})`).join(', ');
    return database.sequelize.query(`INSERT INTO ${into} VALUES ${values}`);
  };
  const ids = Array.from({ length: count }, () => newId());
  const emails = ids.map((_, i) => `person.number.${i}@example.com`);
  await insert(
    'users (id, email, email_key, role, inserted_at, updated_at)',
    ids.map((id, i) => [id, emails[i] ?? '', emails[i] ?? '', 'unprivileged', now, now]),
  );
  await insert(
    'one_time_links (id, user_id, purpose, sha256, expires_at, inserted_at)',
    ids.map((id, i) => [newId(), id, 'enrolment', String(i).padStart(64, '0'), now, now]),
  );
  const devices = await addManyDevices(database, plainUser.id, count);
  await addManyRules(database, count);
  await insert(
    'user_groups (id, name, inserted_at, updated_at)',
    ids.map((_, i) => [newId(), `group ${i}`, now, now]),
  );
  await insert(
    'api_tokens (id, user_id, name, sha256, inserted_at, updated_at)',
    ids.map((id, i) => [newId(), id, `token ${i}`, String(i).padStart(64, '0'), now, now]),
  );
  await insert(
    'audit_entries (id, happened_at, actor, user_id, action, kind, record_id, changes)',
    ids.map((id) => [newId(), now, 'web', id, 'update', 'device', newId(), '{}']),
  );
  const tests = ids.slice(0, POLICY_TESTS).map(() => newId());
  await insert(
    'policy_tests (id, name, user_id, destination, protocol, expect, inserted_at, updated_at)',
    tests.map((id, i) => [id, `t${i}`, ids[i] ?? '', '10.0.0.5', 'icmp', 'drop', now, now]),
  );
  return { device: devices[7] ?? '', user: plainUser.id, test: tests[7] ?? '' };
}

/** Each list, and what is in each of its rows; pages of one record. */
const PAGES: readonly (readonly [path: string, row?: RegExp])[] = [
  ['/devices', /<input type=checkbox name=id/g],
  ['/users', /<input type=checkbox name=id/g],
  ['/users/invitations', /<input type=checkbox name=id/g],
  ['/rules', /<input type=checkbox name=id/g],
  ['/users/groups', /href="\/users\/groups\/[0-9a-f-]{36}"/g],
  ['/api_tokens', /<input type=checkbox name=id/g],
  ['/audit', /<details class="entry"/g],
  ['/rules/policy_tests', /href="\/rules\/policy_tests\/[0-9a-f-]{36}"/g],
  ['/rules/policy_tests/new'],
  ['/rules/policy_tests/{test}'],
  ['/devices/{device}'],
  ['/devices/{device}/connections'],
  ['/devices/{device}/packets'],
  ['/devices/{device}/network'],
  ['/devices/{device}/edit'],
  ['/users/{user}'],
  ['/users/{user}/traffic'],
  ['/users/{user}/sign_in'],
  ['/users/{user}/edit'],
];

/** How many statements each page costs. */
async function statementsOf(t: ExecutionContext, count: number): Promise<Record<string, number>> {
  const services = { observed: fakeObserved(), watched: fakeWatched(), live: fakeLive('here') };
  const console = await openConsole(t, 'sqlite', {}, services);
  const ids = await fill(console, count);
  const { sequelize } = console.database;
  let statements = 0;
  const query = sequelize.query.bind(sequelize);
  sequelize.query = ((...args: Parameters<typeof query>) => {
    statements += 1;
    return query(...args);
  }) as typeof sequelize.query;
  const found: Record<string, number> = {};
  for (const [path, row] of PAGES) {
    const name = /\{(\w+)\}/.exec(path)?.[1] as keyof Ids | undefined;
    const here = name === undefined ? path : path.replace(`{${name}}`, ids[name]);
    await console.admin.get(here);
    const first = statements;
    const { status, text } = await console.admin.get(here);
    // The first one, or a late second one, also reads what all pages remember for a second.
    found[path] = Math.min(first, statements - first);
    statements = 0;
    t.is(status, 200, path);
    if (row !== undefined) t.is(text.match(row)?.length, 50, path);
    const bytes = Buffer.byteLength(text);
    t.log(`${path}: ${bytes} bytes, ${found[path]} statements`);
    const most = row === undefined ? PAGE_BYTES_MAX : LIST_BYTES_MAX;
    t.true(bytes <= most, `${path}: ${bytes} bytes`);
  }
  return found;
}

test('a page beside 2,000 records costs as many statements as beside 60, and no more bytes', async (t) => {
  const few = await statementsOf(t, 60);
  t.true(Object.values(few).every((count) => count > 0));
  t.deepEqual(await statementsOf(t, 2_000), few);
});
