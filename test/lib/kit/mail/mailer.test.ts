// Mails by a server that takes them, refuses them, says nothing, or is not there.

import test, { type ExecutionContext } from 'ava';
import { Mailer, mailerOf, WAITING_MAX } from '../../../../lib/kit/mail/mailer.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { configOf } from '../../../../lib/testing/settings.ts';
import { openSmtpServer } from '../../../support/network/smtp-server.ts';

const MAIL = { to: 'ann@example.com', subject: 'Grüße', text: 'one\n.\ntwo — three\n' };

function open(t: ExecutionContext, url: string) {
  const log: LogLine[] = [];
  const counters = new Counters();
  const mailer = new Mailer(url, 'vpn@example.com', { counters, log: logInto(log) });
  t.teardown(() => mailer.stop());
  return { mailer, counters, log };
}

test('a mail arrives whole, at one person, in plain text', async (t) => {
  const smtp = await openSmtpServer(t);
  const { mailer, counters } = open(t, smtp.url);
  t.is(await mailer.send(MAIL), null);
  const [mail] = smtp.mails;
  t.is(mail?.from, 'vpn@example.com');
  t.deepEqual(mail?.to, ['ann@example.com']);
  t.regex(mail?.text ?? '', /^From: Postern <vpn@example\.com>$/m);
  t.regex(mail?.text ?? '', /^To: ann@example\.com$/m);
  t.regex(mail?.text ?? '', /^Content-Type: text\/plain; charset=utf-8$/m);
  t.regex(mail?.text ?? '', /^Auto-Submitted: auto-generated$/m);
  t.regex(mail?.text ?? '', /one\n\.\ntwo/);
  t.is(counters.of('mails', 'sent'), 1);
});

test('no address reaches somebody else, and none adds a header', async (t) => {
  const smtp = await openSmtpServer(t);
  const { mailer } = open(t, smtp.url);
  for (const to of [
    'a,b@example.com',
    'eve <ann@example.com',
    'a b@example.com',
    'ann@example.com\r\nBcc: eve',
    '"ann"@example.com',
  ])
    t.regex((await mailer.send({ ...MAIL, to })) ?? '', /No mail can be sent to this address/);
  t.is(smtp.mails.length, 0);
  t.is(await mailer.send({ ...MAIL, subject: 'a\r\nBcc: eve@example.com' }), null);
  t.deepEqual(smtp.mails[0]?.to, ['ann@example.com']);
  t.notRegex(smtp.mails[0]?.text ?? '', /^Bcc:/m);
});

test('a refusal is said in a sentence, counted, and logged without the mail', async (t) => {
  const smtp = await openSmtpServer(t);
  const { mailer, counters, log } = open(t, smtp.url.replace('//', '//user:se%23cret@'));
  smtp.manners.refuses = { RCPT: '550 ann@example.com is unknown' };
  t.regex((await mailer.send(MAIL)) ?? '', /refused the mail \(it answered 550\)/);
  smtp.manners.refuses = { AUTH: '535 no' };
  const other = open(t, smtp.url.replace('//', '//user:se%23cret@'));
  t.regex((await other.mailer.send(MAIL)) ?? '', /refused user or password \(it answered 535\)/);
  t.is(counters.of('mails', 'mail_refused'), 1);
  t.is(other.counters.of('mails', 'mail_login_refused'), 1);
  t.notRegex(JSON.stringify([log, other.log]), /ann@example|se#cret|se%23cret/);
  t.is(log.length, 1);
});

test('a server that is away costs no more than a moment', async (t) => {
  const { mailer, counters } = open(t, 'smtp://127.0.0.1:1');
  t.regex((await mailer.send(MAIL)) ?? '', /cannot be reached/);
  t.is(counters.of('mails', 'mail_server_away'), 1);
});

test('a server that says nothing is given up', async (t) => {
  const smtp = await openSmtpServer(t);
  smtp.manners.isSilent = true;
  const { mailer } = open(t, smtp.url);
  const sinceMs = Date.now();
  t.regex((await mailer.send(MAIL)) ?? '', /cannot be reached, or takes too long/);
  t.true(Date.now() - sinceMs < 31_000);
});

test('a password is never sent in the clear over a network', async (t) => {
  const smtp = await openSmtpServer(t);
  const here = new URL(smtp.url.replace('//', '//user:secret@'));
  here.hostname = 'vpn-mail.localhost';
  const { mailer } = open(t, here.href);
  t.not(await mailer.send(MAIL), null);
  t.is(smtp.mails.length, 0);
});

test('work waits for its turn, up to a limit, and a stop gives it up', async (t) => {
  const { mailer, counters } = open(t, 'smtp://127.0.0.1:1');
  const done: number[] = [];
  const first = Promise.withResolvers<void>();
  mailer.later(() => first.promise);
  for (let i = 0; i < WAITING_MAX; i += 1) t.true(mailer.later(async () => done.push(i)));
  t.false(mailer.later(async () => done.push(-1)));
  t.is(counters.of('mails', 'too_many_mails'), 1);
  const stopped = mailer.stop();
  first.resolve();
  await stopped;
  t.deepEqual(done, []);
  mailer.later(() => Promise.reject(new Error('x')));
  mailer.later(async () => done.push(1));
  await mailer.stop();
  t.true(done.length <= 1);
});

test('without a server there is no mailer', (t) => {
  const means = { counters: new Counters(), log: logInto([]) };
  t.is(mailerOf(configOf({}), means), null);
});
