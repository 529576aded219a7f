// Many people at once: a list of e-mails becomes users, each with a one-time link.
// docs/api.md#enrolment.

import type { Database, Transaction, User } from '../../models/index.ts';
import { emailKey, noteMails } from '../../models/index.ts';
import { isPossibleEmail } from '../auth/email.ts';
import { LINK_HOURS, linkAddress, makeLink } from '../auth/one-time-links.ts';
import { shortened } from '../judge/texts.ts';
import type { Mails } from '../mail/mailer.ts';
import { commandLine } from '../process/command-line.ts';
import { csvLine, isFormula, readCsv } from '../records/csv.ts';
import { showTime } from '../records/shown.ts';
import { type MailedLink, mailLink, type MailOutcome } from './mails.ts';

/** People who get links at once: each costs some rows in one transaction. */
export const ENROLLED_MAX = 500;
const FAULTS_SHOWN = 5;

const UNCLOSED =
  'a quote is not closed where its value ends; close it there, or remove it (inside of quotes, a quote is written "")';

/** `Ann Lee <ann@example.com>`, as mail programs write it. */
const NAMED = /^[^<>]*<([^<>]*)>$/;
/** Characters by which a mail could go to somebody else, or to nobody. */
const AMBIGUOUS = /[\s,;<>()[\]]/;

const SEVERAL = 'there are several e-mail addresses; put each in a line of its own';

const TOO_MANY_WAIT = 'Too many mails wait. Hand the link over in another way, or make another.';

/** What a list comes to: the e-mails without repetitions, or what is wrong with it. */
export interface EmailList {
  readonly emails: readonly string[];
  readonly fault: string | null;
}

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

/** What all links of a list have in common. */
export interface EnrolWish {
  readonly hours: number;
  readonly createdBy: string | null;
  /** True where mails with the links follow. */
  readonly isMailed: boolean;
  readonly externalUrl: string;
}

/** Reads e-mails: the first column of a CSV file, with or without a heading, or one in a line. */
export function readEmails(text: string): EmailList {
  const found = new Map<string, string>();
  const bad: string[] = [];
  for (const { line, values } of readCsv(text.replace(/^\uFEFF/, ''))) {
    const typed = values?.[0]?.trim();
    const isHeading = line === 1 && /^e-?mails?( address(es)?)?$/i.test(typed ?? '');
    if (typed === '' || isHeading) continue;
    const email = addressIn(typed ?? '');
    const fault = typed === undefined ? UNCLOSED : emailFault(email, values?.slice(1));
    if (fault !== null) bad.push(`line ${line}: ${fault}`);
    else if (!found.has(emailKey(email))) found.set(emailKey(email), email);
  }
  return { emails: [...found.values()], fault: faultOf(bad, found.size) };
}

/** The address in a text that may also say the name of its person. */
export function addressIn(text: string): string {
  return (NAMED.exec(text.trim())?.[1] ?? text).trim();
}

/** What is wrong with the e-mail of somebody who is to become a user; null: nothing. */
export function newEmailFault(email: string): string | null {
  if (!isPossibleEmail(email)) return notAnEmail(email);
  return AMBIGUOUS.test(email)
    ? `“${shortened(email)}” holds a space, a comma, a semicolon or a bracket; write the address alone, such as ann@example.com`
    : null;
}

/** What is wrong with the e-mail of a list; null: nothing. */
function emailFault(email: string, further: readonly string[] = []): string | null {
  const fault = newEmailFault(email);
  if (fault !== null) return fault;
  const others = further.map(addressIn).filter((value) => value !== '');
  if (others.length > 0 && others.every(isPossibleEmail)) return SEVERAL;
  // An apostrophe would make it safe in the file of the links, and wrong for programs.
  return isFormula(email)
    ? `“${shortened(email)}” begins as a formula of a spreadsheet does; let this person in alone: ${commandLine('user enrol E-MAIL')}`
    : null;
}

/** Says that a text is no e-mail address. */
export function notAnEmail(text: string): string {
  return `“${shortened(text)}” is no e-mail address`;
}

function faultOf(bad: readonly string[], count: number): string | null {
  const more = bad.length > FAULTS_SHOWN ? [`and ${bad.length - FAULTS_SHOWN} more`] : [];
  if (bad.length > 0) return [...bad.slice(0, FAULTS_SHOWN), ...more].join('; ');
  if (count === 0) return 'holds no e-mail address';
  if (count > ENROLLED_MAX) return `holds ${count} e-mail addresses; ${ENROLLED_MAX} at most`;
  return null;
}

/** What is wrong with a number of hours; null: nothing. */
export function hoursFault(hours: number): string | null {
  const { min, max } = LINK_HOURS;
  const isGood = Number.isInteger(hours) && hours >= min && hours <= max;
  return isGood ? null : `is a whole number of hours from ${min} to ${max}`;
}

/** Makes the users who are not there, and a link for everybody who is enabled. */
export async function enrolMany(
  database: Database,
  emails: readonly string[],
  wish: EnrolWish,
  transaction: Transaction,
): Promise<Enrolment> {
  const people: Enrolled[] = [];
  const links: MailedLink[] = [];
  for (const email of emails) {
    const where = { email_key: emailKey(email) };
    const present = await database.models.User.findOne({ where, transaction, lock: true });
    const user =
      present ??
      (await database.models.User.create({ email, role: 'unprivileged' }, { transaction }));
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
  return { people, links };
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
