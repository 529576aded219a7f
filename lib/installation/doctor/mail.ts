// The doctor on the mail server: whether it is reached, over TLS, and knows the user. No mail is
// sent.

import type { Config } from '../../../config/index.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

/** Whether the mail server answers a greeting; no finding where the settings name none. */
export async function mail({ smtpUrl }: Pick<Config, 'smtpUrl'>): Promise<Finding[]> {
  if (smtpUrl === null) return [];
  const check = 'mail';
  const { greet } = await import('../../kit/mail/server.ts');
  const { server, error, isSafe } = await greet(smtpUrl);
  if (error !== null) return [failed(check, `${server}: ${error.text}`, error.fix)];
  if (isSafe) return [ok(check, `${server} takes mails`)];
  return [
    warning(
      check,
      `${server} takes mails without TLS: anybody on the way can read the one-time links`,
      'let it offer STARTTLS, or use smtps:// in SMTP_URL',
    ),
  ];
}
