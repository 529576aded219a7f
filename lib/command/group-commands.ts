// The commands of groups: they make what the API makes, judged by the same functions.

import type { Config } from '../../config/index.ts';
import {
  type Database,
  lockScopes,
  readGroups,
  readMembers,
  removeGroup,
  writeTransaction,
} from '../../models/index.ts';
import {
  judgeGroup,
  judgeNewGroup,
  planGroupChange,
  showGroup,
  writeGroupChange,
} from '../groups/groups.ts';
import {
  guardMembers,
  judgeMembers,
  type MembersSent,
  planMembers,
  showMember,
  staysBecause,
  writeMembers,
} from '../groups/members.ts';
import { ApiError } from '../http/errors.ts';
import { noteFailures } from '../policy/guard.ts';
import { watchFailures } from '../policy/watch.ts';
import { UsageError } from '../process/usage-error.ts';
import { type Hints, refusalOf } from './fault-words.ts';
import type { CommandName } from './grammar.ts';
import { failuresNote, findGroup, findOwner, policyContextOf } from './rule-commands.ts';
import type { Command, Outcome } from './run.ts';
import { table } from './text-table.ts';

type Run = (config: Config, database: Database, command: Command) => Promise<Outcome>;

const HINTS: Hints = { name: '--name engineers', description: '--description TEXT' };

/** The commands. */
export const groupCommands: Partial<Record<CommandName, Run>> = {
  'group list': listGroups,
  'group create': createGroup,
  'group update': updateGroup,
  'group delete': deleteGroup,
  'group members': listMembers,
  'group add': (config, database, command) =>
    changeMembers(config, database, command, { add: command.operands }),
  'group remove': (config, database, command) =>
    changeMembers(config, database, command, { remove: command.operands }),
};

async function listGroups(
  _config: Config,
  database: Database,
  { options: { email } }: Command,
): Promise<Outcome> {
  const member = email === undefined ? null : await findOwner(database, email);
  const groups = await readGroups(database, member === null ? {} : { memberId: member.id });
  const rows = groups.map(({ id, name, description }) => [id, name, description ?? '']);
  return { text: table(['id', 'name', 'description'], rows), data: groups.map(showGroup) };
}

async function createGroup(
  _config: Config,
  database: Database,
  { options: { name, description } }: Command,
): Promise<Outcome> {
  const fields = { name, ...(description === undefined ? {} : { description }) };
  const input = judgeGroup(fields, 'create');
  const { result: group } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const row = await inWords(judgeNewGroup(database, input, transaction));
    return database.models.Group.create(row, { transaction, validate: false });
  });
  return { text: group.id, data: showGroup(group) };
}

async function updateGroup(
  config: Config,
  database: Database,
  { options: { group: named = '', name, description } }: Command,
): Promise<Outcome> {
  if (name === undefined && description === undefined)
    throw new UsageError('nothing is to be changed; name it, as with --name engineers');
  const fields = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
  };
  const input = judgeGroup(fields, 'update');
  const context = await policyContextOf(config, database);
  const { result: group } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const present = await findGroup(database, named, transaction);
    const plan = await inWords(planGroupChange(context, present, input, transaction));
    return writeGroupChange(plan, transaction);
  });
  return { text: `${group.name} is changed.`, data: showGroup(group) };
}

async function deleteGroup(
  config: Config,
  database: Database,
  { options: { group: named = '' } }: Command,
): Promise<Outcome> {
  const context = await policyContextOf(config, database);
  const { result: group } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const found = await findGroup(database, named, transaction);
    await watchFailures(context, transaction, () => removeGroup(database, found, transaction));
    return found;
  });
  const text = `${group.name} is removed, with its rules.`;
  return { text, data: { id: group.id, removed: true } };
}

async function listMembers(
  _config: Config,
  database: Database,
  { options: { group: named = '' } }: Command,
): Promise<Outcome> {
  const group = await findGroup(database, named);
  const members = await readMembers(database, group.id, {});
  const rows = members.map(({ id, email, sources }) => [id, email, sources.join(', ')]);
  return { text: table(['id', 'e-mail', 'source'], rows), data: members.map(showMember) };
}

async function changeMembers(
  config: Config,
  database: Database,
  { options: { group: named = '', force } }: Command,
  sent: MembersSent,
): Promise<Outcome> {
  const context = await policyContextOf(config, database);
  const { values, faults } = judgeMembers({ ...sent }, 'update');
  const { result } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const group = await findGroup(database, named, transaction);
    const plan = await inWords(planMembers(database, group, values, { ...faults }, transaction));
    const guarded = guardMembers(context, plan, force, transaction);
    const failing = await inWords(guarded, '; with --force they become members anyway');
    noteFailures(transaction, failing, { ruleId: null });
    return { ...(await writeMembers(database, plan, transaction)), plan, failing };
  });
  const { added, removed, plan, failing } = result;
  const counted = sent.add === undefined ? `${removed} removed.` : `${added} added.`;
  const text = [counted, ...plan.staying.map((member) => `${staysBecause(member)}.`)].join('\n');
  return { text, data: { added, removed }, ...failuresNote(failing) };
}

/** What a judgement refuses as a sentence, with the way out. */
async function inWords<Judged>(judgement: Promise<Judged>, wayOut = ''): Promise<Judged> {
  try {
    return await judgement;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw refusalOf(error.faults ?? {}, HINTS, wayOut);
  }
}
