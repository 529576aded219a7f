// The account of the user who is signed in: the password, and the browsers with a session.

import test from 'ava';
import { readAuditEntries, writeTransaction } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { addPerson, PASSWORD, Visitor } from '../../../support/web/visitor.ts';

const EMAIL = 'ann@example.com';
const NEW = 'staple staple staple';
const PATH = '/user_account/change_password';

async function signedIn(server: TestServer, agent = 'Browser/1'): Promise<Visitor> {
  const visitor = new Visitor(server);
  visitor.headers['user-agent'] = agent;
  await visitor.signIn(EMAIL);
  await visitor.get('/user_account');
  return visitor;
}

const form = (values: Record<string, string> = {}): Record<string, string> => ({
  current_password: PASSWORD,
  password: NEW,
  password_confirmation: NEW,
  ...values,
});

for (const kind of firstKind()) {
  test(`${kind}: a new password ends every other session, and keeps this one`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const [visitor, other] = [await signedIn(server), await signedIn(server)];
    const before = visitor.cookies.get('postern-session');
    t.is((await visitor.post(PATH, form())).status, 303);
    t.not(visitor.cookies.get('postern-session'), before);
    const { status, text } = await visitor.get('/user_account');
    t.is(status, 200);
    t.true(text.includes('Your password is changed.'));
    t.is((await other.get('/user_account')).status, 302);
    t.is((await new Visitor(server).signIn(EMAIL, PASSWORD)).status, 401);
    t.is((await new Visitor(server).signIn(EMAIL, NEW)).status, 303);
    const entries = await readAuditEntries(server.database, { limit: 20 });
    const change = entries.find(({ action }) => action === 'update');
    t.like(change, { kind: 'user', email: EMAIL, changes: { password: { changed: true } } });
  });

  test(`${kind}: every error of a new password is shown, and nothing changes`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const rows: [string, Record<string, string>, RegExp][] = [
      ['the present one', { current_password: 'x' }, /is not your present password/],
      [
        'beyond what bcrypt reads',
        { current_password: `${PASSWORD}x` },
        /is not your present password/,
      ],
      ['none', { current_password: '' }, /is not your present password/],
      ['too short', { password: 'short', password_confirmation: 'short' }, /at least 12 character/],
      ['too long', { password: 'x'.repeat(65) }, /at most 64 character/],
      ['too many bytes', { password: '€'.repeat(30) }, /at most 72 byte/],
      [
        'the same as now',
        { password: PASSWORD, password_confirmation: PASSWORD },
        /This is your present password\. Please choose another one/,
      ],
      ['empty', { password: '', password_confirmation: '' }, /Please fill this in/],
      ['not confirmed', { password_confirmation: '' }, /Please fill this in/],
      [
        'confirmed otherwise',
        { password_confirmation: `${NEW}x` },
        /The two entries are not the same/,
      ],
    ];
    for (const [says, values, words] of rows) {
      const visitor = await signedIn(server);
      const shown = await visitor.post(PATH, form(values));
      t.is(shown.status, 422, says);
      t.regex(shown.text, words, says);
      for (const secret of [PASSWORD, NEW]) t.false(shown.text.includes(secret), says);
      await server.database.models.SignInAttempt.destroy({ where: {} });
    }
    t.is((await new Visitor(server).signIn(EMAIL)).status, 303);
  });

  test(`${kind}: the name of a person is beside the e-mail, as text, where there is one`, async (t) => {
    const server = await openServer(t, kind);
    const user = await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    t.false((await visitor.get('/user_account')).text.includes('<dt>Name</dt>'));
    await writeTransaction(server.database, (transaction) =>
      user.update({ name: 'Ann <b>Smith</b>' }, { transaction }),
    );
    const { text } = await visitor.get('/user_account');
    t.true(text.includes('<dt>Name</dt><dd>Ann &lt;b&gt;Smith&lt;/b&gt;</dd>'));
    t.true(text.includes(`<dt>E-mail</dt><dd>${EMAIL}</dd>`));
  });

  test(`${kind}: an open browser cannot be used to guess the present password`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    for (let n = 0; n < 5; n += 1) await visitor.post(PATH, form({ current_password: 'guess' }));
    t.is((await visitor.post(PATH, form())).status, 422);
    const { counters } = server.services;
    t.is(counters.of('sign_ins', 'bad_own_password'), 5);
    t.is(counters.of('sign_ins', 'too_many_own_passwords'), 1);
  });

  test(`${kind}: a user without a password reads so, and cannot set one`, async (t) => {
    const server = await openServer(t, kind);
    const user = await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    await server.database.sequelize.query('UPDATE users SET password_hash = NULL');
    t.false((await visitor.get(PATH)).text.includes('type="password"'));
    t.is((await visitor.post(PATH, form({ current_password: '' }))).status, 422);
    t.is((await user.reload()).password_hash, null);
  });

  test(`${kind}: sessions are listed as text, and can be ended one by one or all others at once`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server, 'Mine/1');
    const others = [
      await signedIn(server, '<script>alert(1)</script>'),
      await signedIn(server, `${'x'.repeat(400)}`),
      await signedIn(server, 'Third/1'),
    ];
    const { text } = await visitor.get('/user_account');
    t.false(text.includes('<script>alert'));
    t.is(text.match(/this browser/g)?.length, 1);
    const seen_at = new Date(Date.now() + 86_400_000);
    const where = { user_agent: '<script>alert(1)</script>' };
    await server.database.models.Session.update({ seen_at }, { where });
    const before = await visitor.get('/user_account');
    t.is(before.text.match(/\/end"/g)?.length, 2, 'one of a clock far ahead is over');
    await server.database.models.Session.update({ seen_at: new Date() }, { where });
    const ids = [...text.matchAll(/sessions\/([0-9a-f-]{36})\/end"/g)].map(([, id]) => id);
    t.is(ids.length, 3);
    t.is((await visitor.post(`/user_account/sessions/${ids[0]}/end`)).status, 303);
    t.is((await visitor.post(`/user_account/sessions/${ids[0]}/end`)).status, 404);
    t.is(await server.database.models.Session.count(), 3);
    await visitor.post('/user_account/sessions/end_others');
    t.is(await server.database.models.Session.count(), 1);
    for (const other of others) t.is((await other.get('/user_account')).status, 302);
    t.is((await visitor.get('/user_account')).status, 200);
  });

  test(`${kind}: nobody can end the session of another user`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    await addPerson(server.database, 'ben@example.com');
    const ben = new Visitor(server);
    await ben.signIn('ben@example.com');
    const [bens] = await server.database.models.Session.findAll();
    const ann = await signedIn(server);
    t.is((await ann.post(`/user_account/sessions/${bens?.id}/end`)).status, 404);
    t.is((await ben.get('/user_account')).status, 200);
  });
}
