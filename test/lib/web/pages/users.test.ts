// The table of users, and the form that creates one.

import test from 'ava';
import { firstKind } from '../../../support/database/databases.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { addPerson, PASSWORD, personOf, Visitor } from '../../../support/web/visitor.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators can see and create users`, async (t) => {
    const console = await openConsole(t, kind);
    await checkGuard(t, console, { pages: ['/users', '/users/new'], forms: ['/users/new'] });
    t.is(await console.database.models.User.count(), 3);
  });

  test(`${kind}: users are listed, searched and shown in pages`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    for (let i = 0; i < 51; i += 1) await addPerson(database, `p${i}@pages.example`);
    const first = await admin.get('/users?q=PAGES');
    t.is(first.text.match(/@pages\.example<\/a>/g)?.length, 50);
    t.true(first.text.includes('href="/users?q=PAGES&amp;page=2"'));
    const second = await admin.get('/users?q=PAGES&page=2');
    t.is(second.text.match(/@pages\.example<\/a>/g)?.length, 1);
    t.true(second.text.includes('href="/users?q=PAGES"'));
    const none = await admin.get('/users?q=nobody%25');
    t.true(none.text.includes('No user is found'));
    for (const query of ['page=0', 'page=x', 'page=99999', 'q=a&q=b', 'q=%00', '__proto__=1'])
      t.is((await admin.get(`/users?${query}`)).status, 200, query);
  });

  test(`${kind}: a user is created by the rules of the API, and can sign in`, async (t) => {
    const { admin, server, database, adminUser } = await openConsole(t, kind);
    await admin.get('/users/new');
    const form = { email: ' New@Example.com ', role: 'admin', password: PASSWORD };
    const made = await admin.post('/users/new', { ...form, password_confirmation: PASSWORD });
    t.is(made.status, 303, made.text);
    const user = await personOf(database, 'new@example.com');
    t.is(made.location, `/users/${user.id}`);
    t.is(user.role, 'admin');
    t.is((await new Visitor({ server }).signIn('new@example.com')).status, 303);
    const shown = await admin.get(`/users/${user.id}`);
    t.true(shown.text.includes('New@Example.com is added.'));
    const [entry] = await database.models.AuditEntry.findAll({ where: { record_id: user.id } });
    t.is(entry?.email, adminUser.email);
  });

  test(`${kind}: an error is shown at its field, and what was typed is kept`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get('/users/new');
    const typed = { email: `user@example.com`, role: 'king', password: 'short' };
    const answer = await admin.post('/users/new', typed);
    t.is(answer.status, 422);
    for (const message of [
      'This is already in use',
      'This cannot be read',
      'Please use at least 12 characters',
      'Please fill this in',
    ])
      t.true(answer.text.includes(message), message);
    t.true(answer.text.includes('value="user@example.com"'));
    t.false(answer.text.includes('short'), 'a password is never sent back');
    t.is(await database.models.User.count(), 3);
    const nasty = await admin.post('/users/new', { email: NASTY, role: NASTY });
    checkText(t, nasty, 'a form');
  });

  test(`${kind}: an e-mail is shown as text on every page`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const { id } = await addPerson(database, `${NASTY}@example.com`);
    checkText(t, await admin.get('/users'), 'the table');
    checkText(t, await admin.get(`/users?q=${encodeURIComponent(NASTY)}`), 'the search');
    checkText(t, await admin.get(`/users/${id}`), 'the page');
  });

  test(`${kind}: many users are disabled and deleted at once, except the last administrator`, async (t) => {
    const { admin, adminUser, database, plainUser } = await openConsole(t, kind);
    const other = await addPerson(database, 'other@example.com');
    await admin.get('/users');
    const both: [string, string][] = [adminUser, other].map(({ id }) => ['id', id]);
    const asked = await admin.postPairs('/users/many', [['do', 'disable'], ...both]);
    t.regex(asked.text, /2 users:/);
    const sure = [['do', 'disable'], ['sure', 'true'], ...both] as [string, string][];
    t.is((await admin.postPairs('/users/many', sure)).status, 303);
    const page = await admin.get('/users?state=disabled');
    t.regex(
      page.text,
      /1 user is disabled. 1 user could not be: boss@example\.com \(You cannot disable yourself\)\./,
    );
    t.regex(page.text, />other@example\.com<\/a>/);
    t.notRegex(page.text, />user@example\.com<\/a>/);
    const enable = { do: 'enable', id: other.id };
    await admin.post('/users/many', enable);
    t.regex((await admin.get('/users')).text, /Nothing was chosen/, 'that asks for less');
    await admin.post('/users/many_enabled', enable);
    t.regex((await admin.get('/users')).text, /1 user is enabled/);
    await admin.post('/users/many', { do: 'remove', sure: 'true', id: plainUser.id });
    t.is(await database.models.User.count(), 3);
  });

  test(`${kind}: a search can be downloaded as a file, in which no text is a formula`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    await addPerson(database, '=cmd|x@example.com');
    await checkGuard(t, console, { pages: ['/users.csv', '/devices.csv', '/rules.csv'] });
    const { headers, text } = await admin.get('/users.csv?sort=-email');
    t.is(headers['content-disposition'], 'attachment; filename="users.csv"');
    t.regex(text, /^id,email,role,state,devices,/);
    t.is(text.trim().split('\r\n').length, 5);
    t.true(text.includes(",'=cmd|x@example.com,unprivileged,enabled,0,"));
    t.is((await admin.get('/users.csv?q=nobody')).text.trim().split('\r\n').length, 1);
  });
}
