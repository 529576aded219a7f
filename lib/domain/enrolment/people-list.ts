// Lists of people as others bring them: e-mails, one in a line, or a CSV file whose first column
// they are. A column may say their names, another one in which groups each of them is to be.
// docs/guides/onboarding.md.

import { emailKey } from '../../../models/index.ts';
import { isPossibleEmail } from '../../auth/email.ts';
import { readPersonName } from '../../auth/identity/person-name.ts';
import { shortened } from '../../kit/validation/texts.ts';
import { commandLine } from '../../kit/process/command-line.ts';
import { type CsvRecord, isFormula, readCsv } from '../../kit/records/csv.ts';

/** People who get links at once: each costs some rows in one transaction. */
export const ENROLLED_MAX = 500;
const ERRORS_SHOWN = 5;

const EMAIL_HEADING = /^e-?mails?( address(es)?)?$/i;
const GROUPS_HEADING = /^groups?$/i;
const NAME_HEADING = /^((full|display) )?names?$/i;
/** `Ann Lee <ann@example.com>`, as mail programs write it. */
const NAMED = /^([^<>]*)<([^<>]*)>$/;
/** Characters by which a mail could go to somebody else, or to nobody. */
const AMBIGUOUS = /[\s,;<>()[\]]/;

const UNCLOSED =
  'a quote is not closed where its value ends; close it there, or remove it (inside of quotes, a quote is written "")';
const SEVERAL = 'there are several e-mail addresses; put each in a line of its own';
const BAD_NAME = 'the name is no name of at most 255 characters';
const TOO_LONG =
  'there are more values than the heading has; put several groups into one value, with | between them';

/** A group as somebody named it, by name or id. */
export interface NamedGroup {
  readonly name: string;
  /** Where in the list; null: it is named for everybody. */
  readonly line: number | null;
}

/** Somebody who is to get a link. */
export interface Person {
  readonly email: string;
  /** Left out: the list does not say it. */
  readonly name?: string;
  /** Where in a list; null: named alone. */
  readonly line: number | null;
  readonly groups: readonly NamedGroup[];
}

/** The result of reading a list: its people without repetitions, or its errors. */
export interface PeopleList {
  readonly people: readonly Person[];
  readonly error: string | null;
}

/** Where the values of a list are. */
interface Columns {
  /** How many the heading names; null: there is no heading that names groups. */
  readonly count: number | null;
  readonly groups: readonly number[];
  readonly names: readonly number[];
}

/** Reads a list; somebody who is in it twice is in the groups of both lines. */
export function readPeople(text: string): PeopleList {
  const found = new Map<string, Person>();
  const bad: string[] = [];
  let columns: Columns = { count: null, groups: [], names: [] };
  for (const record of readCsv(text.replace(/^\uFEFF/, ''))) {
    const { line, values } = record;
    const typed = values?.[0]?.trim();
    if (line === 1 && EMAIL_HEADING.test(typed ?? '')) columns = columnsOf(values ?? []);
    else if (typed !== '') {
      const person = personOf(record, columns);
      if (typeof person === 'string') bad.push(`line ${line}: ${person}`);
      else {
        const key = emailKey(person.email);
        const before = found.get(key) ?? { ...person, groups: [] };
        found.set(key, { ...person, ...before, groups: [...before.groups, ...person.groups] });
      }
    }
  }
  return { people: [...found.values()], error: errorOf(bad, found.size) };
}

/** The names of groups in a text; an id or a name may be repeated. */
export function groupNames(text: string, separator: ',' | '|', line: number | null): NamedGroup[] {
  return text
    .split(separator)
    .map((name) => ({ name: name.trim(), line }))
    .filter(({ name }) => name !== '');
}

/** The address in a text that may also say the name of its person. */
export function addressIn(text: string): string {
  return (NAMED.exec(text.trim())?.[2] ?? text).trim();
}

/** The name in such a text, as mail programs quote it; an empty one where it says none. */
export function nameIn(text: string): string {
  const [, said = ''] = NAMED.exec(text.trim()) ?? [];
  return said.trim().replace(/^"(.*)"$/, '$1');
}

/** What is wrong with the e-mail of somebody who is to become a user; null: nothing. */
export function newEmailError(email: string): string | null {
  if (!isPossibleEmail(email)) return notAnEmail(email);
  return AMBIGUOUS.test(email)
    ? `“${shortened(email)}” holds a space, a comma, a semicolon or a bracket; write the address alone, such as ann@example.com`
    : null;
}

/** Says that a text is no e-mail address. */
export function notAnEmail(text: string): string {
  return `“${shortened(text)}” is no e-mail address`;
}

/** The first errors of a list, in one sentence. */
export function errorsInOne(bad: readonly string[]): string {
  const more = bad.length > ERRORS_SHOWN ? [`and ${bad.length - ERRORS_SHOWN} more`] : [];
  return [...bad.slice(0, ERRORS_SHOWN), ...more].join('; ');
}

function columnsOf(heading: readonly string[]): Columns {
  const having = (form: RegExp): number[] =>
    heading.flatMap((name, at) => (form.test(name.trim()) ? [at] : []));
  const groups = having(GROUPS_HEADING);
  const names = having(NAME_HEADING);
  return { count: groups.length === 0 ? null : heading.length, groups, names };
}

/** The person of a line, or what is wrong with it. */
function personOf({ line, values }: CsvRecord, columns: Columns): Person | string {
  if (values === null) return UNCLOSED;
  const { count, groups, names } = columns;
  const email = addressIn(values[0] ?? '');
  const others = values.slice(1).filter((_, at) => ![...groups, ...names].includes(at + 1));
  const error = emailError(email, others);
  if (error !== null) return error;
  // A separator that nobody quoted would make columns of groups, and lose them.
  if (count !== null && values.slice(count).some((value) => value.trim() !== '')) return TOO_LONG;
  const named = groups.flatMap((at) => groupNames(values[at] ?? '', '|', line));
  const said = names.map((at) => (values[at] ?? '').trim()).find((name) => name !== '');
  const name = readPersonName(said ?? nameIn(values[0] ?? ''));
  if (name === null && said !== undefined) return BAD_NAME;
  return { email, ...(name === null ? {} : { name }), line, groups: named };
}

/** What is wrong with the e-mail of a list; null: nothing. */
function emailError(email: string, further: readonly string[]): string | null {
  const error = newEmailError(email);
  if (error !== null) return error;
  const others = further.map(addressIn).filter((value) => value !== '');
  if (others.length > 0 && others.every(isPossibleEmail)) return SEVERAL;
  // An apostrophe would make it safe in the file of the links, and wrong for programs.
  return isFormula(email)
    ? `“${shortened(email)}” begins as a formula of a spreadsheet does; let this person in alone: ${commandLine('user enrol E-MAIL')}`
    : null;
}

function errorOf(bad: readonly string[], count: number): string | null {
  if (bad.length > 0) return errorsInOne(bad);
  if (count === 0) return 'holds no e-mail address';
  if (count > ENROLLED_MAX) return `holds ${count} e-mail addresses; ${ENROLLED_MAX} at most`;
  return null;
}
