// SMTP_URL and MAIL_FROM: what may be given, and that secrets stay out of errors.

import test from 'ava';
import { mailErrors } from '../../config/mail.ts';
import { configOf } from '../../lib/testing/settings.ts';

test('servers that can be used are taken', (t) => {
  for (const url of [
    'smtp://mail.example.com',
    'smtps://user:p%40ss@mail.example.com:465',
    'smtp://[::1]:25/',
  ])
    t.is(configOf({ SMTP_URL: url, MAIL_FROM: 'vpn@example.com' }).smtpUrl, url);
});

test('others are refused with words, and without their secrets', (t) => {
  const rows: [string, RegExp][] = [
    ['http://mail.example.com', /must begin with smtp:\/\/ or smtps:\/\//],
    ['smtp://user:secret#x@mail.example.com', /cannot be read|must end after host and port/],
    ['smtp://user:secret@mail.example.com/path', /must end after host and port/],
    ['smtp://user:%zz@mail.example.com', /cannot be read as a URL/],
    ['smtp://mail.example.com:0', /a port above 0/],
    ['smtp://mail.example.com?tls=no', /must end after host and port/],
  ];
  for (const [url, words] of rows) {
    const { message } = t.throws(() => configOf({ SMTP_URL: url, MAIL_FROM: 'a@b' })) ?? {};
    t.regex(message ?? '', words, url);
    t.false(message?.includes('secret'), url);
  }
});

test('one without the other is refused', (t) => {
  for (const settings of [{ SMTP_URL: 'smtp://a.example' }, { MAIL_FROM: 'a@b.example' }])
    t.throws(() => configOf(settings), { message: /come together/ });
  t.deepEqual(mailErrors(configOf({})), []);
});
