// The answers about the audit trail and the gateways of a database. docs/api.md#audit-trail,
// docs/api.md#gateways.

import { auditActions } from '../../../models/index.ts';
import { type AnswerOf, answerTable } from '../validation/answers.ts';
import { shownActors, shownKinds } from './audit-names.ts';

/** An entry of the audit trail. */
export const auditFields = answerTable({
  id: { kind: 'id', description: 'Names the entry.' },
  happened_at: { kind: 'time', description: 'When it happened.' },
  actor: {
    kind: 'choice',
    description: 'In whose name: that of a user, of the gateway, or of the command line.',
    words: shownActors,
  },
  user_id: { kind: 'id', description: 'The user; null: it was no user.', nullable: true },
  email: { kind: 'text', description: 'The e-mail of the user, as it was then.', nullable: true },
  token_id: {
    kind: 'id',
    description: 'The API token that was used; null: none was.',
    nullable: true,
  },
  action: {
    kind: 'choice',
    description: 'What was done.',
    words: auditActions as readonly string[],
  },
  kind: {
    kind: 'choice',
    description: 'The kind of the record, such as `device` or `api_token`.',
    words: shownKinds,
  },
  record_id: { kind: 'text', description: 'The record.' },
  changes: {
    kind: 'object',
    description:
      'By field: `from` and `to`; of a list the members that were `added` and `removed`; of a secret only that it `changed`.',
  },
  request_id: {
    kind: 'text',
    description: 'The `x-request-id` of the request; null: it was no request.',
    nullable: true,
  },
  address: {
    kind: 'text',
    description: 'Where the request came from; null: it was no request.',
    nullable: true,
  },
});

/** An entry of the audit trail, as it is answered. */
export type ShownEntry = AnswerOf<typeof auditFields>;

/** A gateway of the database. */
export const gatewayFields = answerTable({
  id: { kind: 'id', description: 'Names the gateway; a restart keeps it.' },
  name: { kind: 'text', description: 'The name of its host.' },
  public_key: {
    kind: 'text',
    description: 'The key by which devices know it; null: it wrote none.',
    nullable: true,
  },
  schema: {
    kind: 'text',
    description: 'The last migration that it knows; null: it is of 1.0.0, which says none.',
    nullable: true,
  },
  started_at: { kind: 'time', description: 'When it was started last.' },
  seen_at: { kind: 'time', description: 'When it said last that it runs.' },
  running: { kind: 'flag', description: 'Whether that is less than a minute ago.' },
  up_to_date: { kind: 'flag', description: 'Whether packets there obey all that is written.' },
  egress: {
    kind: 'choice',
    words: ['tun', 'sockets', 'none'],
    description:
      'How packets of devices leave it: a TUN interface, its own sockets, or nothing; null: it does not say.',
    nullable: true,
  },
  egress_reason: {
    kind: 'text',
    description:
      'Why they leave that way, where a setting or the host decided it; null: there is nothing to say.',
    nullable: true,
  },
  last_backup_at: {
    kind: 'time',
    description:
      'When the database was backed up last by `backup --keep` and read back; null: never since this gateway is there.',
    nullable: true,
  },
  settings: {
    kind: 'object',
    description: 'Its settings that are no secret; null: it wrote none.',
    nullable: true,
  },
});

/** A gateway of the database, as it is answered. */
export type ShownGateway = AnswerOf<typeof gatewayFields>;
