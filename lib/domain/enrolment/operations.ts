// The operations on the one-time link of a user. The link itself is shown once, when it is made.
// docs/api.md#enrolment.

import { type Operation, read, USER_PARAM, write } from '../../kit/operations/operation.ts';
import {
  enrolmentFields,
  type Enrolments,
  type EnrolmentValues,
  judgeEnrolment,
  madeEnrolmentFields,
} from './enrolment.ts';

interface HasEnrolments {
  readonly enrolments: Enrolments;
}

const PATH = '/v0/users/{id}/enrolment';
const one = { path: PATH, tag: 'users', params: USER_PARAM } as const;

/** The operations on one-time links. */
export const enrolmentOperations: readonly Operation<HasEnrolments>[] = [
  read<HasEnrolments>({
    ...one,
    id: 'showEnrolment',
    method: 'GET',
    scopes: ['read'],
    summary: 'Show the state of the one-time link of a user, but not the link itself',
    answer: { title: 'Enrolment', fields: enrolmentFields, description: 'What is known of it.' },
    run: ({ enrolments }, _caller, { params }) => enrolments.show(params['id'] ?? ''),
  }),
  write<HasEnrolments, EnrolmentValues>({
    ...one,
    id: 'createEnrolment',
    method: 'POST',
    scopes: [],
    summary: 'Make a one-time link for a user',
    description:
      'By it the person chooses a password where one is needed, and adds a device. It takes the place of the link before. The link itself is in this answer only.',
    body: {
      wrapper: 'enrolment',
      title: 'Enrolment',
      fields: enrolmentFields,
      judge: judgeEnrolment,
      mode: 'create',
    },
    answer: { title: 'MadeEnrolment', fields: madeEnrolmentFields, description: 'The link.' },
    placeOf: ({ user_id: id }) => PATH.replace('{id}', String(id)),
    run: ({ enrolments }, caller, { params, body }) =>
      enrolments.make(caller, params['id'] ?? '', body),
  }),
  write<HasEnrolments>({
    ...one,
    id: 'deleteEnrolment',
    method: 'DELETE',
    scopes: [],
    summary: 'Revoke the one-time link of a user',
    answer: null,
    async run({ enrolments }, caller, { params }) {
      await enrolments.revoke(caller, params['id'] ?? '');
      return null;
    },
  }),
];
