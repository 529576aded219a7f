// Owners as people name them: by e-mail, where records and the API have ids.

import { type Database, emailKey, readUsers, type UserRow } from '../../../models/index.ts';
import type { Faults } from '../../judge/judge.ts';
import { messages } from '../../judge/messages.ts';

/** More users than that are not offered in a list. */
const SUGGESTIONS_MAX = 100;

/** The id of a user that nobody is: the rules of the API say that it does not exist. */
const NOBODY = 'nobody';

/** The id for an e-mail that was typed; nothing for nothing. */
export async function ownerIdOf(database: Database, email: string): Promise<string> {
  if (email === '') return '';
  const [user] = await readUsers(database, { emailKey: emailKey(email) });
  return user?.id ?? NOBODY;
}

/** The faults of a form in which `user_id` was typed as an e-mail: an unknown one is named. */
export function ownerFaults(faults: Faults, email: string): Faults {
  const { user_id: said = [] } = faults;
  if (!(said as unknown[]).includes(messages.absent)) return faults;
  return { ...faults, user_id: [`No user has the e-mail “${email}”`] };
}

/** E-mails that a form can offer; none where there are too many to choose from. */
export async function suggestedOwners(database: Database): Promise<readonly string[]> {
  const found = await database.models.User.findAll({
    attributes: ['email'],
    order: [['email_key', 'ASC']],
    limit: SUGGESTIONS_MAX + 1,
  });
  return found.length > SUGGESTIONS_MAX ? [] : found.map(({ email }) => email);
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

/** Their e-mails, by id. */
export async function ownerEmails(
  database: Database,
  records: readonly { readonly user_id: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const owners = await ownersOf(database, records);
  return new Map([...owners].map(([id, { email }]) => [id, email]));
}
