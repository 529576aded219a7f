// What can be asked about connections: why a device cannot connect, or that it is connected, and
// who sends handshakes that no device can have sent. Our own additions to the API. The gateway that
// is asked answers for itself, from memory.

import type Joi from 'joi';
import { ApiError } from '../http/errors.ts';
import { choice, isUuid, joi, mark, recordId, resource, text, timestamp } from '../judge/fields.ts';
import { type Operation, read, UUID_PARAM } from '../operations/operation.ts';
import type { Recall } from '../records/recall.ts';
import { askDiagnosis, type Asked, askUnknownSenders } from './ask.ts';
import { findingCodes } from './words.ts';

const senderFields = resource({
  public_key: shown(
    text('The key that it has; null: it sends for the key of another gateway.'),
  ).allow(null),
  device_id: recordId('The device that has the key and is not served; null: none has it.').allow(
    null,
  ),
  remote_ip: shown(text('The address that the last message came from.')),
  remote_port: count('The port that the last message came from.'),
  count: count('How many messages came.'),
  first_at: timestamp('When the first one came.'),
  last_at: timestamp('When the last one came.'),
});

const attemptFields = resource({
  outcome: shown(
    choice(
      'What became of it: the device uses the session; it does not; it does not answer; the message was refused.',
      'confirmed',
      'unconfirmed',
      'no_answer',
      'refused',
    ),
  ),
  begun_by: shown(choice('Who began it.', 'device', 'gateway')),
  reason: shown(
    text('Why it was refused; null: it was not. The names are those of metrics.'),
  ).allow(null),
  remote_ip: shown(text('Where the device was; null: not known.')).allow(null),
  remote_port: count('The port of the device; null: not known.').allow(null),
  count: count('How many there were in a row.'),
  first_at: timestamp('When the first of them came.'),
  last_at: timestamp('When the last of them came.'),
  confirmed_at: timestamp('When the device used the session first; null: it never did.').allow(
    null,
  ),
  dated_at: timestamp('The time in a message that was dated before; else null.').allow(null),
  latest_dated_at: timestamp('The latest time that came in a message before; else null.').allow(
    null,
  ),
});

const insideFields = resource({
  since: timestamp('Since when the gateway watches.'),
  passed_at: timestamp('When a packet of the device passed last; null: never.').allow(null),
  largest: count('Bytes of its largest packet that passed since its latest handshake; 0: none.'),
  refused_reason: shown(
    text('Why a packet of it was refused last, but for its source; null: none was.'),
  ).allow(null),
  refused_at: timestamp('When that was.').allow(null),
  wrong_source: shown(text('The last address it sent from that is not its own; null: none.')).allow(
    null,
  ),
  wrong_source_count: count('How many packets had such an address.'),
  wrong_source_at: timestamp('When the last of them came.').allow(null),
  too_big_bytes: count('The size of the last packet that was too big for it; null: none.').allow(
    null,
  ),
  too_big_count: count('How many there were since its latest handshake.'),
  too_big_at: timestamp('When the last of them came.').allow(null),
});

/** What is answered of a device. */
const diagnosisFields = resource({
  code: shown(choice('What was found.', ...findingCodes)),
  text: shown(text('The same in words.')),
  advice: shown(text('What to do next.')),
  connected_since: timestamp('Since when it is connected to this gateway; null: it is not.').allow(
    null,
  ),
  attempts: list(attemptFields, 'The last handshakes, the latest first.'),
  inside: mark(insideFields, { readOnly: true })
    .allow(null)
    .description('What came through its tunnel; null: the gateway does not serve it.'),
  unknown_senders: list(
    senderFields,
    'Where the device is not heard: unknown senders of the last ten minutes, at most five.',
  ),
  connected_gateway_id: recordId(
    'The other gateway to which the device is connected; null: none, or it is not known.',
  ).allow(null),
  gateway_id: recordId('The gateway that answers.'),
});

/** What is answered of unknown senders. */
const unknownSendersFields = resource({
  keys: list(senderFields, 'Senders whose key no served device has, the latest first.'),
  other_gateway: list(
    senderFields,
    'Sources of handshakes for the key of another gateway, the latest first.',
  ),
  gateway_id: recordId('The gateway that answers.'),
});

/** What a diagnosis needs of the server. */
export interface DiagnosisContext {
  readonly services: Asked;
  readonly recall: Recall;
}

interface HasDiagnosis {
  readonly diagnosis: DiagnosisContext;
}

/** The operations that say who cannot connect, and why. */
export const diagnosisOperations: readonly Operation<HasDiagnosis>[] = [
  read<HasDiagnosis>({
    id: 'diagnoseDevice',
    method: 'GET',
    path: '/v0/devices/{id}/diagnosis',
    tag: 'devices',
    params: UUID_PARAM,
    scopes: ['read'],
    summary: 'Say why a device cannot connect',
    description: 'One finding of the gateway that answers, and what it rests on.',
    answer: { title: 'Diagnosis', fields: diagnosisFields, description: 'What was found.' },
    async run({ diagnosis: { services, recall } }, _caller, { params: { id = '' } }) {
      const { Device } = services.database.models;
      const device = isUuid(id) ? await Device.findByPk(id.toLowerCase()) : null;
      if (device === null) throw new ApiError('not_found');
      return { ...(await askDiagnosis(services, recall, device)) };
    },
  }),
  read<HasDiagnosis>({
    id: 'listUnknownSenders',
    method: 'GET',
    path: '/v0/unknown_senders',
    tag: 'devices',
    scopes: ['read'],
    summary: 'List who sends handshakes that no device can have sent',
    description:
      'Anybody can send one, with any key and from any source. The gateway that answers remembers a part of them.',
    answer: { title: 'UnknownSenders', fields: unknownSendersFields, description: 'The senders.' },
    run: async ({ diagnosis }) => ({ ...(await askUnknownSenders(diagnosis.services)) }),
  }),
];

function shown<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}

function count(description: string): Joi.Schema {
  return shown(joi.number().integer().min(0).description(description));
}

function list(items: Joi.ObjectSchema, description: string): Joi.Schema {
  return shown(joi.array().items(items).description(description));
}
