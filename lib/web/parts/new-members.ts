// The form that makes users members of a group: one person, or a list of e-mails. Where some of
// them are no users nobody is added, and the page offers to add the others and to invite these.
// docs/api.md#members-of-a-group.

import { type Group, GROUPS_OF_USER_MAX } from '../../../models/index.ts';
import { isPossibleEmail } from '../../auth/email.ts';
import { localPath } from '../../auth/local-path.ts';
import type { KnownNames } from '../../domain/groups/members.ts';
import { shortened } from '../../kit/validation/texts.ts';
import { membersOf, type Section, type Typed } from '../kit/form.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { groupWord, OFFERED_PEOPLE } from './owners.ts';

/** People whom one message names; there is no room for more. */
const NAMED_MAX = 5;

/** The form. */
export const membersForm: readonly Section[] = [
  {
    fields: [
      { name: 'one', label: 'One user', placeholder: 'Name or e-mail', combobox: OFFERED_PEOPLE },
      {
        name: 'add',
        label: 'Or a list of e-mails',
        kind: 'area',
        help: `Of users, with commas, semicolons or line ends between; up to 1,000 at once. A user is in ${GROUPS_OF_USER_MAX} groups at most.`,
      },
    ],
  },
];

const FIELDS = ['one', 'add'] as const;

/** A person as mail programs write one: `Ann Archer <ann@example.com>`, also with quotes. */
const NAMED = /(^|[,;\n])(?:[^\S\n]*"[^"\n]*"[^\S\n]*|[^"@,;<>\n]*)<([^<>\s@]+@[^<>\s@]+)>/g;

/** Everybody whom the form names. */
export function namesIn(typed: Typed): string[] {
  return FIELDS.flatMap((field) => namesOf(field, typed[field]));
}

/**
 * A further button of the form. Its value holds, with spaces between: `known`: only users are
 * added; `invite`: the others are then invited; `force`: policy tests may fail.
 */
export interface WayButton {
  readonly name: 'do';
  readonly value: string;
  readonly label: string;
}

/** The button that does what another did, though policy tests fail. */
export function forced(before: string): WayButton {
  return { name: 'do', value: `${before} force`.trim(), label: 'Add them anyway' };
}

/** What can be done with a list that names unknown people. */
export function waysAround(group: Group, { known, unknown }: KnownNames): WayButton[] {
  const add: WayButton = {
    name: 'do',
    value: 'known',
    label: known.length === 1 ? 'Add the known one' : `Add the ${known.length} known ones`,
  };
  const others = unknown.length === 1 ? 'the other' : 'the others';
  const invite: WayButton = {
    name: 'do',
    value: 'known invite',
    label: known.length === 0 ? 'Invite them' : `Add them and invite ${others}`,
  };
  return [
    ...(known.length === 0 ? [] : [add]),
    ...(invitation(group, unknown) === null ? [] : [invite]),
  ];
}

/**
 * The page that invites people into a group; null where it cannot be asked for: not all of them are
 * named by e-mail, or they are too many for an address.
 */
export function invitation(group: Group, people: readonly string[]): string | null {
  if (people.length === 0 || !people.every(isPossibleEmail)) return null;
  const query = new URLSearchParams({ email: people.join('\n'), groups: groupWord(group) });
  return localPath(`/users/enrol?${query.toString()}`);
}

/** Says at each field who is no user. */
export function unknownErrors(typed: Typed, unknown: readonly string[]): FormErrors {
  const errors: FormErrors = {};
  for (const field of FIELDS) {
    const names = namesOf(field, typed[field]).filter((name) => unknown.includes(name));
    if (names.length > 0) errors[field] = [noUsers([...new Set(names)].map(shortened))];
  }
  return errors;
}

/** Other errors of who is added, at the field that was used. */
export function memberErrors({ add, ...others }: FormErrors, typed: Typed): FormErrors {
  if (add === undefined) return others;
  return { ...others, [(typed['add'] ?? '').trim() === '' ? 'one' : 'add']: add };
}

/** What is said when members were added without people who are no users. */
export function addedWords(added: number, leftOut: readonly string[]): string {
  const words =
    added === 0
      ? 'Nobody is a new member: all of them were members before.'
      : added === 1
        ? 'One user is a new member.'
        : `${added} users are new members.`;
  if (leftOut.length === 0) return words;
  const more = leftOut.length - NAMED_MAX;
  const named = leftOut.slice(0, NAMED_MAX).map(shortened);
  return `${words} ${noUsers(more > 0 ? [...named, `${more} more`] : named)}.`;
}

function noUsers(names: readonly string[]): string {
  const [one = ''] = names;
  if (names.length > 1) return `These are no users: ${names.join(', ')}`;
  return one.includes(' ') ? `No user has the e-mail “${one}”` : `${one} is no user`;
}

function namesOf(field: (typeof FIELDS)[number], text = ''): string[] {
  const bare = text.replaceAll(NAMED, '$1$2').trim();
  // Of one person a name may have been typed: "Ann Archer" are not two.
  if (field === 'one' && bare !== '' && !/[@,;\n]/.test(bare)) return [bare];
  return membersOf(bare);
}
