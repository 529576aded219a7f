// The form of a rule.

import type { Database } from '../../../models/index.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { inputOf, type Section, type Typed, typedFrom } from '../kit/form.ts';
import type { Web } from '../kit/web.ts';
import { readWhose, whoseText } from './rule-whose.ts';

/**
 * What was typed, as fields of the API. The form asks for a protocol once, and the API has a field
 * of its own for one without ports. A rule is enforced unless its box says that it is not, so that
 * no form without the box stages a rule.
 */
function ruleInput(typed: Typed): Record<string, unknown> {
  const { staged, whose: _whose, ...input } = inputOf(typed, ruleForm);
  const isIcmp = typed['port_type'] === 'icmp';
  return {
    ...input,
    enforced: staged !== true,
    ...(isIcmp ? { port_type: '', protocol: 'icmp' } : { protocol: '' }),
  };
}

/** The record of a request: the form names a user by e-mail and a group by name, the API by ids. */
export async function ruleRecord(database: Database, typed: Typed): Promise<object> {
  return { ...ruleInput(typed), ...(await readWhose(database, typed['whose'] ?? '')) };
}

/** A rule as it is now, in the fields of the form. */
export async function presentRule({ rooms, services }: Web, id: string): Promise<Typed> {
  const { user_id, group_id, ...rule } = await rooms.rules.show(id);
  return typedRule({ ...rule, whose: await whoseText(services.database, { user_id, group_id }) });
}

function typedRule(rule: Shown): Typed {
  const port_type = rule['protocol'] ?? rule['port_type'];
  return typedFrom({ ...rule, port_type, staged: rule['enforced'] === false }, ruleForm);
}

/** The fields of the form of a rule. */
export const ruleForm: readonly Section[] = [
  {
    isLine: true,
    fields: [
      {
        name: 'action',
        label: 'Action',
        kind: 'choice',
        choices: [
          ['accept', 'Accept'],
          ['drop', 'Drop'],
        ],
      },
      {
        name: 'port_type',
        label: 'Protocol',
        kind: 'choice',
        choices: [
          ['', 'All traffic'],
          ['tcp', 'TCP'],
          ['udp', 'UDP'],
          ['icmp', 'ICMP'],
        ],
      },
      {
        name: 'port_range',
        label: 'Ports',
        help: '443, or 8000 - 8100.',
      },
      {
        name: 'destination',
        label: 'Destination',
        joint: 'to',
        help: '10.0.0.5, 10.0.0.0/8, fd00::/8.',
        isRequired: true,
      },
      {
        name: 'whose',
        label: 'Who',
        joint: 'for',
        help: 'everyone, an e-mail, or a group.',
        combobox: '/rules/whose',
      },
    ],
  },
  {
    folds: {
      label: 'Schedule, staged, description',
      usual: { enabled: 'true', staged: 'false' },
    },
    fields: [
      { name: 'description', label: 'Description', help: 'What it is for.' },
      {
        name: 'enabled',
        label: 'Enabled',
        kind: 'box',
        help: 'A rule that is disabled decides nothing.',
      },
      {
        name: 'staged',
        label: 'Staged',
        kind: 'box',
        help: 'A staged rule decides nothing; its hits count the packets that it would decide.',
      },
      {
        name: 'starts_at',
        label: 'Starts at',
        kind: 'time',
        help: 'Before that it decides nothing. Empty: at once.',
      },
      {
        name: 'ends_at',
        label: 'Ends at',
        kind: 'time',
        help: 'From then on it decides nothing. Empty: never.',
      },
    ],
  },
];
