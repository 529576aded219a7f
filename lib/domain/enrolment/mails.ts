// The texts of mails with one-time links, and the notes about their sending.

import { type Database, isLive, type OneTimeLink, noteMails } from '../../../models/index.ts';
import type { Mail, Mails } from '../../kit/mail/mailer.ts';

/** A link that goes to a person. */
export interface MailedLink {
  readonly link: Pick<OneTimeLink, 'id' | 'purpose' | 'expires_at'>;
  readonly email: string;
  readonly url: string;
}

/** What became of a mail, as it is noted of its link. */
export interface MailOutcome {
  readonly mailed_at: Date | null;
  /** Why none was sent; null once the server took it. */
  readonly mail_fault: string | null;
  /** True where the link worked no longer, so that nobody needs the mail. */
  readonly isOver: boolean;
}

const OVER = 'Before its turn came, the link was used, replaced or revoked, or its time was over.';

/** Sends a link to its person if it still works, and notes what became of the mail. */
export async function mailLink(
  database: Database,
  mails: Mails,
  mailed: MailedLink,
): Promise<MailOutcome> {
  const { id } = mailed.link;
  const isOver = !(await isLive(database, id, new Date()));
  const error = isOver ? OVER : await mails.send(mailOf(mailed));
  const outcome = { mailed_at: error === null ? new Date() : null, mail_fault: error };
  await noteMails(database, [id], outcome);
  return { ...outcome, isOver };
}

function mailOf({ email: to, url, link }: MailedLink): Mail {
  const { purpose, expires_at: end } = link;
  const until = `${end.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
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
