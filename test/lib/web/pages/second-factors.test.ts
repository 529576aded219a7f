// Setting second factors up and taking them away.

import { Secret, TOTP, URI } from 'otpauth';
import test from 'ava';
import { firstKind } from '../../../support/database/databases.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { addPerson, endSessionsBefore, Visitor } from '../../../support/web/visitor.ts';

const EMAIL = 'ann@example.com';

function code(secret: string, steps = 0): string {
  const timestamp = Date.now() + steps * 30_000;
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
}

async function signedIn(server: TestServer): Promise<Visitor> {
  const visitor = new Visitor(server);
  await visitor.signIn(EMAIL);
  return visitor;
}

/** Opens the page and reads what an authenticator would read. */
async function begin(visitor: Visitor): Promise<{ sealed: string; secret: string }> {
  const { text } = await visitor.get('/user_account/register_mfa');
  const sealed = /name="sealed" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(text)?.[1]?.replaceAll(' ', '') ?? '';
  return { sealed, secret };
}

async function enrol(visitor: Visitor): Promise<{ secret: string; codes: string[] }> {
  const { sealed, secret } = await begin(visitor);
  const form = { sealed, name: 'phone', code: code(secret) };
  const { text } = await visitor.post('/user_account/register_mfa', form);
  const codes = [...text.matchAll(/<li><code>([^<]+)</g)].map(([, one = '']) => one);
  return { secret, codes };
}

for (const kind of firstKind()) {
  test(`${kind}: one is set up with a code, shows recovery codes once, and signs others out`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const [visitor, other] = [await signedIn(server), await signedIn(server)];
    const before = visitor.cookies.get('postern-session');
    const { codes } = await enrol(visitor);
    t.is(codes.length, 10);
    t.not(visitor.cookies.get('postern-session'), before);
    t.is((await other.get('/user_account')).status, 302);
    const { status, text } = await visitor.get('/user_account');
    t.is(status, 200);
    t.true(text.includes('10 recovery codes are'));
    for (const one of codes) t.false(text.includes(one));
    t.is((await signedIn(server)).cookies.size, 1);
    t.is((await (await signedIn(server)).get('/user_account')).location, '/mfa/auth');
  });

  test(`${kind}: a phone opens its own authenticator, or takes a copy of the secret`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const { text } = await visitor.get('/user_account/register_mfa');
    const address = /href="(otpauth:[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const [, secret = ''] = /<span id="secret"><code>([A-Z2-7 ]+)<\/code>/.exec(text) ?? [];
    const opened = URI.parse(address);
    t.is(opened.label, EMAIL);
    t.is(opened.secret.base32, secret.replaceAll(' ', ''));
    t.true(text.includes('data-copy="secret"'));
  });

  test(`${kind}: a wrong code, no name, another session's form set nothing up`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const { sealed, secret } = await begin(visitor);
    const good = { sealed, name: 'phone', code: code(secret) };
    const rows: [number, Record<string, string>][] = [
      [422, { code: '000000' }],
      [422, { code: code(secret, -5) }],
      [422, { code: '' }],
      [422, { name: ' ' }],
      [422, { name: 'x'.repeat(101) }],
      [422, { name: 'a\u0000b' }],
      [403, { sealed: '' }],
      [403, { sealed: 'x' }],
    ];
    for (const [status, bad] of rows) {
      const shown = await visitor.post('/user_account/register_mfa', { ...good, ...bad });
      t.is(shown.status, status, JSON.stringify(bad));
    }
    const other = await signedIn(server);
    await other.get('/user_account');
    t.is((await other.post('/user_account/register_mfa', good)).status, 403);
    t.is(await server.database.models.SecondFactor.count(), 0);
  });

  test(`${kind}: names are shown as text`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const { sealed, secret } = await begin(visitor);
    const name = `"><script>alert(1)</script>`;
    await visitor.post('/user_account/register_mfa', { sealed, name, code: code(secret) });
    const { text } = await visitor.get('/user_account');
    t.false(text.includes('<script>alert'));
    t.true(text.includes('&lt;script&gt;alert(1)&lt;/script&gt;'));
  });

  test(`${kind}: removing one, and new recovery codes, ask for a code`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const { codes } = await enrol(visitor);
    const [one] = await server.database.models.SecondFactor.findAll();
    const remove = `/user_account/second_factors/${one?.id}/remove`;
    for (const path of [remove, '/user_account/recovery_codes']) {
      t.is((await visitor.get(path)).status, 200);
      t.is((await visitor.post(path, { code: '000000' })).status, 422, path);
      t.is((await visitor.post(path)).status, 422, path);
    }
    t.is((await visitor.post(remove)).status, 422);
    t.is((await visitor.post(remove)).status, 422);
    const { counters } = server.services;
    t.is(counters.of('sign_ins', 'bad_own_code'), 5);
    t.is(counters.of('sign_ins', 'too_many_own_codes'), 1);
    await server.database.models.SignInAttempt.destroy({ where: {} });
    const renewed = await visitor.post('/user_account/recovery_codes', { code: codes[0] ?? '' });
    t.is(renewed.status, 200);
    const [fresh = ''] = [...renewed.text.matchAll(/<li><code>([^<]+)</g)].map(([, c = '']) => c);
    t.is((await visitor.post(remove, { code: codes[1] ?? '' })).status, 422, 'void by now');
    t.is((await visitor.post(remove, { code: fresh })).status, 303);
    t.is(await server.database.models.SecondFactor.count(), 0);
    t.is((await (await signedIn(server)).get('/user_account')).status, 200);
  });

  test(`${kind}: another one asks for a code, so that a browser left open adds none of its finder's`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    t.false((await visitor.get('/user_account/register_mfa')).text.includes('present_code'));
    const { codes } = await enrol(visitor);
    const { sealed, secret } = await begin(visitor);
    t.true((await visitor.get('/user_account/register_mfa')).text.includes('present_code'));
    const form = { sealed, name: 'tablet', code: code(secret) };
    for (const bad of [{}, { present_code: '000000' }, { present_code: form.code }]) {
      const shown = await visitor.post('/user_account/register_mfa', { ...form, ...bad });
      t.is(shown.status, 422, JSON.stringify(bad));
      t.regex(shown.text, /id="field-present_code-error"[^]*This code is wrong/);
    }
    t.is(await server.database.models.SecondFactor.count(), 1);
    const [good = ''] = codes;
    const mistyped = { ...form, code: '000000', present_code: good };
    t.is((await visitor.post('/user_account/register_mfa', mistyped)).status, 422);
    const added = await visitor.post('/user_account/register_mfa', { ...form, present_code: good });
    t.is(added.status, 303, 'a code beside a mistyped one is not spent');
    t.is(await server.database.models.SecondFactor.count(), 2);
    const again = await begin(visitor);
    const spent = { sealed: again.sealed, name: 'watch', code: code(again.secret) };
    const refused = await visitor.post('/user_account/register_mfa', {
      ...spent,
      present_code: good,
    });
    t.is(refused.status, 422, 'a code serves once');
  });

  test(`${kind}: guesses at the code for another one are counted`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const { codes } = await enrol(visitor);
    const { sealed, secret } = await begin(visitor);
    const form = { sealed, name: 'tablet', code: code(secret) };
    for (let n = 0; n < 5; n += 1)
      await visitor.post('/user_account/register_mfa', { ...form, present_code: `00000${n}` });
    const late = { ...form, present_code: codes[0] ?? '' };
    t.is((await visitor.post('/user_account/register_mfa', late)).status, 422);
    t.is(await server.database.models.SecondFactor.count(), 1);
  });

  test(`${kind}: a session that was ended in between sets nothing up, and begets no other`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const { sealed, secret } = await begin(visitor);
    endSessionsBefore(server, '/user_account/register_mfa');
    const form = { sealed, name: 'phone', code: code(secret) };
    t.is((await visitor.post('/user_account/register_mfa', form)).status, 403);
    t.is(await server.database.models.SecondFactor.count(), 0);
    t.is(await server.database.models.Session.count(), 0);
  });

  test(`${kind}: nobody removes another's`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    await addPerson(server.database, 'ben@example.com');
    const ben = new Visitor(server);
    await ben.signIn('ben@example.com');
    await enrol(ben);
    const [bens] = await server.database.models.SecondFactor.findAll();
    const ann = await signedIn(server);
    const { codes } = await enrol(ann);
    const path = `/user_account/second_factors/${bens?.id}/remove`;
    await ann.get('/user_account');
    t.is((await ann.post(path, { code: codes[0] ?? '' })).status, 404);
    t.is(await server.database.models.SecondFactor.count(), 2);
  });
}
