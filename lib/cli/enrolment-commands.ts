// The command `user enrol`: it makes one-time links for one user or for a list of e-mails. The
// command itself sends mails with them, because only its shell has the password of the mail server.

import process from 'node:process';
import type { Config } from '../../config/index.ts';
import type { Database } from '../../models/index.ts';
import { isPossibleEmail } from '../auth/email.ts';
import { readPersonName } from '../auth/identity/person-name.ts';
import { LINK_HOURS } from '../auth/one-time-links.ts';
import type { MailOutcome } from '../domain/enrolment/mails.ts';
import { type Enrolled, enrolledFile, mailMany } from '../domain/enrolment/many.ts';
import {
  addressIn,
  errorsInOne,
  groupNames,
  nameIn,
  newEmailError,
  notAnEmail,
  type Person,
  readPeople,
} from '../domain/enrolment/people-list.ts';
import type { PeopleEnrolled } from '../domain/enrolment/people-fields.ts';
import type { Errors } from '../kit/validation/validate.ts';
import { type FieldError, sentenceOf, sentences } from '../kit/validation/messages.ts';
import type { Mailer } from '../kit/mail/mailer.ts';
import { Counters } from '../kit/process/counters.ts';
import { createLog } from '../kit/process/log.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { isFormula } from '../kit/records/csv.ts';
import { findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import { emailAsTyped, isIdOrEnd } from './naming.ts';
import { performOperation } from './perform.ts';
import { failuresNote } from './rule-rows.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed, type Listed } from './screen.ts';
import { textOfFile } from './text-file.ts';

/** The commands. */
export const enrolmentCommands: Partial<Record<CommandName, Run>> = { 'user enrol': enrol };

const ONCE =
  'Each link works once, for whoever has it. Postern shows it only now; a new link replaces it.';

async function enrol(given: Given, command: Command): Promise<Outcome> {
  const { config, database, readStdin } = given;
  const { operand, options } = command;
  const { file, hours = LINK_HOURS.default } = options;
  if ((operand === null) === (file === undefined))
    throw new UsageError('give the e-mail of one user, or --file with a list of e-mails');
  const mailer = options.mail ? await mailerFor(config) : null;
  const people =
    operand === null ? await listIn(file ?? '', readStdin) : [await oneOf(given, command)];
  const groups = groupNames(options.group ?? '', ',', null);
  const body = { enrolment: { people, groups, hours, mail: mailer !== null } };
  const sent = { body, force: options.force };
  const { answer, failing } = await performOperation(given, 'enrolPeople', sent, (errors) => {
    const said = refusedInWords(errors, file);
    return new Error(said === '' ? `${file ?? '--group'} holds what cannot be kept` : said);
  });
  const { people: enrolled, links } = answer as unknown as PeopleEnrolled;
  const unsent = await sendAll(database, mailer, links);
  const [only] = enrolled;
  if (operand !== null && only?.url === null)
    throw new Error(`${only.email} is disabled, so a link of this user would not work`);
  const data = operand === null ? enrolled : only;
  const { note: failures } = failuresNote(failing);
  const notes = [
    ONCE,
    ...(failures === undefined ? [] : [failures]),
    ...[...unsent].map(([email, { mail_fault: why }]) => `No mail went to ${email}. ${why}`),
  ];
  // Nobody needs the mail with a link that is over.
  const isBad = [...unsent.values()].some(({ isOver }) => !isOver);
  return {
    ...shownFor(enrolled, command),
    data,
    note: notes.join('\n'),
    ...(isBad ? { isBad } : {}),
  };
}

/** A refusal as a sentence, with the way out where policy tests hold people up. */
function refusedInWords(errors: Errors, file: string | undefined): string {
  const textsOf = (field: string): string[] =>
    ((errors[field] ?? []) as FieldError[]).map(sentenceOf);
  const base = textsOf('base').join('; ');
  const groups = errorsInOne(textsOf('groups'));
  const emails = errorsInOne(textsOf('emails'));
  return [
    ...(groups === '' ? [] : [`--group: ${groups}`]),
    ...(emails === '' ? [] : [file === undefined ? emails : `${file} ${emails}`]),
    ...(base === '' ? [] : [`${base}; with --force they become members anyway`]),
  ].join('; ');
}

/** The people of a file. */
async function listIn(file: string, readStdin: () => Promise<string>): Promise<readonly Person[]> {
  const { people, error } = readPeople(await textOfFile(file, readStdin));
  if (error !== null) throw new Error(`${file} ${error}`);
  return people;
}

/** The person who was typed alone. */
async function oneOf(
  { database }: Given,
  { operand, options: { csv, createUser } }: Command,
): Promise<Person> {
  const typed = (operand ?? '').trim();
  const isById = isIdOrEnd(typed);
  const error = createUser
    ? newEmailError(addressIn(typed))
    : isById || isPossibleEmail(typed)
      ? null
      : notAnEmail(typed);
  if (error !== null) throw new UsageError(error);
  // A slip of the pen must not make a user.
  const email = createUser
    ? addressIn(typed)
    : emailAsTyped(typed, (await findUser(database, typed)).email);
  if (csv && isFormula(email))
    throw new UsageError(`${email} begins as a formula of a spreadsheet does; leave --csv away`);
  const name = createUser ? readPersonName(nameIn(typed)) : null;
  return { email, ...(name === null ? {} : { name }), line: null, groups: [] };
}

/** The settings of this shell: those that a gateway shows to commands hold no secret. */
async function mailerFor(config: Config): Promise<Mailer> {
  const { mailerOf } = await import('../kit/mail/mailer.ts');
  const log = createLog(config, process.stderr);
  const mailer = mailerOf(config, { counters: new Counters(), log });
  if (mailer === null) throw new Error(`--mail ${sentences.needsMail} in this shell`);
  return mailer;
}

async function sendAll(
  database: Database,
  mailer: Mailer | null,
  links: PeopleEnrolled['links'],
): Promise<ReadonlyMap<string, MailOutcome>> {
  if (mailer === null) return new Map();
  const mailed = links.map(({ id, email, url, expires_at: end }) => ({
    link: { id, purpose: 'enrolment' as const, expires_at: new Date(end) },
    email,
    url,
  }));
  try {
    return await mailMany(database, mailer, mailed);
  } finally {
    await mailer.stop();
  }
}

function shownFor(enrolled: readonly Enrolled[], { operand, options }: Command): Listed {
  if (options.csv) return { text: enrolledFile(enrolled).trimEnd() };
  if (operand !== null) return { text: enrolled[0]?.url ?? '' };
  const rows = enrolled.map(({ email, url }) => [email, url ?? 'disabled: no link']);
  // The e-mail says whose link it is, so neither is cut.
  return listed(
    [
      ['e-mail', 'fixed'],
      ['link', 'fixed'],
    ],
    rows,
  );
}
