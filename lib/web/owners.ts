// Owners as people name them: by e-mail, where records and the API have ids.

import { type Database, emailKey, readUsers, type UserRow } from '../../models/index.ts';

/** The id of a user that nobody is: the rules of the API say that it does not exist. */
const NOBODY = 'nobody';

/** The id for an e-mail that was typed; nothing for nothing. */
export async function ownerIdOf(database: Database, email: string): Promise<string> {
  if (email === '') return '';
  const [user] = await readUsers(database, { emailKey: emailKey(email) });
  return user?.id ?? NOBODY;
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
