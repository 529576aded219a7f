// The settings of mail: the server that takes it, and who sends it.

import Joi from 'joi';
import type { Config } from './config.ts';
import { email } from './forms.ts';

const SAFE_ESCAPES = 'in user and password write # as %23, / as %2F, ? as %3F, @ as %40, % as %25';

/** Why a mail server cannot be found by this URL; quotes no secret of it. */
function smtpError(value: string): string | null {
  if (!/^smtps?:\/\//.test(value)) return 'must begin with smtp:// or smtps://';
  try {
    const url = new URL(value);
    for (const part of [url.username, url.password]) decodeURIComponent(part);
    const isBare = ['', '/'].includes(url.pathname) && url.search === '' && url.hash === '';
    if (url.hostname === '' || url.port === '0') return 'must name a host, and a port above 0';
    return isBare ? null : `must end after host and port; ${SAFE_ESCAPES}`;
  } catch {
    return `cannot be read as a URL; ${SAFE_ESCAPES}`;
  }
}

const smtpUrl = Joi.string().custom((value: string, helpers) => {
  const error = smtpError(value);
  return error === null ? value : helpers.message({ custom: error });
});

/** Rows of the table of settings. */
export const mailSettings = [
  {
    name: 'SMTP_URL',
    schema: smtpUrl,
    fallback: null,
    example: 'smtp://user:password@mail.example.com:587',
    sentence:
      'Mail server that takes one-time links: `smtp://` (encrypted where the server offers it, and always where the URL has a password) or `smtps://`; none means that no mail is sent.',
    secret: true,
  },
  {
    name: 'MAIL_FROM',
    schema: email,
    fallback: null,
    example: 'vpn@example.com',
    sentence: 'E-mail address that sends them.',
  },
] as const;

/** Errors of the settings among themselves. */
export function mailErrors({ smtpUrl: url, mailFrom }: Config): string[] {
  return (url === null) === (mailFrom === null)
    ? []
    : ['SMTP_URL and MAIL_FROM come together; set both or none'];
}
