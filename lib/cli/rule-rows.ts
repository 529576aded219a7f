// The commands that write rules.

import { commandLine } from '../kit/process/command-line.ts';
import type { CommandName } from './grammar.ts';
import type { Finds, Row, Sending } from './row.ts';
import type { Options } from './run.ts';
import { RULE_HINTS, ruleFields, type RuleOwner, typedChanges } from './rule-fields.ts';

/** Rows of commands. */
export const ruleRows = {
  'rule create': {
    operation: 'createRule',
    hints: RULE_HINTS,
    forced: 'the rule is made',
    async sends({ options }, finds) {
      const { email, group } = options;
      const owner: RuleOwner = {
        user_id: email === undefined ? null : (await finds.user(email)).id,
        group_id: group === undefined ? null : (await finds.group(group)).id,
      };
      return { body: { rule: ruleFields(options, owner) } };
    },
    async says({ answer }) {
      const { meaningOf } = await import('../domain/rules/meaning.ts');
      const note = meaningOf(String(answer['destination']));
      return { text: String(answer['id']), data: answer, ...(note === null ? {} : { note }) };
    },
  },
  'rule update': {
    operation: 'updateRule',
    hints: RULE_HINTS,
    forced: 'the rule is changed',
    async sends({ options }, finds) {
      const rule = typedChanges(options);
      return { ...(await meant(options, finds)), body: { rule } };
    },
    says: ({ answer, sent: { named }, failing }) => ({
      text: `${named} is changed.`,
      data: answer,
      ...failuresNote(failing),
    }),
  },
  'rule enable': switching(true),
  'rule disable': switching(false),
  'rule delete': {
    operation: 'deleteRule',
    sends: ({ options }, finds) => meant(options, finds),
    says: ({ sent: { named }, failing }) => ({
      text: `${named} is removed.`,
      data: { id: named, removed: true },
      ...failuresNote(failing),
    }),
  },
} as const satisfies Partial<Record<CommandName, Row>>;

/** The rule that is meant; a whole id is said as it was typed. */
async function meant({ id: typed = '' }: Options, finds: Finds): Promise<Sending> {
  const { id, name } = await finds.rule(typed);
  return { params: { id }, named: name };
}

function switching(isOn: boolean): Row {
  return {
    operation: 'updateRule',
    hints: RULE_HINTS,
    forced: 'the rule is enabled',
    sends: async ({ options }, finds): Promise<Sending> => ({
      ...(await meant(options, finds)),
      body: { rule: { enabled: isOn } },
      // What is switched off may always be.
      ...(isOn ? {} : { force: true }),
    }),
    says: ({ sent: { named }, failing }) => ({
      text: `${named} is ${isOn ? 'enabled' : 'disabled'}.`,
      data: { id: named, enabled: isOn },
      ...failuresNote(failing),
    }),
  };
}

/** What is to be said of policy tests that fail from now on. */
export function failuresNote(count: number): { note?: string } {
  if (count === 0) return {};
  return { note: `${count} policy test(s) fail now; see: ${commandLine('policy-test run')}` };
}
