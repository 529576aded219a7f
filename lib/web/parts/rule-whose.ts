// Whose a rule is, as people type it in one field: `everyone`, the e-mail of a user, or the name of
// a group, with the word `group` before it where a user could be meant.

import { findUsersAndGroups, readUsers, type Database } from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { hasCode } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { groupIdOf, groupName, ownerIdOf, personInWords, type Suggestion } from './owners.ts';

/** The word for all users. */
export const EVERYONE = 'everyone';
const GROUP = 'group ';
/** So many are offered at once. */
const OFFERED = 10;

/** The columns of a rule that say whose it is, as a request sends them. */
export interface Whose {
  readonly user_id: string;
  readonly group_id: string;
}

/** Reads what was typed. A name that nobody has is an id that the rules of the API refuse. */
export async function readWhose(database: Database, typed: string): Promise<Whose> {
  const text = typed.trim();
  if (text === '' || text.toLowerCase() === EVERYONE) return { user_id: '', group_id: '' };
  if (text.toLowerCase().startsWith(GROUP)) {
    const group_id = await groupIdOf(database, text.slice(GROUP.length).trim());
    if (isUuid(group_id)) return { user_id: '', group_id };
  }
  const user_id = await ownerIdOf(database, text);
  if (isUuid(user_id)) return { user_id, group_id: '' };
  const group_id = await groupIdOf(database, text);
  return isUuid(group_id) ? { user_id: '', group_id } : { user_id, group_id: '' };
}

/** The text of the field for a rule. */
export async function whoseText(
  database: Database,
  { user_id, group_id }: { readonly user_id: unknown; readonly group_id: unknown },
): Promise<string> {
  if (typeof group_id === 'string') return groupText(await groupName(database, group_id));
  const [user] = typeof user_id === 'string' ? await readUsers(database, { ids: [user_id] }) : [];
  return user?.email ?? EVERYONE;
}

/** A group in the field. */
export function groupText(name: string): string {
  return `${GROUP}${name}`;
}

/**
 * What a field offers for what was typed so far. The name of a person is in the label alone: people
 * may choose their names, so nobody is found by one (`readWhose`).
 */
export async function offeredWhose(database: Database, typed: string): Promise<Suggestion[]> {
  const text = typed.trim();
  const name = text.toLowerCase().startsWith(GROUP) ? text.slice(GROUP.length).trim() : text;
  const found = await findUsersAndGroups(database, name, OFFERED);
  const offers = found.map(({ kind, name: value, person }) =>
    kind === 'group'
      ? plainOffer(groupText(value))
      : { value, label: personInWords({ email: value, name: person }) },
  );
  const isForAll = EVERYONE.startsWith(text.toLowerCase());
  return (isForAll ? [plainOffer(EVERYONE), ...offers] : offers).slice(0, OFFERED);
}

function plainOffer(value: string): Suggestion {
  return { value, label: value };
}

/** The errors of the form, where two fields of the API are one: an unknown name is said. */
export function whoseErrors(errors: FormErrors, typed: string): FormErrors {
  const { user_id, group_id, ...others } = errors;
  const found = user_id ?? group_id;
  if (found === undefined) return errors;
  const isUnknown = hasCode(user_id, 'absent') || hasCode(group_id, 'absent');
  const whose = isUnknown
    ? [`No user has the e-mail “${typed}”, and no group has this name`]
    : found;
  return { ...others, whose };
}
