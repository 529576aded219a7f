// Many people at once: a list of e-mails becomes users, each with a one-time link, and members of
// groups.
// docs/api.md#enrolment.

import type { Database, Transaction, User } from '../../../models/index.ts';
import { emailKey, noteMails } from '../../../models/index.ts';
import { LINK_HOURS, linkAddress, makeLink } from '../../auth/one-time-links.ts';
import { writeMembers } from '../groups/members.ts';
import type { Mails } from '../../kit/mail/mailer.ts';
import { noteFailures } from '../policy/guard.ts';
import { csvLine } from '../../kit/records/csv.ts';
import { showTime } from '../../kit/records/shown.ts';
import type { Joining } from './joining.ts';
import { type MailedLink, mailLink, type MailOutcome } from './mails.ts';
import type { Person } from './people-list.ts';

const TOO_MANY_WAIT = 'Too many mails wait. Hand the link over in another way, or make another.';

/** One person who was enrolled. */
export interface Enrolled {
  readonly user_id: string;
  readonly email: string;
  /** Whether there was such a user before. */
  readonly was_there: boolean;
  /** Null for somebody who is disabled. */
  readonly url: string | null;
  readonly expires_at: string | null;
}

/** What became of a list. */
export interface Enrolment {
  readonly people: readonly Enrolled[];
  /** The links that were made, for their mails. */
  readonly links: readonly MailedLink[];
}

/** What somebody chooses for all links of a list. */
export interface LinkChoices {
  readonly hours: number;
  /** True where mails with the links follow. */
  readonly isMailed: boolean;
}

/** What all links of a list have in common. */
export interface EnrolWish extends LinkChoices {
  readonly createdBy: string | null;
  readonly externalUrl: string;
}

/** What is wrong with a number of hours; null: nothing. */
export function hoursError(hours: number): string | null {
  const { min, max } = LINK_HOURS;
  const isGood = Number.isInteger(hours) && hours >= min && hours <= max;
  return isGood ? null : `is a whole number of hours from ${min} to ${max}`;
}

/**
 * Makes the users who do not exist, and a link for everybody who is enabled. All of them join the
 * groups that were checked, also who is disabled.
 */
export async function enrolMany(
  database: Database,
  { people: listed, joining }: { people: readonly Person[]; joining: Joining },
  wish: EnrolWish,
  transaction: Transaction,
): Promise<Enrolment> {
  const users = new Map<string, User>();
  const people: Enrolled[] = [];
  const links: MailedLink[] = [];
  for (const { email, name } of listed) {
    const where = { email_key: emailKey(email) };
    const said = name === undefined ? {} : { name };
    const present = await database.models.User.findOne({ where, transaction, lock: true });
    const user =
      present ??
      (await database.models.User.create(
        { email, ...said, role: 'unprivileged' },
        { transaction },
      ));
    // A list never replaces a name.
    if (present?.name === null && name !== undefined) await present.update(said, { transaction });
    users.set(emailKey(email), user);
    const made = await linkOf(database, user, wish, transaction);
    if (made !== null) links.push(made);
    people.push({
      user_id: user.id,
      email: user.email,
      was_there: present !== null,
      url: made?.url ?? null,
      expires_at: made === null ? null : showTime(made.link.expires_at),
    });
  }
  await join(database, joining, users, transaction);
  return { people, links };
}

/** Puts users, by their `emailKey`, into their groups. */
async function join(
  database: Database,
  { members, failing }: Joining,
  users: ReadonlyMap<string, User>,
  transaction: Transaction,
): Promise<void> {
  noteFailures(transaction, failing, { ruleId: null });
  for (const [group, keys] of members) {
    const add = keys.flatMap((key) => users.get(key) ?? []);
    await writeMembers(database, { group, add, remove: [] }, transaction);
  }
}

async function linkOf(
  database: Database,
  user: User,
  { externalUrl, ...wish }: EnrolWish,
  transaction: Transaction,
): Promise<MailedLink | null> {
  if ((user.disabled_at ?? null) !== null) return null;
  const wanted = { purpose: 'enrolment', ...wish } as const;
  const { secret, link } = await makeLink(database, user, wanted, transaction);
  return { link, email: user.email, url: linkAddress(externalUrl, secret) };
}

/** Sends everybody their link; returns the mails that were not sent, by e-mail. */
export async function mailMany(
  database: Database,
  mails: Mails,
  links: readonly MailedLink[],
): Promise<ReadonlyMap<string, MailOutcome>> {
  const unsent = new Map<string, MailOutcome>();
  for (const mailed of links) {
    const outcome = await mailLink(database, mails, mailed);
    if (outcome.mail_fault !== null) unsent.set(mailed.email, outcome);
  }
  return unsent;
}

/** Sends everybody their link after the present request; false where too many mails wait. */
export async function queueMails(
  database: Database,
  mails: Mails,
  links: readonly MailedLink[],
): Promise<boolean> {
  if (mails.later(() => mailMany(database, mails, links))) return true;
  const ids = links.map(({ link }) => link.id);
  await noteMails(database, ids, { mailed_at: null, mail_fault: TOO_MANY_WAIT });
  return false;
}

/** The links as a file for spreadsheets and mail merges. */
export function enrolledFile(enrolled: readonly Enrolled[]): string {
  const rows = enrolled.map(({ email, url, expires_at: end }) => csvLine([email, url, end]));
  return [csvLine(['email', 'link', 'expires_at']), ...rows].join('');
}
