// The fields of a rule: what devices may reach. Beside the destination as given the table keeps the
// range of addresses that it covers, so that an index finds the rules that overlap.
// docs/api.md#rules.

import { type ColumnsOf, fieldsOf, type NewColumnsOf, type ObeyedOf, type RowOf } from './field.ts';

/** The table of the record. */
export const ruleFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    obeyed: true,
    api: { kind: 'id', description: 'Names the rule; never changes.', readOnly: true },
  },
  action: {
    column: { kind: 'text', size: 16, words: ['accept', 'drop'], default: 'drop' },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'choice of Firezone',
      description: 'What happens to packets that match.',
      nullIsBlank: true,
    },
  },
  // As given, host bits and prefix kept.
  destination: {
    column: { kind: 'text', size: 64 },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'cidr',
      description: 'An address or a CIDR; host bits and prefix are kept as sent.',
      required: true,
    },
  },
  family: { column: { kind: 'tiny integer', words: [4, 6], derived: true }, audit: 'nothing' },
  // The first and the last address of the destination, 8 or 32 hex digits.
  range_start: {
    column: { kind: 'text', size: 32, derived: true, inRows: false },
    audit: 'nothing',
  },
  range_end: {
    column: { kind: 'text', size: 32, derived: true, inRows: false },
    audit: 'nothing',
  },
  // Null: all traffic; then both ports are null too.
  port_type: {
    column: { kind: 'text', size: 8, words: ['tcp', 'udp'], nullable: true },
    audit: 'value',
    obeyed: true,
    api: { kind: 'choice of Firezone', description: 'Null: all traffic; else with `port_range`.' },
  },
  port_range: {
    api: { kind: 'ports', description: '`N` or `N - M`; with `port_type`.', nullable: true },
  },
  // The trail calls both ports `port_range`.
  port_start: { column: { kind: 'integer', nullable: true }, audit: 'own', obeyed: true },
  port_end: { column: { kind: 'integer', nullable: true }, audit: 'own', obeyed: true },
  user_id: {
    column: { kind: 'char', size: 36, nullable: true },
    audit: 'value',
    obeyed: true,
    api: { kind: 'reference', description: 'Whose packets; null means everyone.' },
  },
  // Never beside `user_id`.
  group_id: {
    column: { kind: 'char', size: 36, nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'reference',
      description: 'The packets of all members of this group; then `user_id` is null.',
    },
  },
  // Never beside `port_type`, whose words are those that clients of the original know.
  protocol: {
    column: { kind: 'text', size: 8, words: ['icmp'], nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'choice',
      description: 'A protocol without ports; then `port_type` and `port_range` are null.',
    },
  },
  description: {
    column: { kind: 'text', size: 255, nullable: true },
    audit: 'value',
    api: { kind: 'trimmed', description: 'Free text.', atMost: 255 },
  },
  enabled: {
    column: { kind: 'flag', default: true },
    audit: 'value',
    obeyed: true,
    api: { kind: 'flag', description: 'False: the rule decides nothing.' },
  },
  enforced: {
    column: { kind: 'flag', default: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'flag',
      description: 'False: the rule is staged; it decides nothing, and what it would is counted.',
    },
  },
  starts_at: {
    column: { kind: 'time', nullable: true },
    audit: 'value',
    obeyed: true,
    api: { kind: 'time', description: 'Before that it decides nothing; null: it has no start.' },
  },
  ends_at: {
    column: { kind: 'time', nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'time',
      description: 'From then on it decides nothing; null: it has no end.',
    },
  },
  inserted_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the rule was made.', readOnly: true },
  },
  updated_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the rule was changed last.', readOnly: true },
  },
});

/** The columns of a rule. */
export type RuleColumns = ColumnsOf<typeof ruleFields>;

/** The columns of a rule that is to be made. */
export type NewRuleColumns = NewColumnsOf<typeof ruleFields>;

/** A rule, without the range of its destination. */
export type RuleRow = RowOf<typeof ruleFields>;

/** What gateways read of a rule. */
export type ObeyedRule = ObeyedOf<typeof ruleFields>;

/** What a rule does with the packets that it matches. */
export type RuleAction = RuleRow['action'];

/** The protocol that a rule with ports names. */
export type PortType = NonNullable<RuleRow['port_type']>;

/** A protocol without ports that a rule names. */
export type PortlessProtocol = NonNullable<RuleRow['protocol']>;
