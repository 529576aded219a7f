// The commands of users that make one, list them, and set a password.

import { readUsers, type UserRow } from '../../models/index.ts';
import { readWaits } from '../auth/attempts.ts';
import { showUsers } from '../domain/users/users.ts';
import type { Hints } from './error-words.ts';
import { findUser } from './finds.ts';
import { forPrograms } from './for-programs.ts';
import type { CommandName } from './grammar.ts';
import { emailAsTyped } from './naming.ts';
import { labelOfPassword, passwordOf } from './passwords.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

/** What a command takes for the fields that are typed as options. */
const HINTS: Hints = {
  email: '--email ann@example.com',
  role: '--role unprivileged|admin',
};

/** The commands. */
export const recordCommands: Partial<Record<CommandName, Run>> = {
  'user create': createUser,
  'user list': listUsers,
  'user set-password': setPassword,
};

async function createUser(given: Given, { options }: Command): Promise<Outcome> {
  const { email = '', name, role, passwordStdin, noPassword } = options;
  const password = noPassword ? null : await passwordOf(passwordStdin, given.readStdin);
  const said = { ...(name === undefined ? {} : { name }), ...(role === undefined ? {} : { role }) };
  const user = { email, ...said, ...typedTwice(password) };
  const { answer: made } = await performOperation(
    given,
    'createUser',
    { body: { user } },
    { hints: HINTS },
  );
  const answer = forPrograms(made);
  if (password === null || passwordStdin)
    return { text: `${String(answer['email'])} is made, ${String(answer['role'])}.`, data: answer };
  return {
    text: password,
    data: { ...answer, password },
    note: labelOfPassword(String(answer['email'])),
  };
}

async function listUsers({ database, rooms }: Given): Promise<Outcome> {
  const { recall } = await (await rooms()).context();
  const users = await readUsers(database);
  const waits = await readWaits(database, users);
  const shown = await showUsers(database, users, await recall.configuration());
  // The column is there where it holds something.
  const hasNames = users.some(({ name }) => name !== null);
  const rows = users.map((user, i) => [
    user.id,
    user.email,
    ...(hasNames ? [user.name ?? ''] : []),
    roleOf(user),
    stateOf(user, waits.get(user.id), shown[i]?.quota_exceeded === true),
    user.last_signed_in_at?.toISOString() ?? 'never signed in',
  ]);
  return {
    ...listed(
      [
        ['id', 'id'],
        ['e-mail', 'text'],
        ...(hasNames ? [['name', 'text'] as const] : []),
        ['role', 'text'],
        ['state', 'state'],
        ['last sign-in', 'time'],
      ],
      rows,
    ),
    data: shown.map(forPrograms),
  };
}

/** The role, and the provider that gave it. */
function roleOf({ role, role_provider: provider }: UserRow): string {
  return provider === null ? role : `${role} by ${provider}`;
}

function stateOf(
  { disabled_at }: UserRow,
  waitsUntil: Date | undefined,
  isOverQuota: boolean,
): string {
  const states = [
    disabled_at === null ? 'enabled' : 'disabled',
    ...(waitsUntil === undefined ? [] : [`locked until ${waitsUntil.toISOString()}`]),
    ...(isOverQuota ? ['over the quota'] : []),
  ];
  return states.join(', ');
}

async function setPassword(
  given: Given,
  { options: { email: named = '', passwordStdin } }: Command,
): Promise<Outcome> {
  const password = await passwordOf(passwordStdin, given.readStdin);
  const user = typedTwice(password);
  const params = async () => ({ id: (await findUser(given.database, named)).id });
  const sent = { params, body: { user } };
  const { answer } = await performOperation(given, 'updateUser', sent);
  const email = emailAsTyped(named, answer['email']);
  return passwordStdin
    ? { text: `${email} has a new password.`, data: { email } }
    : { text: password, data: { email, password }, note: labelOfPassword(email) };
}

/** A password as the API takes it; an empty one would mean none there. */
function typedTwice(password: string | null): object {
  if (password === '') throw new Error('standard input held no password');
  return password === null ? {} : { password, password_confirmation: password };
}
