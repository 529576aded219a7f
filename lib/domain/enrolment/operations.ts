// The operations on the one-time link of a user, and on many people at once, for which the API has
// no route: a command of the host performs it. A link itself is shown once, when it is made.
// docs/api.md#enrolment.

import { LINK_HOURS } from '../../auth/one-time-links.ts';
import { type Operation, read, USER_PARAM, write } from '../../kit/operations/operation.ts';
import { placed } from '../../kit/operations/places.ts';
import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import { refuseErrors } from '../../kit/records/writes.ts';
import { insistence } from '../policy/guard.ts';
import {
  enrolmentFields,
  type Enrolments,
  type EnrolmentValues,
  madeEnrolmentFields,
  validateEnrolment,
} from './enrolment.ts';
import {
  type PeopleEnrolled,
  peopleEnrolledFields,
  peopleFields,
  type PeopleValues,
  validatePeople,
  wishOf,
} from './people-fields.ts';

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
      validate: validateEnrolment,
      mode: 'create',
    },
    answer: { title: 'MadeEnrolment', fields: madeEnrolmentFields, description: 'The link.' },
    locationOf: ({ user_id: id }) => PATH.replace('{id}', String(id)),
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
  write<HasEnrolments, PeopleValues, { readonly force: boolean }>({
    ...placed('enrolPeople'),
    tag: 'users',
    isPublic: false,
    scopes: [],
    summary: 'Make users of e-mails, with one-time links and memberships: all of them, or nobody',
    query: insistence,
    body: {
      wrapper: 'enrolment',
      title: 'PeopleEnrolment',
      fields: peopleFields,
      validate: validatePeople,
      mode: 'create',
    },
    answer: {
      title: 'PeopleEnrolled',
      fields: schemaOfAnswer(peopleEnrolledFields),
      description: 'The people, and their links.',
    },
    async run({ enrolments }, caller, { body: { values, errors }, query }) {
      refuseErrors(errors);
      const { hours = LINK_HOURS.default, mail: isMailed = false } = values;
      const wish = { ...wishOf(values), force: query.force };
      const { people, links } = await enrolments.enrol(caller, wish, { hours, isMailed });
      const enrolled: PeopleEnrolled = {
        people,
        links: links.map(({ link: { id, expires_at: end }, email, url }) => ({
          id,
          email,
          url,
          expires_at: end.toISOString(),
        })),
      };
      return { ...enrolled };
    },
  }),
];
