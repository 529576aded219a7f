// A forgotten password: a one-time link by e-mail, for people who have a password. Nobody learns
// who has an account: the answer goes out before anything is looked for.
// docs/api.md#forgotten-passwords.

import {
  actAs,
  type Database,
  emailKey,
  type Origin,
  writeTransaction,
} from '../../../models/index.ts';
import { type Counted, takeAttempt } from '../../auth/attempts.ts';
import { isPossibleEmail } from '../../auth/email.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import { linkAddress, makeLink } from '../../auth/one-time-links.ts';
import type { Mails } from '../../kit/mail/mailer.ts';
import { maySignIn } from '../../kit/records/session-life.ts';
import { mailLink } from './mails.ts';

/** For how many hours such a link is good. */
const HOURS = 1;
const PURPOSE = 'password_reset';

/** What a request for another password needs. */
export interface ResetContext {
  readonly database: Database;
  readonly mails: Mails;
  readonly externalUrl: string;
  /** Who asked, for the audit trail. */
  readonly origin: Origin;
}

/** Sends a link to the user with an e-mail, if there is one who may have it, some times an hour. */
export async function sendReset(context: ResetContext, typed: string): Promise<void> {
  const { database, mails, externalUrl, origin } = context;
  const email = typed.trim();
  if (!isPossibleEmail(email)) return;
  const counted: Counted = { kind: 'reset', subject: emailKey(email) };
  if ((await takeAttempt(database, [counted])).refusedBy !== null) return;
  const wish = { purpose: PURPOSE, hours: HOURS, createdBy: null, isMailed: true } as const;
  const { result } = await writeTransaction(database, async (transaction) => {
    actAs(transaction, origin);
    const where = { email_key: emailKey(email) };
    const user = await database.models.User.findOne({ where, transaction, lock: true });
    // People who sign in only through a provider do not get a password in this way.
    if (user === null || user.password_hash === null || !maySignIn(user, LOCAL_METHOD)) return null;
    return { user, ...(await makeLink(database, user, wish, transaction)) };
  });
  if (result === null) return;
  const { user, secret, link } = result;
  const url = linkAddress(externalUrl, secret);
  await mailLink(database, mails, { link, email: user.email, url });
}
