// The doctor on the mail server: what is wrong with it, without its password, and no mail is sent.

import test from 'ava';
import { mail } from '../../../../lib/installation/doctor/mail.ts';
import { openSmtpServer } from '../../../support/network/smtp-server.ts';

test('a mail server is greeted, and what is wrong with it is said', async (t) => {
  const smtp = await openSmtpServer(t);
  const look = async (smtpUrl: string) => (await mail({ smtpUrl }))[0];
  const place = smtp.url.replace('smtp://', '');
  t.like(await look(smtp.url), { level: 'ok', message: `${place} takes mails` });
  smtp.manners.refuses = { AUTH: '535 no', STARTTLS: '502 what' };
  t.deepEqual(await look(`smtp://ann:se%23cret@${place}`), {
    check: 'mail',
    level: 'failed',
    message: `${place}: The mail server refused user or password (it answered 535)`,
    fix: 'Look at SMTP_URL.',
  });
  // Linux reaches itself by this address too, and it does not say that no network is between.
  const abroad = await look(smtp.url.replace('127.0.0.1', '0.0.0.0'));
  t.like(abroad, { level: 'warning', fix: 'let it offer STARTTLS, or use smtps:// in SMTP_URL' });
  t.regex(abroad?.message ?? '', /takes mails without TLS/);
  t.like(await look('smtp://127.0.0.1:1'), { level: 'failed' });
  t.is(smtp.mails.length, 0);
});

test('where no mail is sent, nothing is said', async (t) => {
  t.deepEqual(await mail({ smtpUrl: null }), []);
});
