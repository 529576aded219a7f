// The users of a dump. Users whose e-mail exists already stay as they are: a dump promotes and
// enables nobody. Differences are reported, so that an administrator can decide.

import {
  type Database,
  emailKey,
  emailLook,
  type Role,
  type Transaction,
  type User,
} from '../../../models/index.ts';
import { isSameAddress } from '../../auth/email.ts';
import { hasNoErrors, validatorOf } from '../../kit/validation/validate.ts';
import { sentences } from '../../kit/validation/messages.ts';
import { userSchema } from '../../domain/users/users.ts';
import { commandLine } from '../../kit/process/command-line.ts';
import { type DumpRecord, freeId, madeAt, timeOf } from './firezone-dump.ts';
import { errorLines, ERRORS_MAX, type PresentUser } from './run.ts';

/** Users that are inserted at once. */
const BATCH = 200;
const METHOD_CHARACTERS_MAX = 64;

/** The result of importing the users of a dump. */
export interface ImportedUsers {
  /** From the id of a user in the dump to the id of the user here. */
  readonly ids: ReadonlyMap<string, string>;
  readonly errors: string[];
  readonly notes: string[];
  readonly made: number;
  readonly merged: number;
  readonly present: readonly PresentUser[];
}

type Known = Pick<User, 'id' | 'email' | 'role' | 'disabled_at'>;

/** Makes the users who do not exist yet. */
export async function importUsers(
  database: Database,
  dumped: readonly DumpRecord[],
  transaction: Transaction,
): Promise<ImportedUsers> {
  const { User } = database.models;
  const validate = validatorOf<{ email?: string; role?: Role }>(userSchema);
  const attributes = ['id', 'email', 'email_key', 'email_look', 'role', 'disabled_at'];
  const standing = await User.findAll({ attributes, transaction });
  const known = new Map<string, Known>(standing.map((user) => [user.email_key, user]));
  const looks = new Set(standing.map(({ email_look: look }) => look));
  const taken = new Set(standing.map(({ id }) => id));
  const made = new Set<string>();
  const ids = new Map<string, string>();
  const errors: string[] = [];
  const present: PresentUser[] = [];
  const rows = [];
  for (const [index, record] of dumped.entries()) {
    if (errors.length > ERRORS_MAX) break;
    const place = `users[${index}]`;
    const { values, errors: found } = validate(
      { email: record['email'], role: record['role'] },
      'create',
    );
    if (!hasNoErrors(found)) errors.push(...errorLines(place, found));
    // A user who was disabled must stay disabled, even if the time is written in another way.
    const disabledAt = record['disabled_at'] ?? null;
    if (disabledAt !== null && timeOf(disabledAt) === null)
      errors.push(`${place}.disabled_at must be a time such as 2024-01-31T12:00:00Z, or null`);
    const { email = '', role = 'unprivileged' } = values;
    const user = known.get(emailKey(email));
    const id = user?.id ?? freeId(record['id'], taken);
    taken.add(id);
    const named = typeof record['id'] === 'string' ? record['id'].toLowerCase() : id;
    if (ids.has(named)) errors.push(`${place}.id ${sentences.taken}`);
    else ids.set(named, id);
    if (!hasNoErrors(found)) continue;
    // Users are found by a key in which addresses of different people may meet; the devices and the
    // rules of one of them must not become those of the other.
    const isOther = user !== undefined && !isSameAddress(user.email, email);
    if (isOther || (user === undefined && looks.has(emailLook(email))))
      errors.push(`${place}.email ${sentences.looksTaken}`);
    else if (user === undefined) {
      looks.add(emailLook(email));
      const row = { id, email, role, ...stateOf(record), ...madeAt(record) };
      known.set(emailKey(email), row);
      made.add(id);
      rows.push(row);
    } else if (made.has(user.id)) errors.push(`${place}.email ${sentences.taken}`);
    else present.push(compare(user, role, record));
  }
  for (let at = 0; at < rows.length; at += BATCH)
    await User.bulkCreate(rows.slice(at, at + BATCH), { transaction, validate: false });
  const notes = [...passwordNotes(rows.length), ...presentNotes(present)];
  return { ids, errors, notes, made: rows.length, merged: dumped.length - rows.length, present };
}

/** What a dump says of a user that the API would not set. */
function stateOf(record: DumpRecord) {
  const method = record['last_signed_in_method'];
  const disabled_at = timeOf(record['disabled_at']);
  const fits = typeof method === 'string' && method.length <= METHOD_CHARACTERS_MAX;
  return {
    last_signed_in_at: timeOf(record['last_signed_in_at']),
    last_signed_in_method: fits ? method : null,
    disabled_at,
    disabled_by: disabled_at === null ? null : ('administrator' as const),
  };
}

/** A field that a dump leaves out does not count as a difference. */
function compare(user: Known, role: Role, record: DumpRecord): PresentUser {
  const [here, there] = [user.disabled_at !== null, (record['disabled_at'] ?? null) !== null];
  const isRoleTold = Object.hasOwn(record, 'role') && role !== user.role;
  const isStateTold = Object.hasOwn(record, 'disabled_at') && here !== there;
  return {
    email: user.email,
    differs: {
      ...(isRoleTold ? { role: { here: user.role, there: role } } : {}),
      ...(isStateTold ? { disabled: { here, there } } : {}),
    },
  };
}

// ---- what a person reads -----------------------------------------------------------------------

function passwordNotes(count: number): string[] {
  if (count === 0) return [];
  return [
    `${count} users have no password, because no dump has one: they sign in through a ` +
      'provider, or an administrator sets a password',
  ];
}

function presentNotes(present: readonly PresentUser[]): string[] {
  const notes = present.flatMap(({ email, differs }) => differenceNotes(email, differs));
  if (notes.length > 0)
    notes.push(
      'users who exist already keep role and state; to follow the dump, change them in the ' +
        `console, or by: ${commandLine('user disable --email E')}, or: user enable --email E`,
    );
  const equal = present.filter(({ differs }) => Object.keys(differs).length === 0);
  if (equal.length > 0)
    notes.push(`there already, as in the dump: ${equal.map(({ email }) => email).join(', ')}`);
  return notes;
}

function differenceNotes(email: string, { role, disabled }: PresentUser['differs']): string[] {
  const word = (isDisabled: boolean): string => (isDisabled ? 'disabled' : 'enabled');
  const differences = [
    ...(role === undefined ? [] : [`${role.here} (in the dump ${role.there})`]),
    ...(disabled === undefined
      ? []
      : [`${word(disabled.here)} (in the dump ${word(disabled.there)})`]),
  ];
  if (differences.length === 0) return [];
  return [`${email} is there already and stays ${differences.join(' and ')}`];
}
