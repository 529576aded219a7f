// The operations on API tokens (docs/api.md#api-tokens), and those on the accounts of others, for
// which the API has no route: commands of the host perform them.

import { answerTable, schemaOfAnswer } from '../kit/validation/answers.ts';
import { isUuid, resource, text } from '../kit/validation/fields.ts';
import { validatorOf } from '../kit/validation/validate.ts';
import { type AskedPage, idPageFields, idPages } from '../kit/operations/id-pages.ts';
import { type Operation, queryOf, read, UUID_PARAM, write } from '../kit/operations/operation.ts';
import { placed } from '../kit/operations/places.ts';
import {
  administratorFields,
  type AdministratorValues,
  madeAdministratorFields,
  validateAdministrator,
} from './account-fields.ts';
import type { Accounts } from './accounts.ts';
import {
  apiTokenFields,
  type ApiTokens,
  type ApiTokenValues,
  madeTokenFields,
  validateApiToken,
} from './api-tokens.ts';

interface HasAccounts {
  readonly accounts: Accounts;
}

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
const newToken = {
  ...token,
  wrapper: 'api_token',
  validate: validateApiToken,
  mode: 'create',
} as const;
const madeToken = {
  title: 'MadeApiToken',
  fields: madeTokenFields,
  description: 'The token.',
} as const;
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
    query: queryOf(listParameters, validatorOf<AskedTokens>(listParameters)),
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
    body: newToken,
    answer: madeToken,
    locationOf: ({ id }) => `${all.path}/${String(id)}`,
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
    ...placed('deleteApiToken'),
    scopes: [],
    summary: 'Revoke an API token',
    answer: null,
    async run({ apiTokens }, caller, { params }) {
      await apiTokens.revoke(caller, params['id'] ?? '');
      return null;
    },
  }),
];

/** A user who did not ask. */
const ofUser = { tag: 'users', params: UUID_PARAM, scopes: [], isPublic: false } as const;

const removedFields = answerTable({
  removed: { kind: 'count', description: 'How many authenticators they were.' },
});

/** The operations on accounts. */
export const accountOperations: readonly Operation<HasAccounts & HasApiTokens>[] = [
  write<HasAccounts, AdministratorValues>({
    ...placed('ensureAdministrator'),
    tag: 'users',
    isPublic: false,
    scopes: [],
    summary: 'Make an administrator with a password, or make one of a user',
    body: {
      wrapper: 'administrator',
      title: 'Administrator',
      fields: administratorFields,
      validate: validateAdministrator,
      mode: 'create',
    },
    answer: {
      title: 'MadeAdministrator',
      fields: schemaOfAnswer(madeAdministratorFields),
      description: 'Who it is.',
    },
    run: async ({ accounts }, caller, { body }) => ({
      ...(await accounts.ensureAdministrator(caller, body)),
    }),
  }),
  write<HasAccounts>({
    ...ofUser,
    ...placed('unlockUser'),
    summary: 'Let a user sign in at once, although many wrong passwords or codes were typed',
    answer: null,
    async run({ accounts }, caller, { params }) {
      await accounts.unlock(caller, params['id'] ?? '');
      return null;
    },
  }),
  write<HasAccounts>({
    ...ofUser,
    ...placed('removeSecondFactors'),
    summary: 'Remove the second factors of a user, who is signed out',
    answer: {
      title: 'SecondFactorsRemoved',
      fields: schemaOfAnswer(removedFields),
      description: 'How many.',
    },
    run: async ({ accounts }, caller, { params }) => ({
      removed: await accounts.removeSecondFactors(caller, params['id'] ?? ''),
    }),
  }),
  write<HasApiTokens, ApiTokenValues>({
    ...ofUser,
    ...placed('createTokenOfUser'),
    summary: 'Make an API token for a user who did not ask for it',
    body: newToken,
    answer: madeToken,
    run: ({ apiTokens }, caller, { params, body }) =>
      apiTokens.makeFor(caller, params['id'] ?? '', body),
  }),
];
