// The operations on connections: why a device cannot connect, or that it is connected, and who
// sends handshakes that no device can have sent. They are our own additions to the API. The gateway
// that is asked answers for itself, from memory.

import { ApiError } from '../../kit/http/errors.ts';
import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { type Operation, read, UUID_PARAM } from '../../kit/operations/operation.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { askDiagnosis, type Asked, askUnknownSenders } from './ask.ts';
import { diagnosisFields, unknownSendersFields } from './fields.ts';

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
    answer: {
      title: 'Diagnosis',
      fields: schemaOfAnswer(diagnosisFields),
      description: 'What was found.',
    },
    async run({ diagnosis: { services, recall } }, _caller, { params: { id = '' } }) {
      const { Device } = services.database.models;
      const device = isUuid(id) ? await Device.findByPk(id.toLowerCase()) : null;
      if (device === null) throw new ApiError('not_found');
      return askDiagnosis(services, recall, device);
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
    answer: {
      title: 'UnknownSenders',
      fields: schemaOfAnswer(unknownSendersFields),
      description: 'The senders.',
    },
    run: ({ diagnosis }) => askUnknownSenders(diagnosis.services),
  }),
];
