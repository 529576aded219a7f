// The groups that people of a list join, checked like the adding of members: groups that exist, not
// more than a user may be in, and no policy test that fails unless somebody insists. The e-mail of
// a new person must not look like the e-mail of another user. docs/api.md#members-of-a-group.

import {
  type Database,
  emailKey,
  emailLook,
  findLookAlikes,
  type Group,
  groupNameOf,
  GROUPS_OF_USER_MAX,
  Op,
  readGroupsOfUsers,
  type Transaction,
} from '../../../models/index.ts';
import { guardMembers } from '../groups/members.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { addError, type Errors } from '../../kit/validation/validate.ts';
import type { FieldError } from '../../kit/validation/messages.ts';
import { shortened } from '../../kit/validation/texts.ts';
import type { FailingTest } from '../policy/guard.ts';
import type { PolicyContext } from '../policy/trial.ts';
import { refuseErrors } from '../../kit/records/writes.ts';
import type { NamedGroup, Person } from './people-list.ts';

/** How many groups one statement looks for. */
const NAMES_PER_STATEMENT = 500;

/** Which people are to join which groups. */
export interface JoinWish {
  readonly people: readonly Person[];
  /** Groups that all of them join. */
  readonly groups: readonly NamedGroup[];
  /** Whether they join though policy tests fail then. */
  readonly force: boolean;
}

/** Which people join which groups, after it was checked. */
export interface Joining {
  /** The people of each group, by their `emailKey`. */
  readonly members: ReadonlyMap<Group, readonly string[]>;
  readonly failing: readonly FailingTest[];
}

/** True if a group is named; then the configuration must be locked. */
export function namesGroups({ people, groups }: Omit<JoinWish, 'force'>): boolean {
  return groups.length > 0 || people.some((person) => person.groups.length > 0);
}

/**
 * Checks who joins which groups, and throws the errors: of `groups` for groups that are named for
 * everybody, of `emails` for groups of a list.
 */
export async function planJoining(
  context: PolicyContext,
  wish: JoinWish,
  transaction: Transaction,
): Promise<Joining> {
  const { database } = context.services;
  await refuseLookAlikes(database, wish.people, transaction);
  if (!namesGroups(wish)) return { members: new Map(), failing: [] };
  refuseTooMany(wish);
  const named = [...wish.groups, ...wish.people.flatMap(({ groups }) => groups)];
  const found = await findGroups(database, named, transaction);
  refuseUnknown(named, found);
  const wanted = new Map(
    wish.people.map((person) => {
      const groups = [...wish.groups, ...person.groups].flatMap(({ name }) => groupOf(found, name));
      return [emailKey(person.email), { person, groups: new Set(groups) }];
    }),
  );
  const changes = await changesOf(database, wanted, transaction);
  const failing = await guardMembers(context, { changes }, wish.force, transaction);
  const members = new Map<Group, string[]>();
  for (const [key, { groups }] of wanted)
    for (const group of groups) members.set(group, [...(members.get(group) ?? []), key]);
  return { members, failing };
}

interface Wanted {
  readonly person: Person;
  readonly groups: ReadonlySet<Group>;
}

/** The groups that users who exist are in afterwards; throws if somebody is in too many. */
async function changesOf(
  database: Database,
  wanted: ReadonlyMap<string, Wanted>,
  transaction: Transaction,
) {
  const users = await database.models.User.findAll({
    attributes: ['id', 'email_key'],
    where: { email_key: [...wanted.keys()] },
    transaction,
  });
  const ids = new Map(users.map(({ id, email_key }) => [email_key, id]));
  const present = await readGroupsOfUsers(database, [...ids.values()], transaction);
  const bad: FieldError[] = [];
  const changes = [...wanted].flatMap(([key, { person, groups }]) => {
    const userId = ids.get(key);
    const before = present.get(userId ?? '') ?? [];
    const after = [...new Set([...before, ...[...groups].map(({ id }) => id)])];
    if (after.length > GROUPS_OF_USER_MAX && after.length > before.length)
      bad.push(inTooMany(person, after.length));
    // No policy test is about somebody who does not exist yet.
    return userId === undefined ? [] : [{ userId, before, after }];
  });
  if (bad.length > 0) refuseErrors({ emails: bad });
  return changes;
}

/** Finds groups by id or name, and locks them against their removal. */
async function findGroups(
  { models }: Database,
  named: readonly NamedGroup[],
  transaction: Transaction,
): Promise<ReadonlyMap<string, Group>> {
  const keys = [...new Set(named.map(({ name }) => keyOf(name)))];
  const groups: Group[] = [];
  for (let start = 0; start < keys.length; start += NAMES_PER_STATEMENT) {
    const some = keys.slice(start, start + NAMES_PER_STATEMENT);
    const rows = await models.Group.findAll({
      where: { [Op.or]: [{ id: some.filter(isUuid) }, { name: some }] },
      order: [['id', 'ASC']],
      lock: true,
      transaction,
    });
    groups.push(...rows);
  }
  // An id names one group, even where another group has this id as its name.
  return new Map([
    ...groups.map((group) => [group.name, group] as const),
    ...groups.map((group) => [group.id, group] as const),
  ]);
}

function groupOf(found: ReadonlyMap<string, Group>, name: string): Group[] {
  const group = found.get(keyOf(name));
  return group === undefined ? [] : [group];
}

/** By what a group is found. */
function keyOf(name: string): string {
  return isUuid(name) ? name.toLowerCase() : groupNameOf(name);
}

/**
 * Refuses people who are named for more groups than a user may be in, before groups are looked for.
 */
function refuseTooMany({ people, groups: common }: JoinWish): void {
  const bad = people.flatMap((person) => {
    const { size } = new Set([...common, ...person.groups].map(({ name }) => keyOf(name)));
    return size > GROUPS_OF_USER_MAX ? [inTooMany(person, size)] : [];
  });
  if (bad.length > 0) refuseErrors({ emails: bad });
}

function refuseUnknown(named: readonly NamedGroup[], found: ReadonlyMap<string, Group>): void {
  const unknown = named.filter(({ name }) => !found.has(keyOf(name)));
  const errors: Errors = {};
  const ofLines: FieldError[] = [];
  for (const { name, line } of unknown) {
    const error: FieldError = { code: 'noSuchGroup', values: { name: shortened(name) } };
    if (line === null) addError(errors, 'groups', error);
    else ofLines.push({ ...error, line });
  }
  refuseErrors(ofLines.length > 0 ? { ...errors, emails: ofLines } : errors);
}

/** Refuses new people whose address looks like that of a user or of somebody else in the list. */
async function refuseLookAlikes(
  database: Database,
  people: readonly Person[],
  transaction: Transaction,
): Promise<void> {
  const emails = people.map(({ email }) => email);
  const present = await findLookAlikes(database, emails, transaction);
  const keys = new Set(present.map(({ email_key: key }) => key));
  const looks = new Set(present.map(({ email_look: look }) => look));
  const bad = people
    .filter(({ email }) => !keys.has(emailKey(email)))
    .filter(({ email }) => looks.has(emailLook(email)) || !looks.add(emailLook(email)))
    .map(({ line, email }): FieldError => ({
      code: 'looksLikeAnother',
      values: { email },
      ...inLine(line),
    }));
  if (bad.length > 0) refuseErrors({ emails: bad });
}

function inLine(line: number | null): Pick<FieldError, 'line'> {
  return line === null ? {} : { line };
}

function inTooMany({ email, line }: Person, count: number): FieldError {
  return {
    code: 'wouldBeInTooMany',
    values: { email, count, most: GROUPS_OF_USER_MAX },
    ...inLine(line),
  };
}
