// The fields of a policy test: a packet of a user or of a device, and whether the rules are to let
// it pass. No gateway reads it. docs/api.md#policy-tests.

import { type ColumnsOf, fieldsOf, type NewColumnsOf, type RowOf } from './field.ts';

/** The table of the record. */
export const policyTestFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    api: { kind: 'id', description: 'Names the test; never changes.', readOnly: true },
  },
  name: {
    column: { kind: 'text', size: 255 },
    audit: 'value',
    api: {
      kind: 'trimmed',
      description: 'What the test is for.',
      required: true,
      atLeast: 1,
      atMost: 255,
    },
  },
  // One of the two, and never both.
  user_id: {
    column: { kind: 'char', size: 36, nullable: true },
    audit: 'value',
    api: {
      kind: 'reference',
      description: 'The user whose devices send the packet; either this or `device_id`.',
    },
  },
  device_id: {
    column: { kind: 'char', size: 36, nullable: true },
    audit: 'value',
    api: { kind: 'reference', description: 'The device that sends the packet.' },
  },
  destination: {
    column: { kind: 'text', size: 45 },
    audit: 'value',
    api: { kind: 'any address', description: 'The address that it goes to.', required: true },
  },
  protocol: {
    column: { kind: 'text', size: 8, words: ['tcp', 'udp', 'icmp'] },
    audit: 'value',
    api: {
      kind: 'choice',
      description: 'The protocol; `icmp` is an echo request.',
      required: true,
    },
  },
  port: {
    column: { kind: 'integer', nullable: true },
    audit: 'value',
    api: {
      kind: 'integer',
      description: 'The port of the destination; with `tcp` and `udp`, and only with them.',
      min: 1,
      max: 65_535,
    },
  },
  expect: {
    column: { kind: 'text', size: 8, words: ['accept', 'drop'] },
    audit: 'value',
    api: { kind: 'choice', description: 'What is to become of it.', required: true },
  },
  // What the rules of now say; no row holds it.
  passes: {
    api: { kind: 'flag', description: 'Whether that is so at present.', readOnly: true },
  },
  verdict: {
    api: {
      kind: 'choice',
      words: ['accept', 'drop'],
      description: 'What becomes of the packet at present.',
      readOnly: true,
    },
  },
  reason: {
    api: {
      kind: 'text',
      description: 'Why it is dropped; null: it is not.',
      readOnly: true,
      nullable: true,
    },
  },
  rule_id: {
    api: {
      kind: 'reference',
      description: 'The rule that decides; null: none matches.',
      readOnly: true,
      nullable: true,
    },
  },
  text: {
    api: { kind: 'text', description: 'The result in words.', readOnly: true },
  },
  inserted_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the test was made.', readOnly: true },
  },
  updated_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the test was changed last.', readOnly: true },
  },
});

/** The columns of a policy test. */
export type PolicyTestColumns = ColumnsOf<typeof policyTestFields>;

/** The columns of a policy test that is to be made. */
export type NewPolicyTestColumns = NewColumnsOf<typeof policyTestFields>;

/** A policy test, without its result. */
export type PolicyTestRow = RowOf<typeof policyTestFields>;
