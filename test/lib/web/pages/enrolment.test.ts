// Letting people in from the console: links are shown once, and can be revoked.

import test from 'ava';
import { renderSVG } from 'uqr';
import { Mailer } from '../../../../lib/kit/mail/mailer.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { logInto } from '../../../../lib/testing/log.ts';
import { writeTransaction } from '../../../../models/index.ts';
import { until } from '../../../support/gateway/postern.ts';
import { openSmtpServer } from '../../../support/network/smtp-server.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';

const PATH = '/users/enrol';
const LINK = /\/one_time_links\/[\w-]{43}/g;

for (const kind of firstKind()) {
  test(`${kind}: only administrators let people in`, async (t) => {
    const console = await openConsole(t, kind);
    const { id } = console.plainUser;
    await checkGuard(t, console, { pages: [PATH], forms: [PATH, `/users/${id}/revoke_link`] });
  });

  test(`${kind}: a list of e-mails becomes users with links that work`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, adminUser, database } = console;
    await admin.get(PATH);
    const emails = 'email;name\r\na@example.com;A\r\nuser@example.com;U\r\n';
    const made = await admin.post(PATH, { emails, hours: '24' });
    t.is(made.status, 200, made.text);
    const [link = ''] = made.text.match(LINK) ?? [];
    t.is(new Set(made.text.match(LINK)).size, 2);
    t.false(made.text.includes('class="qr"'), 'one code for one link');
    const rows = await database.models.OneTimeLink.findAll();
    t.deepEqual(
      rows.map(({ created_by }) => created_by),
      [adminUser.id, adminUser.id],
    );
    const person = new Visitor(console);
    t.true((await person.get(link)).text.includes('a@example.com'));
    t.is(made.headers['cache-control'], 'no-store');
  });

  test(`${kind}: one user's page leads to their link, and revokes it`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, plainUser } = console;
    const page = `/users/${plainUser.id}`;
    const { text } = await admin.get(page);
    t.true(text.includes('/users/enrol?email=user%40example.com'));
    t.false(text.includes('revoke_link'));
    const form = await admin.get(`${PATH}?email=user%40example.com`);
    t.regex(form.text, /<textarea[^>]*>\s*user@example\.com/);
    const byId = await admin.get(`${PATH}?user=${plainUser.id}`);
    t.regex(byId.text, /<textarea[^>]*>\s*user@example\.com/);
    const made = await admin.post(PATH, { emails: 'user@example.com', hours: '1' });
    const [link = ''] = made.text.match(LINK) ?? [];
    t.true((await admin.get(page)).text.includes('open until'));
    const drawn = /<div class="qr"[^>]*>(<svg[^]*?<\/svg>)/.exec(made.text)?.[1];
    const [url = ''] = /https?:[^"<]+\/one_time_links\/[\w-]{43}/.exec(made.text) ?? [];
    t.is(drawn, renderSVG(url, { border: 2 }), 'a phone beside the screen opens the link');
    t.is((await admin.post(`${page}/revoke_link`)).location, page);
    t.is((await new Visitor(console).get(link)).status, 404);
    await admin.get(page);
    t.is((await admin.post(`${page}/revoke_link`)).status, 404);
  });

  test(`${kind}: errors are shown with what was typed, and nobody is made`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    await addPerson(database, 'c@example.com');
    const before = await database.models.User.count();
    await admin.get(PATH);
    const rows: [Record<string, string>, RegExp][] = [
      [{ emails: '', hours: '1' }, /no e-mail address/],
      [{ emails: 'a@example.com\nbob', hours: '1' }, /line 2: “bob” is no e-mail address/],
      [{ emails: 'a@example.com', hours: '337' }, /whole number of hours from 1 to 336/],
      [{ emails: 'a@example.com', hours: '' }, /whole number of hours/],
    ];
    for (const [fields, words] of rows) {
      const { status, text } = await admin.post(PATH, fields);
      t.is(status, 422);
      t.regex(text, words);
    }
    checkText(t, await admin.post(PATH, { emails: NASTY, hours: NASTY }), PATH);
    checkText(t, await admin.get(`${PATH}?email=${encodeURIComponent(NASTY)}`), PATH);
    t.is(await database.models.User.count(), before);
  });

  test(`${kind}: people join groups; a policy test asks whether that is meant`, async (t) => {
    const console = await openConsole(t, kind, { DEFAULT_ACTION: 'drop' });
    const { admin, database, plainUser } = console;
    for (const name of ['ops', 'staff']) {
      await admin.get('/users/groups/new');
      await admin.post('/users/groups/new', { name });
    }
    const [, asks = ''] = /data-combobox="([^"]*)"/.exec((await admin.get(PATH)).text) ?? [];
    t.deepEqual(JSON.parse((await admin.get(`${asks}?q=ops|ST`)).text), {
      offers: [{ value: 'ops|staff', label: 'staff' }],
    });
    const unknown = { emails: 'email,groups\na@example.com,x', groups: 'y|staff', hours: '1' };
    const refused = await admin.post(PATH, unknown);
    t.is(refused.status, 422);
    t.true(refused.text.includes('line 2: there is no group “x”'));
    t.true(refused.text.includes('there is no group “y”; correct the name, or make the group'));
    const { id: group_id } = await database.models.Group.findOne({
      where: { name: 'ops' },
      rejectOnEmpty: true,
    });
    await writeTransaction(database, async (transaction) => {
      const rule = { action: 'accept', destination: '10.0.0.5', group_id } as const;
      await database.models.Rule.create(rule, { transaction });
      const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 } as const;
      const one = { name: 'not them', user_id: plainUser.id, ...packet, expect: 'drop' } as const;
      await database.models.PolicyTest.create(one, { transaction });
    });
    const emails = 'email,groups\nuser@example.com,ops\na@example.com,\n';
    const wish = { emails, groups: ' staff ', hours: '1' };
    const held = await admin.post(PATH, wish);
    t.is(held.status, 422);
    t.true(held.text.includes('policy test &quot;not them&quot; would fail'), held.text);
    t.true(held.text.includes('Invite them anyway'));
    t.is(await database.models.GroupMembership.count(), 0);
    t.is(await database.models.OneTimeLink.count(), 0);
    t.is((await admin.post(PATH, { ...wish, do: 'force' })).status, 200);
    t.is(await database.models.GroupMembership.count(), 3);
    t.is(await database.models.OneTimeLink.count(), 2);
  });

  test(`${kind}: as many people as it promises fit, of administrators alone`, async (t) => {
    const { admin, user, database, server } = await openConsole(t, kind);
    await admin.get(PATH);
    const line = (i: number) => `person${i}@example.com,"${'Ann Lee '.repeat(60)}",+49 89 ${i}`;
    const long = Array.from({ length: 500 }, (_, i) => line(i)).join('\r\n');
    const made = await admin.post(PATH, { emails: `email,address,phone\r\n${long}`, hours: '1' });
    t.is(made.status, 200, made.text.slice(0, 500));
    t.is(await database.models.OneTimeLink.count(), 500);

    const endless = { emails: 'a'.repeat(1_100_000), hours: '1' };
    const tooLong = await admin.post(PATH, endless);
    t.is(tooLong.status, 413);
    t.regex(tooLong.text, /Go back and send less at once: half of the list and then the rest/);
    // Who may not send it is refused before the body is read.
    t.is((await user.post(PATH, endless)).status, 403);
    t.is((await new Visitor({ server }).post(PATH, endless)).status, 302);
    const small = { email: 'a'.repeat(70_000), password: '' };
    t.is((await admin.post('/auth/identity/callback', small)).status, 413);
  });

  test(`${kind}: where mail is set up, a box sends the links, and the user's page says so`, async (t) => {
    const smtp = await openSmtpServer(t);
    const means = { counters: new Counters(), log: logInto([]) };
    const mails = new Mailer(smtp.url, 'vpn@example.com', means);
    t.teardown(() => mails.stop());
    const bare = await openConsole(t, kind);
    t.false((await bare.admin.get(PATH)).text.includes('name="mail"'));
    const { admin, plainUser } = await openConsole(t, kind, smtp.settings, { mails });
    const isTicked = (text: string) =>
      /<input[^>]*name="mail"[^>]*>/.exec(text)?.[0].includes(' checked');
    t.true(isTicked((await admin.get(PATH)).text), 'who invites people means to tell them');
    for (const one of ['email=user%40example.com', `user=${plainUser.id}`])
      t.false(isTicked((await admin.get(`${PATH}?${one}`)).text), `${one}: a link to hand over`);
    const emails = 'new@example.com\nuser@example.com';
    const unsent = await admin.post(PATH, { emails, hours: '1' });
    t.false(unsent.text.includes('on their way'));
    t.false(isTicked((await admin.post(PATH, { emails: '', hours: '1' })).text), 'as it was left');
    const made = await admin.post(PATH, { emails, hours: '1', mail: 'true' });
    t.true(made.text.includes('The mails are on their way.'));
    t.true(made.text.includes('href="/users/invitations?state=unsent"'));
    await smtp.waitFor(2);
    const links = [...new Set(made.text.match(LINK))];
    for (const [i, to] of ['new@example.com', 'user@example.com'].entries()) {
      const mail = smtp.mails.find((one) => one.to[0] === to);
      t.true(mail?.text.includes(links[i] ?? 'no link'), to);
    }
    const page = `/users/${plainUser.id}`;
    const says = (words: string) =>
      until(words, async () => (await admin.get(page)).text.includes(words));
    await says(', sent by e-mail <time');
    smtp.manners.refuses = { RCPT: '550 no' };
    await admin.get(PATH);
    await admin.post(PATH, { emails: 'user@example.com', hours: '1', mail: 'true' });
    await says('. The mail server refused the mail (it answered 550)');
    t.is(smtp.mails.length, 2);
  });
}
