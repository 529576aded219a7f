// What can be done with rules in their list: with one by its menu, with all that are selected by
// the bar below.

import { ruleState } from '../../domain/rules/rules.ts';
import type { RuleRow } from '../../../models/index.ts';
import type { Change, Counted } from '../kit/many.ts';
import { performs } from '../kit/save.ts';
import type { MenuItem } from '../kit/table-page.ts';

const RULES = '/rules';

/** A change of one field, which can be undone. */
function sets(record: object, done: string, label: string, text: Counted): Change {
  return {
    done,
    question: { title: [`${label} this rule?`, `${label} these rules?`], text, label },
    isHarmless: true,
    write: (caller, id) => performs(caller, 'updateRule', { params: { id }, record }),
  };
}

const changes: Readonly<Record<string, Change>> = {
  disable: sets({ enabled: false }, 'disabled', 'Disable', [
    'It decides nothing until it is enabled again.',
    'They decide nothing until they are enabled again.',
  ]),
  enable: sets({ enabled: true }, 'enabled', 'Enable', [
    'It decides again, at once.',
    'They decide again, at once.',
  ]),
  stage: sets({ enforced: false }, 'staged', 'Stage', [
    'It decides nothing, and counts what it would decide.',
    'They decide nothing, and count what they would decide.',
  ]),
  enforce: sets({ enforced: true }, 'enforced', 'Enforce', [
    'What it counted until now it decides from then on.',
    'What they counted until now they decide from then on.',
  ]),
  remove: {
    done: 'deleted',
    question: {
      title: ['Delete this rule?', 'Delete these rules?'],
      text: [
        'Packets that it decided are judged by the other rules, at once. This cannot be undone.',
        'Packets that they decided are judged by the other rules, at once. This cannot be undone.',
      ],
      label: 'Delete for good',
    },
    write: (caller, id) => performs(caller, 'deleteRule', { params: { id } }),
  },
};

/** The change that a form asks for; a text says what is wrong with the form. */
export function ruleChange(name: string): Change | string {
  return (Object.hasOwn(changes, name) ? changes[name] : undefined) ?? 'Nothing was chosen.';
}

/** The buttons of the bar. */
export const barChanges = [
  { name: 'disable', label: 'Disable' },
  { name: 'enable', label: 'Enable' },
  { name: 'stage', label: 'Stage' },
  { name: 'enforce', label: 'Enforce' },
  { name: 'remove', label: 'Delete…', tone: 'danger' },
] as const;

/** The items of the menu; a rule that is disabled is enabled before it is staged. */
export const menuItems: readonly MenuItem[] = [
  { label: 'Change', path: `${RULES}/*` },
  { label: 'Copy', path: `${RULES}/new?copy=*` },
  { label: 'Stage', change: 'stage', only: 'on' },
  { label: 'Disable', change: 'disable', only: 'on' },
  { label: 'Enforce', change: 'enforce', only: 'staged' },
  { label: 'Disable', change: 'disable', only: 'staged' },
  { label: 'Enable', change: 'enable', only: 'off' },
  { label: 'Delete…', change: 'remove', tone: 'danger' },
];

/** Which items the menu of a rule has; null as usual. */
export function menuKind({ enabled, enforced, starts_at, ends_at }: RuleRow): string | null {
  if (ruleState({ enabled, enforced, starts_at, ends_at }, Date.now()) === 'disabled') return 'off';
  return enforced ? null : 'staged';
}
