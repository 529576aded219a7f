// The commands of users and devices that need no setting: they make what the API makes,
// judged by the same functions.

import {
  type Database,
  lockScopes,
  readOrCreateConfiguration,
  readUsers,
  removeDevices,
  removeUser,
  type UserRow,
  writeTransaction,
} from '../../models/index.ts';
import { type Faults, isFaultless } from '../judge/judge.ts';
import { messages } from '../judge/messages.ts';
import { judgeEmailTaken, judgeUser, showUser, showUsers, userChanges } from '../users/users.ts';
import { endWait } from '../auth/accounts.ts';
import { neededFault } from '../auth/administrators.ts';
import { lockUserOf } from '../auth/named-user.ts';
import { readWaits } from '../auth/attempts.ts';
import type { CommandName } from './grammar.ts';
import { labelOfPassword, passwordOf } from './passwords.ts';
import type { Command, Outcome, Run } from './run.ts';
import { effectiveConfiguration, type FixedSettings } from '../records/effective-configuration.ts';
import { lockDevice } from '../devices/switches.ts';
import { noDevice } from '../process/absent.ts';
import { type Hints, refusalOf } from './fault-words.ts';
import { printable, table } from './text-table.ts';

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
  'user set-role': setRole,
  'user delete': deleteUser,
  'device delete': deleteDevice,
};

// ---- users -------------------------------------------------------------------------------------

async function createUser(
  database: Database,
  { options }: Command,
  readStdin: () => Promise<string>,
): Promise<Outcome> {
  const { email = '', role, passwordStdin, noPassword } = options;
  const password = noPassword ? null : await passwordOf(passwordStdin, readStdin);
  const fields = { email, ...(role === undefined ? {} : { role }), ...typedTwice(password) };
  const input = judgeUser(fields, 'create');
  const changes = await userChanges(input);
  const { result: user } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    refuse(await judgeEmailTaken(database, input, null, transaction));
    return database.models.User.create({ email: '', ...changes }, { transaction });
  });
  const shown = showUser(user, 0, null);
  if (password === null || passwordStdin)
    return { text: `${user.email} is made, ${user.role}.`, data: shown };
  return {
    text: password,
    data: { ...shown, password },
    note: labelOfPassword(user.email),
  };
}

async function listUsers(
  database: Database,
  _command: Command,
  _readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  const stored = await readOrCreateConfiguration(database);
  const users = await readUsers(database);
  const waits = await readWaits(database, users);
  const shown = await showUsers(database, users, effectiveConfiguration(stored, fixed));
  const rows = users.map((user, i) => [
    user.id,
    user.email,
    roleOf(user),
    stateOf(user, waits.get(user.id), shown[i]?.quota_exceeded === true),
    user.last_signed_in_at?.toISOString() ?? 'never signed in',
  ]);
  return {
    text: table(['id', 'e-mail', 'role', 'state', 'last sign-in'], rows),
    data: shown,
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
  database: Database,
  { options: { email = '', passwordStdin } }: Command,
  readStdin: () => Promise<string>,
): Promise<Outcome> {
  const password = await passwordOf(passwordStdin, readStdin);
  const input = judgeUser(typedTwice(password), 'update');
  const changes = await userChanges(input);
  refuse(input.faults);
  await writeTransaction(database, async (transaction) => {
    const user = await lockUserOf(database, email, transaction);
    await endWait(database, user, transaction);
    await user.update(changes, { transaction });
  });
  return passwordStdin
    ? { text: `${email} has a new password.`, data: { email } }
    : { text: password, data: { email, password }, note: labelOfPassword(email) };
}

async function setRole(
  database: Database,
  { options: { email = '', role } }: Command,
  _readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  const input = judgeUser({ role }, 'update');
  refuse(input.faults);
  const changes = await userChanges(input);
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const user = await lockUserOf(database, email, transaction);
    const wish = { last: messages.lastAdministratorStays, fixed };
    const isSame = user.role === changes.role;
    const fault = isSame ? null : await neededFault(database, user, wish, transaction);
    if (fault !== null) refuse({ role: [fault] });
    await user.update(changes, { transaction });
  });
  return { text: `${email} is ${changes.role} now.`, data: { email, role: changes.role } };
}

async function deleteUser(
  database: Database,
  { options: { email = '' } }: Command,
  _readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const user = await lockUserOf(database, email, transaction);
    const wish = { last: messages.lastAdministratorRemains, fixed };
    const fault = await neededFault(database, user, wish, transaction);
    if (fault !== null) refuse({ base: [fault] });
    await removeUser(database, user.id, transaction);
  });
  const text = `${email} is deleted, with devices, rules, tokens and sessions.`;
  return { text, data: { email, removed: true } };
}

/** A password as the API takes it; an empty one would mean none there. */
function typedTwice(password: string | null): object {
  if (password === '') throw new Error('standard input held no password');
  return password === null ? {} : { password, password_confirmation: password };
}

// ---- devices -----------------------------------------------------------------------------------

async function deleteDevice(
  database: Database,
  { options: { id = '' } }: Command,
): Promise<Outcome> {
  const { result: name } = await writeTransaction(database, async (transaction) => {
    const device = await lockDevice(database, id, transaction);
    if (device === null) throw noDevice(id);
    await removeDevices(database, [device.id], transaction);
    return device.name;
  });
  return {
    text: `${printable(name)} is deleted; it passes no packet any more.`,
    data: { id, removed: true },
  };
}

function refuse(faults: Faults): void {
  if (!isFaultless(faults)) throw refusalOf(faults, HINTS);
}
