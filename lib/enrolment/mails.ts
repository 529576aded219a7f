// What mails with one-time links say, and what is noted of them.

import { type Database, type LinkPurpose, noteMailOf } from '../../models/index.ts';
import type { Mail, Mails } from '../mail/mailer.ts';

/** A link that goes to a person. */
export interface MailedLink {
  readonly userId: string;
  readonly email: string;
  readonly purpose: LinkPurpose;
  readonly url: string;
  readonly expiresAt: Date;
}

/** Sends a link to its person, and notes what became of it; null once the server took the mail. */
export async function mailLink(
  database: Database,
  mails: Mails,
  link: MailedLink,
): Promise<string | null> {
  const fault = await mails.send(mailOf(link));
  const outcome = { mailed_at: fault === null ? new Date() : null, mail_fault: fault };
  await noteMailOf(database, link, outcome);
  return fault;
}

function mailOf({ email: to, purpose, url, expiresAt }: MailedLink): Mail {
  const until = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const host = new URL(url).host;
  if (purpose === 'password_reset')
    return {
      to,
      subject: `Another password at ${host}`,
      text: [
        `Somebody, probably you, asked at ${host} for another password. Choose it here:`,
        url,
        `The link works once, until ${until}. If it was not you, do nothing: your password stays.`,
        '',
      ].join('\n\n'),
    };
  return {
    to,
    subject: `Your access to the VPN at ${host}`,
    text: [
      `You have an account at the VPN gateway ${host}. With this link you get in and add your device:`,
      url,
      `Open it on the device that is to use the VPN. It works once, until ${until}. Give it to nobody: whoever has it gets in.`,
      '',
    ].join('\n\n'),
  };
}
