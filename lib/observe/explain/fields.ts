// The answer about a packet. docs/api.md#what-becomes-of-a-packet.

import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { explainedReasons, gateNames } from './gates.ts';

const gateFields = answerTable({
  code: { kind: 'choice', description: 'The gate.', words: gateNames },
  outcome: {
    kind: 'choice',
    description: 'What becomes of the packet there; `waits`: a device at its end has no session.',
    words: ['passed', 'waits', 'refused', 'not_reached'],
  },
  text: { kind: 'text', description: 'What the gate asks, or why it refuses.' },
});

const hostFields = answerTable({
  check: { kind: 'text', description: 'What was looked at.' },
  level: { kind: 'choice', description: 'How bad it is.', words: ['warning', 'failed'] },
  message: { kind: 'text', description: 'What is wrong.' },
  fix: { kind: 'text', description: 'How to fix it.', nullable: true },
});

/** What becomes of a packet. */
export const explanationFields = answerTable({
  verdict: {
    kind: 'choice',
    description: 'What becomes of the packet.',
    words: ['accept', 'drop'],
  },
  reason: {
    kind: 'choice',
    description: 'Why it is dropped; null: it is not. The names are those of metrics.',
    nullable: true,
    words: explainedReasons,
  },
  waits_for: {
    kind: 'choices',
    description:
      'The devices without a session with this gateway, for which the packet has to wait. Empty where it is dropped.',
    words: ['sender', 'receiver'],
  },
  rule_id: {
    kind: 'id',
    description: 'The rule that decided; null: none did, or it is not known.',
    nullable: true,
  },
  text: { kind: 'text', description: 'The same in words.' },
  advice: {
    kind: 'text',
    description: 'What to look at first where it is dropped or has to wait.',
    nullable: true,
  },
  flow: {
    kind: 'choice',
    description: 'What the packet does to a flow; null: it is dropped before.',
    words: ['none', 'opens', 'continues'],
    nullable: true,
  },
  opener_id: {
    kind: 'id',
    description:
      'The device that opened the flow, or opens it; null: a host behind the gateway, or nobody.',
    nullable: true,
  },
  latest_handshake: {
    kind: 'time',
    description: 'When the device of the question made its latest handshake; null: never.',
    nullable: true,
  },
  gates: { kind: 'list', description: 'All gates, in the order of a packet.', of: gateFields },
  staged_rule_id: {
    kind: 'id',
    description: 'The staged rule that would decide if all were enforced; null: none would.',
    nullable: true,
  },
  staged_verdict: {
    kind: 'choice',
    description: 'What that rule would do.',
    words: ['accept', 'drop'],
    nullable: true,
  },
  shadowed: {
    kind: 'ids',
    description: 'Rules that match the packet too, and did not decide, because another one did.',
  },
  host: {
    kind: 'list',
    description:
      'What is wrong with the host that carries the packet on, as it was seen last. It is no part of the verdict.',
    of: hostFields,
  },
  connected_gateway_id: {
    kind: 'id',
    description:
      'The other gateway to which a device of the question is connected, where it is dropped for that; null: none, or it is not known.',
    nullable: true,
  },
  gateway_id: { kind: 'id', description: 'The gateway that answers.' },
});

/** What becomes of a packet. */
export type Answer = AnswerOf<typeof explanationFields>;

/** One gate, and what became of the packet there. */
export type ShownGate = AnswerOf<typeof gateFields>;

/** What is wrong with the host. */
export type ShownFinding = AnswerOf<typeof hostFields>;
