// The commands of rules: they make what the API makes, judged by the same functions, and policy
// tests hold them up as they hold up the API.

import type { Config } from '../../config/index.ts';
import {
  type Database,
  emailKey,
  type Group,
  groupNameOf,
  lockScopes,
  readPolicyTests,
  readRules,
  readUsers,
  removeRules,
  type Rule,
  type RuleRow,
  type Transaction,
  type UserRow,
  writeTransaction,
} from '../../models/index.ts';
import { noGroup, noRule, noUser } from '../process/absent.ts';
import { fixedIfAny } from '../configuration/fixed-if-any.ts';
import { ApiError } from '../http/errors.ts';
import { servedConfig } from '../installation/running-gateway.ts';
import { isUuid } from '../judge/fields.ts';
import { type FailingTest, noteFailures, PolicyGuard } from '../policy/guard.ts';
import type { PolicyContext } from '../policy/trial.ts';
import { commandLine } from '../process/command-line.ts';
import { meaningOf, meantNetwork } from '../rules/meaning.ts';
import { saveChanges } from '../records/writes.ts';
import {
  guardNewRules,
  judgeChange,
  judgeRule,
  newRule,
  obeyedRule,
  ruleState,
  showRule,
} from '../rules/rules.ts';
import { refusalOf } from './fault-words.ts';
import type { CommandName } from './grammar.ts';
import { RULE_HINTS, ruleFields, type RuleOwner, typedChanges } from './rule-fields.ts';
import type { Command, Options, Outcome } from './run.ts';
import { table } from './text-table.ts';

type Run = (config: Config, database: Database, command: Command) => Promise<Outcome>;

/** The commands. */
export const ruleCommands: Partial<Record<CommandName, Run>> = {
  'rule list': listRules,
  'rule create': createRule,
  'rule update': updateRule,
  'rule enable': (config, database, command) => switchRule(config, database, command, true),
  'rule disable': (config, database, command) => switchRule(config, database, command, false),
  'rule delete': deleteRule,
};

/** What policy tests are judged by: what the running gateway has, where one runs. */
export async function policyContextOf(config: Config, database: Database): Promise<PolicyContext> {
  const served = await servedConfig(config, database);
  return { services: { config: served, database }, fixed: await fixedIfAny(served) };
}

/** Finds a user by e-mail. */
export async function findOwner(database: Database, email: string): Promise<UserRow> {
  const [user] = await readUsers(database, { emailKey: emailKey(email.trim()) });
  if (user === undefined) throw noUser(email);
  return user;
}

/** Finds a group by its id or its name. */
export async function findGroup(
  { models }: Database,
  named: string,
  transaction?: Transaction,
): Promise<Group> {
  const where = isUuid(named) ? { id: named.toLowerCase() } : { name: groupNameOf(named) };
  const options = transaction === undefined ? {} : { transaction, lock: true };
  const group = await models.Group.findOne({ where, ...options });
  if (group === null) throw noGroup(named);
  return group;
}

/** Whose rules are asked for or made, as it was typed. */
export async function ownerOf(
  database: Database,
  { email, group }: Pick<Options, 'email' | 'group'>,
): Promise<RuleOwner> {
  return {
    user_id: email === undefined ? null : (await findOwner(database, email)).id,
    group_id: group === undefined ? null : (await findGroup(database, group)).id,
  };
}

async function listRules(
  _config: Config,
  database: Database,
  { options }: Command,
): Promise<Outcome> {
  const { user_id: userId, group_id: groupId } = await ownerOf(database, options);
  const rules = await readRules(database, {
    ...(userId === null ? {} : { userId }),
    ...(groupId === null ? {} : { groupId }),
  });
  const users = await readUsers(database, userId === null ? {} : { ids: [userId] });
  const groups = await database.models.Group.findAll();
  const names = new Map([
    ...users.map((user) => [user.id, user.email] as const),
    ...groups.map(({ id, name }) => [id, `group ${name}`] as const),
  ]);
  const rows = rules.map((rule) => {
    const { port_type: type, port_start: start, port_end: end } = rule;
    const range = start === end ? `${start}` : `${start} - ${end}`;
    const ports = type === null ? (rule.protocol ?? 'all') : `${type} ${range}`;
    const owner = rule.user_id ?? rule.group_id;
    const whose = owner === null ? 'everyone' : (names.get(owner) ?? owner);
    const network = meantNetwork(rule.destination);
    const destination = network === null ? rule.destination : `${rule.destination} (${network})`;
    const state = stateInWords(rule);
    return [rule.id, rule.action, destination, ports, whose, state, rule.description ?? ''];
  });
  return {
    text: table(['id', 'action', 'destination', 'traffic', 'whose', 'state', 'description'], rows),
    data: rules.map(showRule),
  };
}

/** Whether a rule decides, and from when or until when, where it has a time to come. */
function stateInWords(rule: RuleRow): string {
  const { starts_at, ends_at, enforced } = rule;
  const state = ruleState(rule, Date.now());
  if (state === 'disabled' && !enforced) return 'disabled, staged';
  if (state === 'waiting') return `from ${starts_at?.toISOString()}${enforced ? '' : ', staged'}`;
  if (state === 'enabled' && ends_at !== null) return `enabled until ${ends_at.toISOString()}`;
  return state;
}

async function createRule(
  config: Config,
  database: Database,
  { options }: Command,
): Promise<Outcome> {
  const { force: isForced } = options;
  const owner = await ownerOf(database, options);
  const context = await policyContextOf(config, database);
  const fields = ruleFields(options, owner);
  const { result: rule } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: owner.user_id === null });
    const sent = { ...newRule(judgeRule(fields, 'create')), isForced };
    const [judged] = await guardNewRules(context, [sent], transaction);
    if (judged === undefined) throw new Error('the rule was not judged');
    if (judged instanceof ApiError) throw inWords(judged, 'made');
    const { row, failing } = judged;
    noteFailures(transaction, failing, { ruleId: row.id });
    return database.models.Rule.create(row, { transaction, validate: false });
  });
  const note = meaningOf(rule.destination);
  return { text: rule.id, data: showRule(rule), ...(note === null ? {} : { note }) };
}

/** A refusal, with the way out where policy tests hold the rule up. */
function inWords({ faults }: ApiError, done: 'made' | 'changed' | 'enabled'): Error {
  const isHeldUp = faults?.['base'] !== undefined;
  const wayOut = isHeldUp ? `; with --force the rule is ${done} anyway` : '';
  return refusalOf(faults ?? {}, RULE_HINTS, wayOut);
}

async function switchRule(
  config: Config,
  database: Database,
  { options: { id = '', force } }: Command,
  isOn: boolean,
): Promise<Outcome> {
  const change = { fields: { enabled: isOn }, force: force || !isOn, done: 'enabled' } as const;
  const { failing } = await changeRule(config, database, id, change);
  const text = `${id} is ${isOn ? 'enabled' : 'disabled'}.`;
  return { text, data: { id, enabled: isOn }, ...failuresNote(failing) };
}

async function updateRule(
  config: Config,
  database: Database,
  { options }: Command,
): Promise<Outcome> {
  const { id = '', force } = options;
  const fields = typedChanges(options);
  const { rule, failing } = await changeRule(config, database, id, {
    fields,
    force,
    done: 'changed',
  });
  return { text: `${id} is changed.`, data: showRule(rule), ...failuresNote(failing) };
}

interface RuleChange {
  /** As the API takes them. */
  readonly fields: object;
  readonly force: boolean;
  /** What --force would do anyway. */
  readonly done: 'changed' | 'enabled';
}

async function changeRule(
  config: Config,
  database: Database,
  id: string,
  { fields, force, done }: RuleChange,
): Promise<{ rule: Rule; failing: readonly FailingTest[] }> {
  const context = await policyContextOf(config, database);
  const { result } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const present = await lockRule(database, id, transaction);
    const input = judgeRule(fields, 'update');
    const { row, failing } = await judgeChange(
      context,
      input,
      { present, force },
      transaction,
    ).catch((error: unknown) => {
      throw error instanceof ApiError ? inWords(error, done) : error;
    });
    noteFailures(transaction, failing, { ruleId: present.id });
    return { rule: await saveChanges(present, row, transaction), failing };
  });
  return result;
}

/** Finds a rule, and locks it. */
async function lockRule(database: Database, id: string, transaction: Transaction): Promise<Rule> {
  const rule = isUuid(id)
    ? await database.models.Rule.findByPk(id.toLowerCase(), { transaction, lock: true })
    : null;
  if (rule === null) throw noRule(id);
  return rule;
}

/** What is to be said of policy tests that fail from now on. */
export function failuresNote({ length: count }: readonly FailingTest[]): { note?: string } {
  if (count === 0) return {};
  return { note: `${count} policy test(s) fail now; see: ${commandLine('policy-test run')}` };
}

async function deleteRule(
  config: Config,
  database: Database,
  { options: { id = '' } }: Command,
): Promise<Outcome> {
  const context = await policyContextOf(config, database);
  const { result: failing } = await writeTransaction(database, async (transaction) => {
    const rule = await lockRule(database, id, transaction);
    const tests = await readPolicyTests(database, { transaction });
    const change = { before: obeyedRule(rule), after: null };
    const guard = await PolicyGuard.open(context, tests, [change], transaction);
    const failures = guard.change(change);
    noteFailures(transaction, failures, { ruleId: rule.id });
    await removeRules(database, [rule.id], transaction);
    return failures;
  });
  const data = { id, removed: true };
  return { text: `${id} is removed.`, data, ...failuresNote(failing) };
}
