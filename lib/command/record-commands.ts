// The commands of users, devices and rules that need no setting: they make what the API makes,
// judged by the same functions.

import {
  type Database,
  emailKey,
  lockScopes,
  readRules,
  readUsers,
  removeDevices,
  removeUser,
  type UserRow,
  writeTransaction,
} from '../../models/index.ts';
import { isUuid } from '../judge/fields.ts';
import { type Faults, isFaultless } from '../judge/judge.ts';
import { judgeNewRules, judgeRule, newRule, showRule } from '../rules/rules.ts';
import { messages } from '../judge/messages.ts';
import {
  isLastAdministrator,
  judgeEmailTaken,
  judgeUser,
  showUser,
  userChanges,
} from '../users/users.ts';
import { endWait, lockUserOf, noUser } from '../auth/accounts.ts';
import { readWaits } from '../auth/attempts.ts';
import type { CommandName } from './grammar.ts';
import { commandLine } from '../process/command-line.ts';
import { labelOfPassword, passwordOf } from './passwords.ts';
import type { Command, Outcome, Run } from './run.ts';
import { lockDevice } from '../devices/switches.ts';
import { faultsInWords, type Hints } from './fault-words.ts';
import { meaningOf, meantNetwork } from '../rules/meaning.ts';
import { table } from './text-table.ts';

/** What a command takes for the fields that are typed as options. */
const HINTS: Hints = {
  email: '--email ann@example.com',
  role: '--role unprivileged|admin',
  action: '--action accept|drop',
  destination: '--destination 10.0.0.5 or 10.0.0.0/8; names of hosts are not possible',
  port_type: '--port-type tcp|udp, or leave --port-range away',
  port_range: '--port-range 443 or 8000-8080',
};

/** The commands. */
export const recordCommands: Partial<Record<CommandName, Run>> = {
  'user create': createUser,
  'user list': listUsers,
  'user set-password': setPassword,
  'user set-role': setRole,
  'user delete': deleteUser,
  'device delete': deleteDevice,
  'rule list': listRules,
  'rule create': createRule,
  'rule delete': deleteRule,
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
    refuse(await judgeEmailTaken(database, input, null, transaction));
    return database.models.User.create({ email: '', ...changes }, { transaction });
  });
  if (password === null || passwordStdin)
    return { text: `${user.email} is made, ${user.role}.`, data: showUser(user) };
  return {
    text: password,
    data: { ...showUser(user), password },
    note: labelOfPassword(user.email),
  };
}

async function listUsers(database: Database): Promise<Outcome> {
  const users = await readUsers(database);
  const waits = await readWaits(database, users);
  const rows = users.map((user) => [
    user.id,
    user.email,
    user.role,
    stateOf(user, waits.get(user.id)),
    user.last_signed_in_at?.toISOString() ?? 'never signed in',
  ]);
  return {
    text: table(['id', 'e-mail', 'role', 'state', 'last sign-in'], rows),
    data: users.map(showUser),
  };
}

function stateOf({ disabled_at }: UserRow, waitsUntil: Date | undefined): string {
  const state = disabled_at === null ? 'enabled' : 'disabled';
  return waitsUntil === undefined ? state : `${state}, locked until ${waitsUntil.toISOString()}`;
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
): Promise<Outcome> {
  const input = judgeUser({ role }, 'update');
  refuse(input.faults);
  const changes = await userChanges(input);
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const user = await lockUserOf(database, email, transaction);
    if (user.role !== changes.role && (await isLastAdministrator(database, user, transaction)))
      refuse({ role: [messages.lastAdministratorStays] });
    await user.update(changes, { transaction });
  });
  return { text: `${email} is ${changes.role} now.`, data: { email, role: changes.role } };
}

async function deleteUser(
  database: Database,
  { options: { email = '' } }: Command,
): Promise<Outcome> {
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const user = await lockUserOf(database, email, transaction);
    if (await isLastAdministrator(database, user, transaction))
      refuse({ base: [messages.lastAdministratorRemains] });
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
    if (device === null)
      throw new Error(`there is no device ${id}; see: ${commandLine('device list')}`);
    await removeDevices(database, [device.id], transaction);
    return device.name;
  });
  return { text: `${name} is deleted; it passes no packet any more.`, data: { id, removed: true } };
}

// ---- rules -------------------------------------------------------------------------------------

async function listRules(database: Database, { options: { email } }: Command): Promise<Outcome> {
  const owner = email === undefined ? null : await findOwner(database, email);
  const rules = await readRules(database, owner === null ? {} : { userId: owner.id });
  const users = owner === null ? await readUsers(database) : [owner];
  const emails = new Map(users.map((user) => [user.id, user.email]));
  const rows = rules.map((rule) => {
    const { port_type: type, port_start: start, port_end: end } = rule;
    const range = start === end ? `${start}` : `${start} - ${end}`;
    const ports = type === null ? 'all' : `${type} ${range}`;
    const whose = rule.user_id === null ? 'everyone' : (emails.get(rule.user_id) ?? rule.user_id);
    const network = meantNetwork(rule.destination);
    const destination = network === null ? rule.destination : `${rule.destination} (${network})`;
    return [rule.id, rule.action, destination, ports, whose];
  });
  return {
    text: table(['id', 'action', 'destination', 'traffic', 'whose'], rows),
    data: rules.map(showRule),
  };
}

async function createRule(database: Database, { options }: Command): Promise<Outcome> {
  const { destination, action, portType, portRange, email } = options;
  const owner = email === undefined ? null : await findOwner(database, email);
  const fields = {
    destination,
    ...(action === undefined ? {} : { action }),
    ...(portType === undefined ? {} : { port_type: portType }),
    ...(portRange === undefined ? {} : { port_range: portRange }),
    user_id: owner?.id ?? null,
  };
  const { result: rule } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: owner === null });
    const input = newRule(judgeRule(fields, 'create'));
    const [judged] = await judgeNewRules(database, [input], transaction);
    if (judged === undefined) throw new Error('the rule was not judged');
    refuse(judged.faults);
    return database.models.Rule.create(judged.row, { transaction, validate: false });
  });
  const note = meaningOf(rule.destination);
  return { text: rule.id, data: showRule(rule), ...(note === null ? {} : { note }) };
}

async function deleteRule(database: Database, { options: { id = '' } }: Command): Promise<Outcome> {
  await writeTransaction(database, async (transaction) => {
    const rule = isUuid(id)
      ? await database.models.Rule.findByPk(id.toLowerCase(), { transaction, lock: true })
      : null;
    if (rule === null) throw new Error(`there is no rule ${id}; see: ${commandLine('rule list')}`);
    await rule.destroy({ transaction });
  });
  return { text: `${id} is removed.`, data: { id, removed: true } };
}

async function findOwner(database: Database, email: string): Promise<UserRow> {
  const [user] = await readUsers(database, { emailKey: emailKey(email.trim()) });
  if (user === undefined) throw noUser(email);
  return user;
}

function refuse(faults: Faults): void {
  if (!isFaultless(faults)) throw new Error(faultsInWords(faults, HINTS));
}
