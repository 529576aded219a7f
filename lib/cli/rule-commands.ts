// The command `rule list`.

import { portRangeOf, readRules, readUsers, type RuleRow } from '../../models/index.ts';
import { meantNetwork } from '../domain/rules/meaning.ts';
import { ruleState, showRule } from '../domain/rules/rules.ts';
import { findGroup, findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

/** The command, by its name. */
export const ruleCommands: Partial<Record<CommandName, Run>> = {
  'rule list': listRules,
};

async function listRules(
  { database }: Given,
  { options: { email, group } }: Command,
): Promise<Outcome> {
  const userId = email === undefined ? null : (await findUser(database, email)).id;
  const groupId = group === undefined ? null : (await findGroup(database, group)).id;
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
    const ports =
      type === null ? (rule.protocol ?? 'all') : `${type} ${portRangeOf(start, end) ?? ''}`;
    const owner = rule.user_id ?? rule.group_id;
    const whose = owner === null ? 'everyone' : (names.get(owner) ?? owner);
    const network = meantNetwork(rule.destination);
    const destination = network === null ? rule.destination : `${rule.destination} (${network})`;
    const state = stateInWords(rule);
    return [rule.id, rule.action, destination, ports, whose, state, rule.description ?? ''];
  });
  return {
    ...listed(
      [
        ['id', 'id'],
        ['action', 'state'],
        ['destination', 'fixed'],
        ['traffic', 'fixed'],
        ['whose', 'text'],
        ['state', 'state'],
        ['description', 'text'],
      ],
      rows,
    ),
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
