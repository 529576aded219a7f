// The members of a group. An administrator adds and removes members by id or e-mail, many at once;
// memberships that an identity provider gave belong to the provider.
// docs/api.md#members-of-a-group.

import {
  type Database,
  emailKey,
  type Group,
  type GroupMember,
  type GroupPage,
  type GroupsChange,
  GROUPS_OF_USER_MAX,
  MANUAL,
  Op,
  readGroupsOfUsers,
  readMembers,
  type Transaction,
  type User,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isReadableId, isUuid, joi, mark, resource } from '../../kit/validation/fields.ts';
import {
  addError,
  type Errors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import { type FieldError, messages } from '../../kit/validation/messages.ts';
import { shortened } from '../../kit/validation/texts.ts';
import { type FailingTest, failureErrors, noteFailures } from '../policy/guard.ts';
import { failuresOfGroups } from '../policy/memberships.ts';
import type { PolicyContext } from '../policy/trial.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { lockRecord, type RecordContext } from '../../kit/records/collection.ts';
import { refuseErrors } from '../../kit/records/writes.ts';
import type { MembersChanged, ShownMember } from './fields.ts';

/** The most users whom one request adds or removes. */
export const MEMBERS_AT_ONCE_MAX = 1_000;
/** How many users one statement looks for. */
const NAMES_PER_STATEMENT = 500;

/** Users by id or e-mail. */
export interface MembersSent {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
}

const names = (description: string) =>
  mark(joi.array().items(joi.string().min(1)).max(MEMBERS_AT_ONCE_MAX).description(description), {
    unreadable: messages.badMembers,
  });

/** The schema of members in bulk. */
export const membersSchema = resource({
  add: names('Ids or e-mails of users who become members; those who are stay so.'),
  remove: names('Ids or e-mails of users who are no members any more.'),
});

/** Validates members in bulk, without the database. */
export const validateMembers = validatorOf<MembersSent>(membersSchema);

/** A change of members that may be written. */
export interface MembersPlan {
  readonly group: Group;
  readonly add: readonly User[];
  readonly remove: readonly User[];
  /** The removed users whom an identity provider keeps in the group. */
  readonly staying: readonly GroupMember[];
  /** How the groups of each of these users change. */
  readonly changes: readonly GroupsChange[];
}

/** Names that an administrator typed. */
export interface KnownNames {
  /** Each user once. */
  readonly known: readonly string[];
  /** What names nobody, as it was typed. */
  readonly unknown: readonly string[];
}

/** The members of the groups of one server. */
export class Members {
  readonly #context: RecordContext;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /** A part of the members of a group. */
  async page(groupId: string, wanted: GroupPage): Promise<GroupMember[]> {
    if (!isUuid(groupId)) throw new ApiError('not_found');
    const id = groupId.toLowerCase();
    if ((await this.#database.models.Group.findByPk(id)) === null) throw new ApiError('not_found');
    return readMembers(this.#database, id, wanted);
  }

  /**
   * Adds a user. The path names the user, so that an unknown one is 404 and no error of a field.
   */
  async add(caller: Caller, groupId: string, name: string, force = false): Promise<GroupMember> {
    const user = await this.#existing(name);
    await this.change(caller, groupId, { values: { add: [user.id] }, errors: {} }, force);
    const [member] = await readMembers(this.#database, groupId.toLowerCase(), {
      userIds: [user.id],
    });
    if (member === undefined) throw new ApiError('not_found');
    return member;
  }

  /** Removes a member; answers who says still that they are one. */
  async remove(caller: Caller, groupId: string, name: string): Promise<readonly string[]> {
    const user = await this.#existing(name);
    const sent = { values: { remove: [user.id] }, errors: {} };
    const { removed } = await this.change(caller, groupId, sent);
    if (removed === 0) throw new ApiError('not_found');
    const userIds = [user.id];
    const [left] = await readMembers(this.#database, groupId.toLowerCase(), { userIds });
    return left?.sources ?? [];
  }

  /**
   * Adds and removes members together: all of them, or none. `force`: whether they are added though
   * policy tests fail then.
   */
  change(
    caller: Caller,
    groupId: string,
    { values, errors }: Validated<MembersSent>,
    force = false,
  ): Promise<MembersChanged> {
    return this.#context.writes.run(caller, {
      // All changes of members hold this scope, so that they cannot exceed the limit together.
      scopes: { configuration: true },
      check: async (transaction) => {
        const group = await lockRecord(this.#database.models.Group, groupId, transaction, errors);
        const plan = await planMembers(this.#database, group, values, { ...errors }, transaction);
        return { plan, failing: await guardMembers(this.#context, plan, force, transaction) };
      },
      write: (transaction, { plan, failing }) => {
        noteFailures(transaction, failing, { ruleId: null });
        caller.failing = failing.length;
        return writeMembers(this.#database, plan, transaction);
      },
    });
  }

  /** Which of some names are users; a list that is too long is left to `change` to refuse. */
  async known(names: readonly string[]): Promise<KnownNames> {
    if (names.length > MEMBERS_AT_ONCE_MAX) return { known: names, unknown: [] };
    const found = await findUsers(this.#database, names.filter(isReadableId));
    return {
      known: [...new Set(found.values())].map(({ id }) => id),
      unknown: [...new Set(names.filter((name) => !found.has(keyOf(name))))],
    };
  }

  async #existing(name: string): Promise<User> {
    const found = isReadableId(name) ? await findUsers(this.#database, [name]) : null;
    const user = found?.get(keyOf(name));
    if (user === undefined) throw new ApiError('not_found');
    return user;
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** Checks a change of members, and throws what refuses it; the configuration must be locked. */
export async function planMembers(
  database: Database,
  group: Group,
  { add = [], remove = [] }: MembersSent,
  errors: Errors,
  transaction: Transaction,
): Promise<MembersPlan> {
  refuseErrors(errors);
  const users = await findUsers(database, [...add, ...remove], transaction);
  const named = (field: 'add' | 'remove', sent: readonly string[]): User[] => {
    const found = new Set<User>();
    for (const name of sent) {
      const user = users.get(keyOf(name));
      if (user === undefined)
        addError(errors, field, { code: 'noSuchUser', values: { name: shortened(name) } });
      else found.add(user);
    }
    return [...found];
  };
  const plan = { group, add: named('add', add), remove: named('remove', remove) };
  const ids = [...plan.add, ...plan.remove].map(({ id }) => id);
  const groups = await readGroupsOfUsers(database, ids, transaction);
  const staying = await validatePlan(database, plan, groups, errors, transaction);
  refuseErrors(errors);
  const stayingIds = new Set(staying.map(({ id }) => id));
  const changeOf = ({ id: userId }: User, isAdded: boolean): GroupsChange => {
    const before = groups.get(userId) ?? [];
    const others = before.filter((id) => id !== group.id);
    const isMember = isAdded || stayingIds.has(userId);
    return { userId, before, after: isMember ? [...others, group.id] : others };
  };
  const changes = [
    ...plan.add.map((user) => changeOf(user, true)),
    ...plan.remove.map((user) => changeOf(user, false)),
  ];
  return { ...plan, staying, changes };
}

/**
 * The policy tests that fail because of a change of members; throws those that hold it up unless it
 * is forced.
 */
export async function guardMembers(
  context: PolicyContext,
  { changes }: Pick<MembersPlan, 'changes'>,
  force: boolean,
  transaction: Transaction,
): Promise<FailingTest[]> {
  const failing = await failuresOfGroups(context, changes, transaction);
  if (!force) refuseErrors(failureErrors(failing, null));
  return failing;
}

/** Adds the errors of known users; returns the members whom providers keep in the group. */
async function validatePlan(
  database: Database,
  { group, add, remove }: Omit<MembersPlan, 'changes' | 'staying'>,
  groups: ReadonlyMap<string, readonly string[]>,
  errors: Errors,
  transaction: Transaction,
): Promise<GroupMember[]> {
  for (const user of add) {
    const present = groups.get(user.id) ?? [];
    if (present.length >= GROUPS_OF_USER_MAX && !present.includes(group.id))
      addError(errors, 'add', inTooMany(user.email));
    if (remove.includes(user))
      addError(errors, 'remove', { code: 'alsoAdded', values: { email: user.email } });
  }
  const userIds = remove.map(({ id }) => id);
  const members = await readMembers(database, group.id, { userIds, transaction });
  for (const { email, sources } of members)
    // What an administrator said may go; what a provider says changes there alone.
    if (!sources.includes(MANUAL))
      for (const source of sources) addError(errors, 'remove', ofProvider(email, source));
  return members.filter(({ sources }) => sources.some((source) => source !== MANUAL));
}

/** Writes what was checked. */
export async function writeMembers(
  database: Database,
  { group, add, remove }: Omit<MembersPlan, 'changes' | 'staying'>,
  transaction: Transaction,
): Promise<MembersChanged> {
  const { GroupMembership } = database.models;
  const where = { group_id: group.id, source: MANUAL };
  const rows = await GroupMembership.findAll({
    attributes: ['id', 'user_id'],
    where: { ...where, user_id: [...add, ...remove].map(({ id }) => id) },
    transaction,
  });
  const present = new Set(rows.map(({ user_id }) => user_id));
  const fresh = add.filter(({ id }) => !present.has(id));
  await GroupMembership.bulkCreate(
    fresh.map(({ id }) => ({ ...where, user_id: id })),
    { transaction, validate: false },
  );
  const removedIds = new Set(remove.map(({ id }) => id));
  const gone = rows.filter(({ user_id }) => removedIds.has(user_id)).map(({ id }) => id);
  await GroupMembership.destroy({ where: { id: gone }, transaction });
  return { added: fresh.length, removed: gone.length };
}

/** The members of a group among some users, who are named by id or e-mail. */
export async function membersAmong(
  database: Database,
  groupId: string,
  wanted: readonly string[],
): Promise<GroupMember[]> {
  const users = await findUsers(database, wanted);
  const userIds = [...new Set([...users.values()].map(({ id }) => id))];
  return readMembers(database, groupId, { userIds });
}

/** A member as it is shown. */
export function showMember({ id, email, sources }: GroupMember): ShownMember {
  return { id, email, sources: [...sources] };
}

function inTooMany(email: string): FieldError {
  return { code: 'inTooManyGroups', values: { email, most: GROUPS_OF_USER_MAX } };
}

/** The sentence that says why somebody who was removed stays a member. */
export function staysBecause({ email, sources }: GroupMember): string {
  const providers = sources.filter((source) => source !== MANUAL).map((source) => `"${source}"`);
  const [who, says] = providers.length === 1 ? ['provider', 'says'] : ['providers', 'say'];
  return `${email} stays a member because the identity ${who} ${providers.join(', ')} ${says} so; change it there`;
}

function ofProvider(email: string, provider: string): FieldError {
  return { code: 'memberOfProvider', values: { email, provider } };
}

/** By what a user is found. */
function keyOf(name: string): string {
  return isUuid(name) ? name.toLowerCase() : emailKey(name.trim());
}

/** Finds users by id or e-mail, by `keyOf` of each. */
async function findUsers(
  { models }: Database,
  wanted: readonly string[],
  transaction: Transaction | null = null,
): Promise<Map<string, User>> {
  const keys = [...new Set(wanted.map(keyOf))];
  const found = new Map<string, User>();
  for (let start = 0; start < keys.length; start += NAMES_PER_STATEMENT) {
    const some = keys.slice(start, start + NAMES_PER_STATEMENT);
    const users = await models.User.findAll({
      attributes: ['id', 'email', 'email_key'],
      where: { [Op.or]: [{ id: some.filter(isUuid) }, { email_key: some }] },
      transaction,
    });
    for (const user of users) found.set(user.id, user).set(user.email_key, user);
  }
  return found;
}
