// The answers about flows and refused packets. docs/api.md#live-flows.

import { endReasons } from '../../../dataplane/index.ts';
import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { refusalReasons } from '../../domain/policy/reason-words.ts';

const PROTOCOLS = '`tcp`, `udp`, `icmp`, or the number of another one.';

const ofFlow = answerTable({
  source: { kind: 'text', description: 'The address of the side that opened it.' },
  source_port: {
    kind: 'count',
    description: 'Its port; null: the protocol has none.',
    nullable: true,
  },
  source_device_id: {
    kind: 'id',
    description: 'The device that it is; null: a host behind the gateway.',
    nullable: true,
  },
  destination: { kind: 'text', description: 'The address that it was opened to.' },
  port: {
    kind: 'count',
    description: 'The port that it was opened to; null: the protocol has none.',
    nullable: true,
  },
  destination_device_id: {
    kind: 'id',
    description: 'The device that it was opened to; null: a host behind the gateway.',
    nullable: true,
  },
  protocol: { kind: 'text', description: `The protocol: ${PROTOCOLS}` },
  answered: { kind: 'flag', description: 'Whether the other side has sent something.' },
  decided_by: {
    kind: 'choice',
    description:
      'What lets it pass: a rule, the default action, or nothing, because a host opened it.',
    words: ['rule', 'default', 'nothing'],
  },
  rule_id: { kind: 'id', description: 'The rule that decided; null: none did.', nullable: true },
  sent_packets: { kind: 'count', description: 'Packets of the side that opened it.' },
  sent_bytes: {
    kind: 'count',
    description: 'Bytes of those packets, as they are inside the tunnel.',
  },
  reply_packets: { kind: 'count', description: 'Packets of the other side.' },
  reply_bytes: { kind: 'count', description: 'Bytes of those packets.' },
  opened_at: { kind: 'time', description: 'When this gateway saw its first packet.' },
  last_seen_at: { kind: 'time', description: 'When its last packet passed.' },
});

const ofAnswer = answerTable({
  gateway_id: { kind: 'id', description: 'The gateway that answers.' },
});

/** A flow. */
export const flowFields = answerTable({ ...ofFlow, ...ofAnswer });

/** A flow that has ended. */
export const endedFlowFields = answerTable({
  ...ofFlow,
  source_user_id: {
    kind: 'id',
    description: 'Whose device it was when the flow ended; null: a host behind the gateway.',
    nullable: true,
  },
  destination_user_id: {
    kind: 'id',
    description: 'The same of the other side.',
    nullable: true,
  },
  ended_at: { kind: 'time', description: 'When its end was noticed.' },
  ended_because: { kind: 'choice', description: 'Why it ended.', words: endReasons },
  ...ofAnswer,
});

/** Refused packets that are alike. */
export const refusalFields = answerTable({
  device_id: {
    kind: 'id',
    description: 'The device; null: it was deleted just now.',
    nullable: true,
  },
  direction: {
    kind: 'choice',
    description: 'Whether the device sent them, or they were for it.',
    words: ['from_device', 'to_device'],
  },
  source: {
    kind: 'text',
    description: 'Where they came from; null: they could not be read.',
    nullable: true,
  },
  destination: {
    kind: 'text',
    description: 'Where they should have gone; null: they could not be read.',
    nullable: true,
  },
  protocol: {
    kind: 'text',
    description: `The protocol; null: they could not be read: ${PROTOCOLS}`,
    nullable: true,
  },
  port: {
    kind: 'count',
    description: 'The port of the destination; null: there is none, or they do not show it.',
    nullable: true,
  },
  reason: {
    kind: 'choice',
    description: 'Why they were refused, as in metrics.',
    words: refusalReasons,
  },
  text: { kind: 'text', description: 'The same in words.' },
  rule_id: {
    kind: 'id',
    description: 'The rule that refused the latest one; null: none did, or it is not known.',
    nullable: true,
  },
  count: { kind: 'count', description: 'How many packets there were.' },
  first_at: { kind: 'time', description: 'When the first one came.' },
  last_at: { kind: 'time', description: 'When the latest one came.' },
  ...ofAnswer,
});

/** A flow, as answers show it. */
export type ShownFlow = AnswerOf<typeof flowFields>;

/** A flow that has ended, as answers show it. */
export type ShownEndedFlow = AnswerOf<typeof endedFlowFields>;

/** Refused packets that are alike, as answers show them. */
export type ShownRefusal = AnswerOf<typeof refusalFields>;
