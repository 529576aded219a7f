// What can be done with API tokens. docs/api.md#api-tokens.

import { isUuid, resource, text } from '../judge/fields.ts';
import { judgeOf } from '../judge/judge.ts';
import { type AskedPage, idPageFields, idPages } from '../operations/id-pages.ts';
import { type Operation, queryOf, read, UUID_PARAM, write } from '../operations/operation.ts';
import {
  apiTokenFields,
  type ApiTokens,
  type ApiTokenValues,
  judgeApiToken,
  madeTokenFields,
} from './api-tokens.ts';

interface HasApiTokens {
  readonly apiTokens: ApiTokens;
}

interface AskedTokens extends AskedPage {
  readonly user_id?: string;
}

const listParameters = resource({
  user_id: text('Only tokens of this user.'),
  ...idPageFields,
});

const token = { title: 'ApiToken', fields: apiTokenFields } as const;
const all = { path: '/v0/api_tokens', tag: 'api_tokens' } as const;
const one = { path: '/v0/api_tokens/{id}', tag: 'api_tokens', params: UUID_PARAM } as const;

/** The operations on API tokens. */
export const apiTokenOperations: readonly Operation<HasApiTokens>[] = [
  idPages<HasApiTokens, AskedTokens>({
    ...all,
    id: 'listApiTokens',
    method: 'GET',
    scopes: ['read'],
    summary: 'List API tokens',
    description: 'In the order in which they were made. Never the tokens themselves.',
    query: queryOf(listParameters, judgeOf<AskedTokens>(listParameters)),
    answer: { ...token, description: 'A page.' },
    async page({ apiTokens }, { query: { user_id: userId = null }, afterId, limit }) {
      if (userId !== null && !isUuid(userId)) return [];
      return apiTokens.page({ afterId, userId: userId?.toLowerCase() ?? null, limit });
    },
  }),
  write<HasApiTokens, ApiTokenValues>({
    ...all,
    id: 'createApiToken',
    method: 'POST',
    scopes: [],
    summary: 'Make an API token',
    description:
      'For the user who asks, and not longer than the token with which they ask. The token itself is in this answer only.',
    body: { ...token, wrapper: 'api_token', judge: judgeApiToken, mode: 'create' },
    answer: { title: 'MadeApiToken', fields: madeTokenFields, description: 'The token.' },
    placeOf: ({ id }) => `${all.path}/${String(id)}`,
    run: ({ apiTokens }, caller, { body }) => apiTokens.make(caller, body),
  }),
  read<HasApiTokens>({
    ...one,
    id: 'showApiToken',
    method: 'GET',
    scopes: ['read'],
    summary: 'Show an API token, but not the token itself',
    answer: { ...token, description: 'What is known of it.' },
    run: ({ apiTokens }, _caller, { params }) => apiTokens.show(params['id'] ?? ''),
  }),
  write<HasApiTokens>({
    ...one,
    id: 'deleteApiToken',
    method: 'DELETE',
    scopes: [],
    summary: 'Revoke an API token',
    answer: null,
    async run({ apiTokens }, caller, { params }) {
      await apiTokens.revoke(caller, params['id'] ?? '');
      return null;
    },
  }),
];
