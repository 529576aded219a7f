// Invitations in the console: what became of each, sending again, and revoking.

import test from 'ava';
import { Mailer, WAITING_MAX } from '../../../../lib/kit/mail/mailer.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { logInto } from '../../../../lib/testing/log.ts';
import { findLinkOf } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { until } from '../../../support/gateway/postern.ts';
import { openSmtpServer } from '../../../support/network/smtp-server.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { addPerson, personOf, Visitor } from '../../../support/web/visitor.ts';

const PATH = '/users/invitations';
const LINK = /\/one_time_links\/[\w-]{43}/g;

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change invitations`, async (t) => {
    const console = await openConsole(t, kind);
    await checkGuard(t, console, {
      pages: [PATH, `${PATH}.csv`],
      forms: [`${PATH}/many`, `${PATH}/send`],
    });
  });

  test(`${kind}: the list says what became of each link, and holds none`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    t.regex((await admin.get(PATH)).text, /Nobody is invited/);
    await admin.get('/users/enrol');
    const emails = ['a', 'b', 'c'].map((name) => `${name}@example.com`).join('\n');
    const made = await admin.post('/users/enrol', { emails, hours: '24' });
    const [first = ''] = made.text.match(LINK) ?? [];
    const { id } = await personOf(database, 'b@example.com');
    const over = { expires_at: new Date(Date.now() - 1_000) };
    await database.models.OneTimeLink.update(over, { where: { user_id: id } });
    const person = new Visitor(console);
    await person.get(first);
    const password = 'correct horse battery';
    await person.post(first, { password, password_confirmation: password });

    const found = async (query: string) =>
      (await admin.get(`${PATH}${query}`)).text.match(/[abc]@example\.com(?=<\/a>)/g);
    t.deepEqual(await found('?sort=email'), ['a@example.com', 'b@example.com', 'c@example.com']);
    t.deepEqual(await found('?state=used'), ['a@example.com']);
    t.deepEqual(await found('?state=over'), ['b@example.com']);
    t.deepEqual(await found('?state=open'), ['c@example.com']);
    const list = await admin.get(PATH);
    t.regex(list.text, /Handed over without a mail/);
    t.regex(
      list.text,
      /<time datetime="[^"]*" data-ago>in (23 hours|24 hours|1 day)</,
      'as other times are shown',
    );
    t.notRegex(list.text, LINK);
    t.false(list.text.includes('Send again'), 'there is no mail server');
    const { text } = await admin.get(`${PATH}.csv?sort=email`);
    t.regex(text, /^user_id,email,state,made_at,/);
    t.deepEqual(text.match(/,(used|expired|open),/g), [',used,', ',expired,', ',open,']);
    t.notRegex(text, LINK);
  });

  test(`${kind}: an invitation is revoked after a question, alone and with others`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    await admin.get('/users/enrol');
    const made = await admin.post('/users/enrol', {
      emails: 'a@example.com\nb@example.com',
      hours: '1',
    });
    const ids = await Promise.all(
      ['a@example.com', 'b@example.com'].map(async (email) => (await personOf(database, email)).id),
    );
    const pairs = ids.map((id): [string, string] => ['id', id]);
    const asked = await admin.postPairs(`${PATH}/many`, [['do', 'revoke'], ...pairs]);
    t.regex(asked.text, /Revoke these invitations\?/);
    t.is(await database.models.OneTimeLink.count(), 2);
    await admin.postPairs(`${PATH}/many`, [['do', 'revoke'], ['sure', 'true'], ...pairs]);
    t.is(await database.models.OneTimeLink.count(), 0);
    t.regex((await admin.get(PATH)).text, /2 invitations are revoked/);
    for (const link of made.text.match(LINK) ?? [])
      t.is((await new Visitor(console).get(link)).status, 404);
    // Without a mail server nothing can be sent, whatever a form says.
    await admin.post(`${PATH}/send`, { do: 'send', id: ids[0] ?? '' });
    t.regex((await admin.get(PATH)).text, /Nothing was chosen/);
    t.is(await database.models.OneTimeLink.count(), 0);
  });

  test(`${kind}: sending again makes another link, which only its mail holds`, async (t) => {
    const smtp = await openSmtpServer(t);
    const mails = new Mailer(smtp.url, 'vpn@example.com', {
      counters: new Counters(),
      log: logInto([]),
    });
    t.teardown(() => mails.stop());
    const console = await openConsole(t, kind, smtp.settings, { mails });
    const { admin, database, plainUser, adminUser } = console;
    await admin.get('/users/enrol');
    const made = await admin.post('/users/enrol', { emails: plainUser.email, hours: '1' });
    const [before = ''] = made.text.match(LINK) ?? [];
    t.true((await admin.get(PATH)).text.includes('Send again'));
    const sent = await admin.post(`${PATH}/send`, { do: 'send', id: plainUser.id });
    t.is(sent.location, PATH);
    await smtp.waitFor(1);
    const [after = ''] = smtp.mails[0]?.text.match(LINK) ?? [];
    t.not(after, before);
    t.is((await new Visitor(console).get(before)).status, 404);
    t.is((await new Visitor(console).get(after)).status, 200);
    await until('the mail is noted', async () =>
      (await admin.get(PATH)).text.includes('Mail sent'),
    );
    t.notRegex((await admin.get(PATH)).text, LINK);
    const link = await findLinkOf(database, plainUser.id, 'enrolment');
    t.is(link?.created_by, adminUser.id);
    t.is(
      await database.models.AuditEntry.count({
        where: { record_id: plainUser.id, action: 'make link' },
      }),
      2,
    );

    await admin.get(`/users/${plainUser.id}`);
    await admin.post(`/users/${plainUser.id}/disable`);
    await admin.get(PATH);
    await admin.post(`${PATH}/send`, { do: 'send', id: plainUser.id });
    t.regex((await admin.get(PATH)).text, /user@example\.com \(is disabled, so a link/i);
    t.is(await database.models.OneTimeLink.count(), 0);
    t.is(smtp.mails.length, 1);
  });

  test(`${kind}: only who has an invitation is sent another one`, async (t) => {
    const smtp = await openSmtpServer(t);
    const mails = new Mailer(smtp.url, 'vpn@example.com', {
      counters: new Counters(),
      log: logInto([]),
    });
    t.teardown(() => mails.stop());
    const { admin, database, plainUser, adminUser } = await openConsole(t, kind, smtp.settings, {
      mails,
    });
    await admin.get('/users/enrol');
    await admin.post('/users/enrol', { emails: plainUser.email, hours: '1' });
    const ids = [adminUser.id, plainUser.id].map((id): [string, string] => ['id', id]);
    await admin.postPairs(`${PATH}/send`, [['do', 'send'], ...ids]);
    await smtp.waitFor(1);
    t.regex((await admin.get(PATH)).text, /1 invitation is made anew/);
    t.is(await findLinkOf(database, adminUser.id, 'enrolment'), null);
    t.deepEqual(smtp.mails[0]?.to, [plainUser.email]);
  });

  test(`${kind}: who gets no mail because too many wait keeps the link`, async (t) => {
    const smtp = await openSmtpServer(t);
    const mails = new Mailer(smtp.url, 'vpn@example.com', {
      counters: new Counters(),
      log: logInto([]),
    });
    t.teardown(() => mails.stop());
    const console = await openConsole(t, kind, smtp.settings, { mails });
    const { admin, plainUser } = console;
    await admin.get('/users/enrol');
    const made = await admin.post('/users/enrol', { emails: plainUser.email, hours: '1' });
    const [before = ''] = made.text.match(LINK) ?? [];
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
    t.teardown(free);
    // One is under way, the others wait.
    for (let n = 0; n <= WAITING_MAX; n += 1) t.true(mails.later(() => isFree));
    await admin.get(PATH);
    const send = () => admin.post(`${PATH}/send`, { do: 'send', id: plainUser.id });
    await send();
    const refused = (await admin.get(PATH)).text;
    t.regex(refused, /1 invitation could not be: user@example\.com \(too many mails wait/);
    t.is((await new Visitor(console).get(before)).status, 200, 'the link still works');
    free();
    await send();
    await smtp.waitFor(1);
    t.is((await new Visitor(console).get(before)).status, 404);
  });

  test(`${kind}: an e-mail is shown as text`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const { id: user_id } = await addPerson(database, `${NASTY}@example.com`);
    await database.models.OneTimeLink.create({
      user_id,
      purpose: 'enrolment',
      sha256: '0'.repeat(64),
      created_by: null,
      expires_at: new Date(Date.now() + 60_000),
      inserted_at: new Date(),
      mail_fault: NASTY,
    });
    checkText(t, await admin.get(`${PATH}?menu=${user_id}`), 'the list');
    checkText(t, await admin.get(`${PATH}?q=${encodeURIComponent(NASTY)}`), 'the search');
    checkText(t, await admin.post(`${PATH}/many`, { do: 'revoke', id: user_id }), 'the question');
  });
}
