// Forms: no other site, and nobody without the token of this browser, can change anything.

import test from 'ava';
import { textOf, textsOf } from '../../../../lib/web/kit/form-token.ts';
import { formToken, newSecret } from '../../../../lib/auth/browser-cookies.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openServer } from '../../../support/api/server.ts';
import { addPerson, PASSWORD, Visitor } from '../../../support/web/visitor.ts';

const EMAIL = 'ann@example.com';
const FORM = { email: EMAIL, password: PASSWORD };

for (const kind of firstKind()) {
  test(`${kind}: a form without the token of this browser is refused, sign-in included`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = new Visitor(server);
    const other = new Visitor(server);
    for (const one of [visitor, other]) await one.get('/');
    const good = visitor.token;
    const bad = ['', 'x', other.token, `${good}x`, good.slice(1), formToken(newSecret())];
    for (const path of ['/auth/identity/callback', '/auth/identity', '/sign_out'])
      for (const token of bad) {
        const shown = await visitor.post(path, { ...FORM, csrf_token: token });
        t.is(shown.status, 403, path);
        t.regex(shown.text, /This form is out of date/);
      }
    const without = await visitor.send('POST', '/auth/identity', FORM);
    t.is(without.status, 403);
    t.is(await server.database.models.Session.count(), 0);
    t.is(await server.database.models.SignInAttempt.count(), 0, 'checked before the handler');
    t.is((await visitor.post('/auth/identity', { ...FORM, csrf_token: good })).status, 303);
  });

  test(`${kind}: no other site can sign a browser in as another user`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    // The token comes from the browser of the attacker; the browser of the victim has another
    // cookie.
    const attacker = new Visitor(server);
    await attacker.get('/');
    const victim = new Visitor(server);
    const form = { ...FORM, csrf_token: attacker.token };
    const bare = await victim.post('/auth/identity', form);
    t.is(bare.status, 403);
    t.regex(bare.text, /sent no cookie/);
    t.regex(bare.text, /http:\/\/127\.0\.0\.1:13000\//, 'and where it would');
    victim.cookies.clear();
    await victim.get('/');
    t.is(
      (await victim.post('/auth/identity', { ...FORM, csrf_token: attacker.token })).status,
      403,
    );
  });

  test(`${kind}: headers by which browsers announce another site are believed`, async (t) => {
    const server = await openServer(t, kind, { EXTERNAL_URL: 'http://vpn.example.com/' });
    await addPerson(server.database, EMAIL);
    const rows: [number, Record<string, string>][] = [
      [303, {}],
      [303, { origin: 'http://vpn.example.com' }],
      [303, { origin: 'http://127.0.0.1:13000' }],
      [303, { 'sec-fetch-site': 'same-origin' }],
      [303, { 'sec-fetch-site': 'none' }],
      [403, { 'sec-fetch-site': 'cross-site' }],
      [403, { 'sec-fetch-site': 'same-site' }],
      [403, { origin: 'http://evil.example' }],
      [403, { origin: 'http://vpn.example.com.evil.example' }],
      [403, { origin: 'https://vpn.example.com' }],
      [403, { origin: 'http://127.0.0.1:13001' }],
      [403, { origin: 'null' }],
      [403, { origin: '' }],
    ];
    for (const [status, headers] of rows) {
      const visitor = new Visitor(server);
      await visitor.get('/');
      visitor.headers = { ...visitor.headers, ...headers };
      t.is((await visitor.post('/auth/identity', FORM)).status, status, JSON.stringify(headers));
    }
  });

  test(`${kind}: the token from before the sign-in no longer works afterwards`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = new Visitor(server);
    await visitor.get('/');
    const before = visitor.token;
    await visitor.post('/auth/identity', FORM);
    t.is((await visitor.post('/sign_out', { csrf_token: before })).status, 403);
    await visitor.get('/user_account');
    t.not(visitor.token, before);
    t.is((await visitor.post('/sign_out')).status, 303);
  });

  test(`${kind}: a script sends the token as a header`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = new Visitor(server);
    await visitor.signIn(EMAIL);
    await visitor.get('/user_account');
    visitor.headers['accept'] = '*/*';
    const bare = await visitor.send('DELETE', '/sign_out');
    t.is(bare.status, 403);
    t.regex(bare.text, /"errors":\{"csrf_token":\[".*x-csrf-token/, 'the fix is named');
    visitor.headers['x-csrf-token'] = visitor.token;
    t.is((await visitor.send('DELETE', '/sign_out')).status, 303);
  });

  test(`${kind}: a body that is no form, or too large, is refused`, async (t) => {
    const server = await openServer(t, kind);
    const visitor = new Visitor(server);
    await visitor.get('/');
    t.is((await visitor.post('/auth/identity', { email: 'x'.repeat(65_537) })).status, 413);
    visitor.headers['content-type'] = 'text/plain';
    t.is((await visitor.send('POST', '/auth/identity')).status, 415);
  });
}

test('all fields are read as text', (t) => {
  const payload = { one: 'a', two: ['a', 'b'], three: { a: 1 }, four: null };
  t.is(textOf({ payload }, 'one'), 'a');
  for (const name of ['two', 'three', 'four', 'five', 'constructor', '__proto__'])
    t.is(textOf({ payload }, name), '', name);
  t.is(textOf({ payload: 'text' }, 'length'), '');
  t.is(textOf({ payload: null } as never, 'x'), '');
  t.deepEqual(textsOf({ payload }, 'two'), ['a', 'b']);
  t.deepEqual(textsOf({ payload }, 'one'), ['a']);
  t.deepEqual(textsOf({ payload }, 'five'), []);
});
