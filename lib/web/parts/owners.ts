// People and groups as a form names them: by e-mail and by name, where records and the API have
// ids; and whom a field offers to who types.

import {
  type Database,
  emailKey,
  findGroups,
  findPeople,
  groupNameOf,
  readUsers,
  type RuleRow,
  type UserRow,
} from '../../../models/index.ts';
import { hasCode } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';

/** Where scripts ask which people, and which groups, a field may name. */
export const OFFERED_PEOPLE = '/users/groups/people';
export const OFFERED_GROUPS = '/users/groups/names';
/** So many are offered at once. */
const OFFERED = 10;
/** What is between groups where a field names several. */
const BETWEEN = '|';

/** A text that a field offers, and how people read it. */
export interface Suggestion {
  readonly value: string;
  readonly label: string;
}

/** The id that nobody and no group has: the rules of the API say that it does not exist. */
const NOBODY = 'nobody';

/** The id for an e-mail that was typed; nothing for nothing. */
export async function ownerIdOf(database: Database, email: string): Promise<string> {
  if (email === '') return '';
  const [user] = await readUsers(database, { emailKey: emailKey(email) });
  return user?.id ?? NOBODY;
}

/** The id of the group whose name was typed; nothing for nothing. */
export async function groupIdOf({ models }: Database, name: string): Promise<string> {
  if (name === '') return '';
  const where = { name: groupNameOf(name) };
  const group = await models.Group.findOne({ attributes: ['id'], where });
  return group?.id ?? NOBODY;
}

/** The name of a group; nothing for none. */
export async function groupName({ models }: Database, id: unknown): Promise<string> {
  const group = typeof id === 'string' ? await models.Group.findByPk(id) : null;
  return group?.name ?? '';
}

/** The errors of a form in which `user_id` was typed as an e-mail: an unknown one is named. */
export function ownerErrors(errors: FormErrors, email: string): FormErrors {
  if (!hasCode(errors['user_id'], 'absent')) return errors;
  return { ...errors, user_id: [`No user has the e-mail “${email}”`] };
}

/** Some people for what was typed so far. */
export async function offeredPeople(database: Database, typed: string): Promise<Suggestion[]> {
  const found = await findPeople(database, typed.trim(), OFFERED);
  return found.map((one) => ({ value: one.email, label: personInWords(one) }));
}

/** Some groups for the last of those that were typed so far; the others stay before it. */
export async function offeredGroups(database: Database, typed: string): Promise<Suggestion[]> {
  const before = typed.slice(0, typed.lastIndexOf(BETWEEN) + 1);
  const found = await findGroups(database, typed.slice(before.length).trim(), OFFERED);
  return found.map((group) => ({ value: before + groupWord(group), label: group.name }));
}

/** A group in a field that takes several: by its id, where its name would be read as two. */
export function groupWord({ id, name }: { readonly id: string; readonly name: string }): string {
  return name.includes(BETWEEN) ? id : name;
}

/** A person in one line: the e-mail, and the name beside it, never in its place. */
export function personInWords({ email, name }: Pick<UserRow, 'email' | 'name'>): string {
  return name === null ? email : `${email} · ${name}`;
}

/** The owners of records, by id; a record may be nobody's. */
export async function ownersOf(
  database: Database,
  records: readonly { readonly user_id: string | null }[],
): Promise<ReadonlyMap<string, UserRow>> {
  const ids = [...new Set(records.map(({ user_id }) => user_id).filter((id) => id !== null))];
  const users = await readUsers(database, { ids });
  return new Map(users.map((user) => [user.id, user]));
}

/** The e-mails of the owners, by id. */
export async function ownerEmails(
  database: Database,
  records: readonly { readonly user_id: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const owners = await ownersOf(database, records);
  return new Map([...owners].map(([id, { email }]) => [id, email]));
}

/** Whose rules are, by the id of the user or of the group: an e-mail, or the name of a group. */
export async function ownersOfRules(
  database: Database,
  rules: readonly Pick<RuleRow, 'user_id' | 'group_id'>[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(rules.map(({ group_id }) => group_id).filter((id) => id !== null))];
  const groups = await database.models.Group.findAll({ where: { id: ids } });
  return new Map([
    ...(await ownerEmails(database, rules)),
    ...groups.map(({ id, name }) => [id, `group ${name}`] as const),
  ]);
}
