// The commands that write rules.

import { commandLine } from '../kit/process/command-line.ts';
import type { CommandName } from './grammar.ts';
import { idAsTyped } from './naming.ts';
import type { Row, Sending } from './row.ts';
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
      return { params: { id: (await finds.rule(options.id ?? '')).id }, body: { rule } };
    },
    says: ({ answer, command: { options }, failing }) => ({
      text: `${idAsTyped(options.id, String(answer['id']))} is changed.`,
      data: answer,
      ...failuresNote(failing),
    }),
  },
  'rule enable': switching(true),
  'rule disable': switching(false),
  'rule delete': {
    operation: 'deleteRule',
    sends: async ({ options: { id = '' } }, finds) => ({
      params: { id: (await finds.rule(id)).id },
    }),
    says({ params, command: { options }, failing }) {
      const id = idAsTyped(options.id, params['id']);
      const data = { id, removed: true };
      return { text: `${id} is removed.`, data, ...failuresNote(failing) };
    },
  },
} as const satisfies Partial<Record<CommandName, Row>>;

function switching(isOn: boolean): Row {
  return {
    operation: 'updateRule',
    hints: RULE_HINTS,
    forced: 'the rule is enabled',
    sends: async ({ options: { id = '' } }, finds): Promise<Sending> => ({
      params: { id: (await finds.rule(id)).id },
      body: { rule: { enabled: isOn } },
      // What is switched off may always be.
      ...(isOn ? {} : { force: true }),
    }),
    says({ params, command: { options }, failing }) {
      const id = idAsTyped(options.id, params['id']);
      const text = `${id} is ${isOn ? 'enabled' : 'disabled'}.`;
      return { text, data: { id, enabled: isOn }, ...failuresNote(failing) };
    },
  };
}

/** What is to be said of policy tests that fail from now on. */
export function failuresNote(count: number): { note?: string } {
  if (count === 0) return {};
  return { note: `${count} policy test(s) fail now; see: ${commandLine('policy-test run')}` };
}
