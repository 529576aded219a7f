// The answers about a device that cannot connect, and about unknown senders.
// docs/api.md#why-a-device-cannot-connect.

import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { findingCodes } from './words.ts';

const senderFields = answerTable({
  public_key: {
    kind: 'text',
    description: 'The key of the sender; null: it used the key of another gateway, or none.',
    nullable: true,
  },
  device_id: {
    kind: 'id',
    description: 'The device that has the key and is not served; null: none has it.',
    nullable: true,
  },
  remote_ip: { kind: 'text', description: 'The address that the last message came from.' },
  remote_port: { kind: 'count', description: 'The port that the last message came from.' },
  count: { kind: 'count', description: 'How many messages came.' },
  first_at: { kind: 'time', description: 'When the first one came.' },
  last_at: { kind: 'time', description: 'When the last one came.' },
});

const attemptFields = answerTable({
  outcome: {
    kind: 'choice',
    description:
      'What became of it: the device uses the session; it does not; it does not answer; the message was refused.',
    words: ['confirmed', 'unconfirmed', 'no_answer', 'refused'],
  },
  begun_by: { kind: 'choice', description: 'Who began it.', words: ['device', 'gateway'] },
  reason: {
    kind: 'text',
    description: 'Why it was refused; null: it was not. The names are those of metrics.',
    nullable: true,
  },
  remote_ip: {
    kind: 'text',
    description: 'Where the device was; null: not known.',
    nullable: true,
  },
  remote_port: {
    kind: 'count',
    description: 'The port of the device; null: not known.',
    nullable: true,
  },
  count: { kind: 'count', description: 'How many there were in a row.' },
  first_at: { kind: 'time', description: 'When the first of them came.' },
  last_at: { kind: 'time', description: 'When the last of them came.' },
  confirmed_at: {
    kind: 'time',
    description: 'When the device used the session first; null: it never did.',
    nullable: true,
  },
  dated_at: {
    kind: 'time',
    description: 'The time in a message that was dated before; else null.',
    nullable: true,
  },
  latest_dated_at: {
    kind: 'time',
    description: 'The latest time that came in a message before; else null.',
    nullable: true,
  },
});

const insideFields = answerTable({
  since: { kind: 'time', description: 'Since when the gateway watches.' },
  passed_at: {
    kind: 'time',
    description: 'When a packet of the device passed last; null: never.',
    nullable: true,
  },
  largest: {
    kind: 'count',
    description: 'Bytes of its largest packet that passed since its latest handshake; 0: none.',
  },
  refused_reason: {
    kind: 'text',
    description: 'Why a packet of it was refused last, but for its source; null: none was.',
    nullable: true,
  },
  refused_at: { kind: 'time', description: 'When that was.', nullable: true },
  wrong_source: {
    kind: 'text',
    description: 'The last address it sent from that is not its own; null: none.',
    nullable: true,
  },
  wrong_source_count: { kind: 'count', description: 'How many packets had such an address.' },
  wrong_source_at: {
    kind: 'time',
    description: 'When the last of them came.',
    nullable: true,
  },
  too_big_bytes: {
    kind: 'count',
    description: 'The size of the last packet that was too big for it; null: none.',
    nullable: true,
  },
  too_big_count: {
    kind: 'count',
    description: 'How many there were since its latest handshake.',
  },
  too_big_at: { kind: 'time', description: 'When the last of them came.', nullable: true },
});

const ofAnswer = answerTable({
  gateway_id: { kind: 'id', description: 'The gateway that answers.' },
});

/** What is wrong with a device, and why that is thought. */
export const diagnosisFields = answerTable({
  code: { kind: 'choice', description: 'What was found.', words: findingCodes },
  text: { kind: 'text', description: 'The same in words.' },
  advice: { kind: 'text', description: 'What to do next.' },
  connected_since: {
    kind: 'time',
    description: 'Since when it is connected to this gateway; null: it is not.',
    nullable: true,
  },
  attempts: {
    kind: 'list',
    description: 'The last handshakes, the latest first.',
    of: attemptFields,
  },
  inside: {
    kind: 'record',
    description: 'What came through its tunnel; null: the gateway does not serve it.',
    of: insideFields,
    nullable: true,
  },
  unknown_senders: {
    kind: 'list',
    description:
      'Where the device is not heard: unknown senders of the last ten minutes, at most five.',
    of: senderFields,
  },
  connected_gateway_id: {
    kind: 'id',
    description:
      'The other gateway to which the device is connected; null: none, or it is not known.',
    nullable: true,
  },
  ...ofAnswer,
});

/** Unknown senders. */
export const unknownSendersFields = answerTable({
  keys: {
    kind: 'list',
    description: 'Senders whose key no served device has, the latest first.',
    of: senderFields,
  },
  other_gateway: {
    kind: 'list',
    description: 'Sources of handshakes for the key of another gateway, the latest first.',
    of: senderFields,
  },
  ...ofAnswer,
});

/** What is wrong with a device, as it is shown. */
export type Diagnosis = AnswerOf<typeof diagnosisFields>;

/** A handshake, as it is shown. */
export type ShownAttempt = AnswerOf<typeof attemptFields>;

/** What came through the tunnel, as it is shown. */
export type ShownInside = AnswerOf<typeof insideFields>;

/** Unknown senders, as they are shown. */
export type ShownSenders = AnswerOf<typeof unknownSendersFields>;

/** An unknown sender, as it is shown. */
export type ShownSender = AnswerOf<typeof senderFields>;
