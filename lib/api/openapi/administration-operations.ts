// The operations on API tokens, the audit trail and the gateways, as paths of the document.
// docs/api.md#api-tokens.

import { BODY_BYTES_MAX } from '../body.ts';
import { enrolmentFields, madeEnrolmentFields } from '../../enrolment/enrolment.ts';
import { apiTokenFields, apiTokenParameters, madeTokenFields } from '../v0/api-tokens.ts';
import { auditFields, auditParameters } from '../v0/audit.ts';
import { gatewayFields, gatewayParameters } from '../v0/gateways.ts';
import { headerRefs, schemaRef } from './answers.ts';
import { list } from './paged-list.ts';
import {
  answer,
  answersOf,
  body,
  type Described,
  operation,
  READ,
  WRITE,
  written,
} from './operations.ts';
import { answerSchema, type Json, requestSchema } from './schemas.ts';

/** The schemas of what is sent and answered. */
export const administrationSchemas: Json = {
  ApiToken: answerSchema(apiTokenFields),
  ApiTokenCreate: requestSchema(apiTokenFields, 'create'),
  MadeApiToken: answerSchema(madeTokenFields),
  Enrolment: answerSchema(enrolmentFields),
  EnrolmentCreate: requestSchema(enrolmentFields, 'create'),
  MadeEnrolment: answerSchema(madeEnrolmentFields),
  AuditEntry: answerSchema(auditFields),
  Gateway: answerSchema(gatewayFields),
};

/** The paths. `common`: tags and ids of records of the whole installation. */
export function administrationPaths(common: Omit<Described, 'wrapper' | 'title' | 'fields'>): Json {
  const apiTokens = { ...common, wrapper: 'api_token', title: 'ApiToken', fields: apiTokenFields };
  return { ...apiTokenPaths(apiTokens), ...pagedPaths(apiTokens) };
}

/** The paths of API tokens. */
function apiTokenPaths(described: Described): Json {
  return {
    '/v0/api_tokens': {
      get: list(described, ['ApiToken', 'ApiTokens'], apiTokenParameters, {
        summary: 'List API tokens',
        description: 'In the order in which they were made. Never the tokens themselves.',
      }),
      post: operation(described, 'createApiToken', {
        summary: 'Make an API token',
        description:
          'For the user who asks, and not longer than the token with which they ask. The token itself is in this answer only.',
        ...body(described, 'create', BODY_BYTES_MAX),
        responses: answersOf(
          {
            201: answer(
              'The token.',
              { data: schemaRef('MadeApiToken') },
              { Location: 'Location', ...written },
            ),
          },
          WRITE,
        ),
      }),
    },
    '/v0/api_tokens/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, ...described.id }],
      get: operation(described, 'showApiToken', {
        summary: 'Show an API token, but not the token itself',
        responses: answersOf(
          { 200: answer('What is known of it.', { data: schemaRef('ApiToken') }) },
          [404, ...READ],
        ),
      }),
      delete: operation(described, 'deleteApiToken', {
        summary: 'Revoke an API token',
        responses: answersOf(
          { 204: { description: 'It is void.', headers: headerRefs(written) } },
          [404, 408, 413, ...READ],
        ),
      }),
    },
  };
}

/** The paths of one-time links; `users`: tags and ids of users. */
export function enrolmentPaths(users: Omit<Described, 'wrapper' | 'title' | 'fields'>): Json {
  const described = { ...users, wrapper: 'enrolment', title: 'Enrolment', fields: enrolmentFields };
  return {
    '/v0/users/{id}/enrolment': {
      parameters: [{ name: 'id', in: 'path', required: true, ...users.id }],
      get: operation(described, 'showEnrolment', {
        summary: 'Show the state of the one-time link of a user, but not the link itself',
        responses: answersOf(
          { 200: answer('What is known of it.', { data: schemaRef('Enrolment') }) },
          [404, ...READ],
        ),
      }),
      post: operation(described, 'createEnrolment', {
        summary: 'Make a one-time link for a user',
        description:
          'By it the person chooses a password where one is needed, and adds a device. It takes the place of the link before. The link itself is in this answer only.',
        ...body(described, 'create', BODY_BYTES_MAX),
        responses: answersOf(
          {
            201: answer(
              'The link.',
              { data: schemaRef('MadeEnrolment') },
              { Location: 'Location', ...written },
            ),
          },
          [404, ...WRITE],
        ),
      }),
      delete: operation(described, 'deleteEnrolment', {
        summary: 'Revoke the one-time link of a user',
        responses: answersOf(
          { 204: { description: 'It is void.', headers: headerRefs(written) } },
          [404, 408, 413, ...READ],
        ),
      }),
    },
  };
}

/** The paths of the audit trail and of the gateways. */
function pagedPaths(described: Described): Json {
  return {
    '/v0/audit': {
      get: list(described, ['AuditEntry', 'AuditEntries'], auditParameters, {
        summary: 'List who changed what',
        description: 'The newest entry first.',
      }),
    },
    '/v0/gateways': {
      get: list(described, ['Gateway', 'Gateways'], gatewayParameters, {
        summary: 'List the gateways of the database',
        description: 'In the order of their ids. One that is gone for good stays in the list.',
      }),
    },
  };
}
