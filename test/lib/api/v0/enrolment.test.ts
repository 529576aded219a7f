// The one-time link of a user over the API: made, shown once, replaced, revoked, audited.

import test from 'ava';
import { Mailer } from '../../../../lib/kit/mail/mailer.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { logInto } from '../../../../lib/testing/log.ts';
import { readAuditEntries } from '../../../../models/index.ts';
import { ADMIN_EMAIL, openServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { openSmtpServer } from '../../../support/network/smtp-server.ts';
import { addUser } from '../../../support/database/records.ts';

const HOUR_MS = 3_600_000;
const EMAIL = 'anna@example.com';

for (const kind of databaseKinds()) {
  test(`${kind}: a link is made, shown once, replaced and revoked`, async (t) => {
    const { send, adminId, database, services } = await openServer(t, kind);
    const user = await addUser(database, { email: EMAIL });
    const path = `/v0/users/${user.id}/enrolment`;
    t.is((await send('GET', path)).status, 404, 'none was made');
    t.is((await send('DELETE', path)).status, 404);

    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const made = await send('POST', `/v0/users/ANNA%40example.com/enrolment`, {
      body: { enrolment: { hours: 2 } },
      headers,
    });
    t.is(made.status, 201, made.text);
    t.is(made.headers['location'], path);
    const { url, expires_at, inserted_at, ...rest } = made.body.data;
    const base = `${services.config.externalUrl.replace(/\/$/, '')}/one_time_links/`;
    t.true(url.startsWith(base), url);
    const secret = url.slice(base.length);
    t.regex(secret, /^[\w-]{43}$/);
    const shown = { user_id: user.id, email: EMAIL, state: 'open', created_by: adminId };
    const unsent = { mailed_at: null, mail_fault: null };
    t.deepEqual(rest, { ...shown, ...unsent, used_at: null });
    t.is(Date.parse(expires_at) - Date.parse(inserted_at), 2 * HOUR_MS);

    const { body, text } = await send(
      'GET',
      path.toUpperCase().replace('/V0/USERS', '/v0/users').replace('ENROLMENT', 'enrolment'),
    );
    t.deepEqual(body.data, { ...rest, expires_at, inserted_at });
    t.false(text.includes(secret) || /[0-9a-f]{64}/.test(text), 'neither link nor hash');

    const second = await send('POST', path, { body: { enrolment: {} } });
    t.is(second.status, 201);
    t.not(second.body.data.url, url);
    t.is(
      Date.parse(second.body.data.expires_at) - Date.parse(second.body.data.inserted_at),
      72 * HOUR_MS,
    );
    t.is(await database.models.OneTimeLink.count(), 1, 'the first is void');

    t.is((await send('DELETE', path)).status, 204);
    t.is((await send('GET', path)).status, 404);
    const entries = await readAuditEntries(database, { kind: 'user', recordId: user.id, limit: 9 });
    t.deepEqual(
      entries.map(({ action, email }) => [action, email]).filter(([action]) => action !== 'create'),
      ['make link', 'make link', 'revoke link'].map((action) => [action, ADMIN_EMAIL]),
    );
    t.false(JSON.stringify(entries).includes(secret));
  });

  test(`${kind}: what is wrong is named`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addUser(database, { email: EMAIL });
    const path = `/v0/users/${id}/enrolment`;
    for (const hours of [0, 337, 'x', 1.5]) {
      const { status, body } = await send('POST', path, { body: { enrolment: { hours } } });
      t.is(status, 422, String(hours));
      t.deepEqual(Object.keys(body.errors), ['hours']);
    }
    t.is((await send('POST', path, { body: {} })).status, 400, 'without the wrapper');
    for (const method of ['GET', 'DELETE'])
      t.is((await send(method, '/v0/users/nobody@example.com/enrolment')).status, 404);
    const unknown = await send('POST', '/v0/users/nobody@example.com/enrolment', {
      body: { enrolment: {} },
    });
    t.is(unknown.status, 404);
    await send('PATCH', `/v0/users/${id}`, { body: { user: { enabled: false } } });
    const { status, body } = await send('POST', path, { body: { enrolment: {} } });
    t.is(status, 422);
    t.deepEqual(body.errors, { base: ['is disabled, so a link of this user would not work'] });
    t.is(await database.models.OneTimeLink.count(), 0);
  });

  test(`${kind}: a link ends when the user gets another e-mail`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addUser(database, { email: EMAIL });
    const path = `/v0/users/${id}/enrolment`;
    await send('POST', path, { body: { enrolment: {} } });
    await send('PATCH', `/v0/users/${id}`, { body: { user: { email: 'b@example.com' } } });
    t.is((await send('GET', path)).status, 404);
  });
}

for (const kind of databaseKinds())
  test(`${kind}: a link goes by mail, and what the mail server refuses is said`, async (t) => {
    const smtp = await openSmtpServer(t);
    const means = { counters: new Counters(), log: logInto([]) };
    const mails = new Mailer(smtp.url, 'vpn@example.com', means);
    t.teardown(() => mails.stop());
    const { send, database } = await openServer(t, kind, smtp.settings, { mails });
    const { id } = await addUser(database, { email: EMAIL });
    const path = `/v0/users/${id}/enrolment`;
    const body = { enrolment: { mail: true } };
    const made = await send('POST', path, { body });
    t.is(made.status, 201, made.text);
    t.is(made.body.data.mail_fault, null);
    t.truthy(made.body.data.mailed_at);
    t.deepEqual(smtp.mails[0]?.to, [EMAIL]);
    t.true(smtp.mails[0]?.text.includes(made.body.data.url));
    t.is((await send('GET', path)).body.data.mailed_at, made.body.data.mailed_at);
    smtp.manners.refuses = { RCPT: '550 unknown' };
    const refused = await send('POST', path, { body });
    t.is(refused.status, 201);
    t.is(refused.body.data.mailed_at, null);
    t.regex(refused.body.data.mail_fault, /refused the mail \(it answered 550\)/);
    const without = await openServer(t, kind);
    const user = await addUser(without.database, { email: EMAIL });
    const answer = await without.send('POST', `/v0/users/${user.id}/enrolment`, { body });
    t.is(answer.status, 422);
    t.deepEqual(answer.body.errors, { mail: ['needs the settings SMTP_URL and MAIL_FROM'] });
  });

for (const kind of databaseKinds())
  test(`${kind}: a link may be revoked while its mail is under way`, async (t) => {
    const revoke = async (): Promise<null> => {
      const shown = await server.send('GET', path);
      t.regex(shown.body.data.mail_fault, /^The mail was not sent yet/);
      t.is((await server.send('DELETE', path)).status, 204);
      return null;
    };
    const mails = { send: revoke, later: () => false };
    const server = await openServer(t, kind, {}, { mails });
    const { id } = await addUser(server.database, { email: EMAIL });
    const path = `/v0/users/${id}/enrolment`;
    const { status, body, text } = await server.send('POST', path, {
      body: { enrolment: { mail: true } },
    });
    t.is(status, 201, text);
    t.truthy(body.data.mailed_at);
    t.is((await server.send('GET', path)).status, 404);
  });
