// `--dry-run` of commands that make, change or remove something: what it would do, asked of the
// gateway that runs.

import type { DryRunAnswer } from '../dry-run/fields.ts';
import { othersInWords } from '../dry-run/other-gateways-in-words.ts';
import { noDevice } from '../process/absent.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Hints } from './fault-words.ts';
import { flowTable, namesIn, refusalTable } from './flow-commands.ts';
import type { CommandName } from './grammar.ts';
import { LIMIT_HINTS, userLimits } from './limit-fields.ts';
import { RULE_HINTS, ruleFields, typedChanges } from './rule-fields.ts';
import type { Command, Outcome } from './run.ts';

const HINTS: Hints = { ...RULE_HINTS, ...LIMIT_HINTS };

/** An operation of the API. */
interface Operation {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** The operations that commands come to. */
const operations: Partial<
  Record<
    CommandName,
    (
      gateway: LocalGateway,
      options: Command['options'],
      operands: Command['operands'],
    ) => Promise<Operation>
  >
> = {
  'rule create': async (gateway, options) => {
    const { email, group } = options;
    const owner = {
      user_id: email === undefined ? null : await gateway.findUser(email),
      group_id: group === undefined ? null : await gateway.findGroup(group),
    };
    return { method: 'POST', path: '/v0/rules', body: { rule: ruleFields(options, owner) } };
  },
  'rule update': async (gateway, options) => {
    const fields = typedChanges(options);
    return change('rule', await gateway.findRule(options.id ?? ''), fields);
  },
  'rule enable': (gateway, { id = '' }) => switchRule(gateway, id, true),
  'rule disable': (gateway, { id = '' }) => switchRule(gateway, id, false),
  'rule delete': async (gateway, { id = '' }) => removal('rules', await gateway.findRule(id)),
  'device delete': async (gateway, { id = '' }) => removal('devices', await deviceId(gateway, id)),
  'device disable': async (gateway, { id = '' }) =>
    change('device', await deviceId(gateway, id), { enabled: false }),
  'device expire': async (gateway, { id = '', at = null }) =>
    change('device', await deviceId(gateway, id), { ends_at: at }),
  'user disable': async (gateway, { email = '' }) =>
    change('user', await gateway.findUser(email), { enabled: false }),
  'user limit': async (gateway, options) => {
    const fields = userLimits(options);
    return change('user', await gateway.findUser(options.email ?? ''), fields);
  },
  'group delete': async (gateway, { group = '' }) =>
    removal('groups', await gateway.findGroup(group)),
  'group add': (gateway, { group = '' }, operands) => members(gateway, group, { add: operands }),
  'group remove': (gateway, { group = '' }, operands) =>
    members(gateway, group, { remove: operands }),
  'user delete': async (gateway, { email = '' }) => removal('users', await gateway.findUser(email)),
};

/** Commands that write take a device by its id alone. */
async function deviceId(gateway: LocalGateway, id: string): Promise<string> {
  const device = await gateway.findDeviceById(id);
  if (device === null) throw noDevice(id);
  return device.id;
}

async function switchRule(gateway: LocalGateway, id: string, enabled: boolean): Promise<Operation> {
  return change('rule', await gateway.findRule(id), { enabled });
}

function removal(collection: string, id: string): Operation {
  return { method: 'DELETE', path: `/v0/${collection}/${encodeURIComponent(id)}` };
}

async function members(gateway: LocalGateway, group: string, changes: object): Promise<Operation> {
  const id = await gateway.findGroup(group);
  return { method: 'POST', path: `/v0/groups/${id}/members`, body: { members: changes } };
}

function change(wrapper: 'device' | 'rule' | 'user', id: string, fields: object): Operation {
  const path = `/v0/${wrapper}s/${encodeURIComponent(id)}`;
  return { method: 'PATCH', path, body: { [wrapper]: fields } };
}

/** Whether a command is only tried. */
export function isDryRun({ words, options }: Command): boolean {
  return options.dryRun && words in operations;
}

/** Says what a command would do. */
export async function dryRun(gateway: LocalGateway, command: Command): Promise<Outcome> {
  const { words, options, operands } = command;
  const operation = await operations[words]?.(gateway, options, operands);
  const path = `/v0/dry_run${options.force ? '?force=true' : ''}`;
  const answer = await gateway.ask('POST', path, { dry_run: operation }, HINTS);
  const { data } = answer as { data: DryRunAnswer };
  return { text: await textOf(gateway, data), data };
}

async function textOf(gateway: LocalGateway, answer: DryRunAnswer): Promise<string> {
  const { ended_flows: flows, passed_refusals: refusals, shadowed_rules: rules } = answer;
  const names = await namesIn(gateway, [...flows, ...refusals]);
  const tests = answer.failing_policy_tests;
  const people = counted(answer.ended_flow_user_count, 'person', 'people');
  const ended = counted(answer.ended_flow_count, 'flow', 'flows');
  const others = othersInWords(answer.other_gateways);
  const here = others === null ? '' : ' at this gateway';
  const parts = [
    flows.length === 0
      ? `It would end no flow${here}.`
      : `It would end ${ended} of ${people}${here}:\n${flowTable(flows, names)}`,
    ...(others === null ? [] : [others]),
    ...(refusals.length === 0
      ? []
      : [
          `Refused lately, and it would pass (${answer.passed_refusal_count}):\n${refusalTable(refusals, names)}`,
        ]),
    ...(rules.length === 0
      ? []
      : [
          `Rules that would never decide any more (${answer.shadowed_rule_count}): ${rules.map(({ id }) => String(id)).join(', ')}`,
        ]),
    ...(tests.length === 0
      ? []
      : [`Policy tests that would fail: ${tests.map(({ name }) => name).join(', ')}`]),
    'Nothing is changed.',
  ];
  return parts.join('\n\n');
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}
