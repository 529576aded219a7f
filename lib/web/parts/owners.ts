// Owners as people name them: by e-mail, where records and the API have ids.

import {
  type Database,
  emailKey,
  findPeople,
  groupNameOf,
  readUsers,
  type RuleRow,
  type UserRow,
} from '../../../models/index.ts';
import { hasCode } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import type { Suggestion } from '../kit/suggestion.ts';

/** More users than that are not offered in a list. */
const SUGGESTIONS_MAX = 100;
/** So many are offered at once to who types. */
const OFFERED = 10;

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

/** Names of groups that a form can offer; none where there are too many to choose from. */
export async function suggestedGroups({ models }: Database): Promise<readonly Suggestion[]> {
  const found = await models.Group.findAll({
    attributes: ['name'],
    order: [['name', 'ASC']],
    limit: SUGGESTIONS_MAX + 1,
  });
  return found.length > SUGGESTIONS_MAX ? [] : found.map(({ name }) => ({ value: name }));
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

/** People that a form can offer by e-mail; none where there are too many to choose from. */
export async function suggestedOwners(database: Database): Promise<readonly Suggestion[]> {
  const found = await database.models.User.findAll({
    attributes: ['email', 'name'],
    order: [['email_key', 'ASC']],
    limit: SUGGESTIONS_MAX + 1,
  });
  return found.length > SUGGESTIONS_MAX ? [] : found.map(suggestionOf);
}

/** Some people for what was typed so far. */
export async function offeredPeople(database: Database, typed: string): Promise<Suggestion[]> {
  const found = await findPeople(database, typed.trim(), OFFERED);
  return found.map((one) => ({ value: one.email, label: personInWords(one) }));
}

/** Some browsers show the label alone, so it has the e-mail too. */
function suggestionOf(user: Pick<UserRow, 'email' | 'name'>): Suggestion {
  return { value: user.email, ...(user.name === null ? {} : { label: personInWords(user) }) };
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
