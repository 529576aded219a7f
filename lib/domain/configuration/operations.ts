// The operations on the configuration and its identity providers. docs/api.md#the-configuration.

import { type Operation, type Param, read, write } from '../../kit/operations/operation.ts';
import { placed } from '../../kit/operations/places.ts';
import {
  CONFIGURATION_BYTES_MAX,
  configurationSchema,
  type ConfigurationValues,
  shownConfiguration,
  updateConfiguration,
  validateConfiguration,
} from './configuration.ts';
import { relink, relinkFields, type RelinkValues, validateRelink } from './relinking.ts';
import {
  listSamlMetadata,
  type SamlMetadataContext,
  samlMetadataFields,
  type SamlMetadataValues,
  updateSamlMetadata,
  validateSamlMetadata,
} from './saml-metadata.ts';
import {
  listTrustedProviders,
  type NamedEntry,
  setTrust,
  trustedProviderFields,
  type TrustedProviderValues,
  validateTrustedProvider,
} from './trusted-providers.ts';

interface HasConfiguration {
  readonly configuration: SamlMetadataContext;
}

const tag = 'configuration';
const configuration = { title: 'Configuration', fields: configurationSchema } as const;
const trusted = { title: 'TrustedProvider', fields: trustedProviderFields } as const;
const relinked = { title: 'Relink', fields: relinkFields } as const;
const metadata = { title: 'SamlMetadata', fields: samlMetadataFields } as const;

const idParam: Param = {
  description: 'The id of the entry.',
  schema: { type: 'string', minLength: 1 },
};
const entryParams = {
  kind: {
    description: 'The kind of the entry.',
    schema: { type: 'string', enum: ['oidc', 'saml'] },
  },
  id: idParam,
} as const;

/** The operations on the configuration. */
export const configurationOperations: readonly Operation<HasConfiguration>[] = [
  read<HasConfiguration>({
    id: 'showConfiguration',
    method: 'GET',
    path: '/v0/configuration',
    tag,
    scopes: ['read'],
    summary: 'Show the configuration',
    answer: { ...configuration, description: 'The configuration.' },
    run: async ({ configuration: room }) =>
      shownConfiguration(room, await room.recall.configuration()),
  }),
  write<HasConfiguration, ConfigurationValues>({
    ...placed('updateConfiguration'),
    tag,
    scopes: [],
    summary: 'Change the configuration',
    description: 'What is not sent stays as it is. PATCH and PUT are one operation.',
    body: {
      ...configuration,
      wrapper: 'configuration',
      validate: validateConfiguration,
      mode: 'update',
      maxBytes: CONFIGURATION_BYTES_MAX,
    },
    answer: { ...configuration, description: 'The whole configuration.' },
    run: ({ configuration: room }, caller, { body }) => updateConfiguration(room, caller, body),
  }),
  read<HasConfiguration>({
    id: 'listTrustedProviders',
    method: 'GET',
    path: '/v0/trusted_providers',
    tag,
    scopes: ['read'],
    summary: 'List identity providers with their marks of trust',
    answer: { ...trusted, description: 'Every entry of the configuration.' },
    isSeveral: true,
    run: ({ configuration: room }) => listTrustedProviders(room),
  }),
  write<HasConfiguration, TrustedProviderValues>({
    ...placed('updateTrustedProvider'),
    tag,
    params: entryParams,
    scopes: [],
    summary: 'Trust an identity provider with e-mail addresses, or no longer',
    description:
      'The mark is for the provider that the entry leads to now; an entry that is changed to lead to another one loses it.',
    body: {
      ...trusted,
      wrapper: 'trusted_provider',
      validate: validateTrustedProvider,
      mode: 'update',
    },
    answer: { ...trusted, description: 'The entry.' },
    run: ({ configuration: room }, caller, { params, body }) =>
      setTrust(room, caller, entryIn(params), body),
  }),
  write<HasConfiguration, RelinkValues>({
    ...placed('updateRelink'),
    tag,
    params: entryParams,
    scopes: [],
    summary: 'Let users be linked anew, after the provider names them in another way',
    description:
      'Within seven days, the first account at this provider that signs in with the e-mail of such a user is linked in place of the former account.',
    body: { ...relinked, wrapper: 'relink', validate: validateRelink, mode: 'update' },
    answer: { ...relinked, description: 'Who may be linked anew.' },
    run: ({ configuration: room }, caller, { params, body }) =>
      relink(room, caller, entryIn(params), body),
  }),
  read<HasConfiguration>({
    id: 'listSamlMetadata',
    method: 'GET',
    path: '/v0/saml_metadata',
    tag,
    scopes: ['read'],
    summary: 'List SAML providers whose metadata are fetched from an address',
    answer: { ...metadata, description: 'Every entry that has a `metadata_url`.' },
    isSeveral: true,
    run: ({ configuration: room }) => listSamlMetadata(room),
  }),
  write<HasConfiguration, SamlMetadataValues>({
    ...placed('updateSamlMetadata'),
    tag,
    params: { id: idParam },
    scopes: [],
    summary: 'Fetch the metadata of a SAML provider, or make its former certificates void',
    description:
      'If the fetched document cannot be used, `problem` says why, and the last good metadata stay in force.',
    body: { ...metadata, wrapper: 'saml_metadata', validate: validateSamlMetadata, mode: 'update' },
    answer: { ...metadata, description: 'What is known now.' },
    run: ({ configuration: room }, caller, { params, body }) =>
      updateSamlMetadata(room, caller, params['id'] ?? '', body),
  }),
];

function entryIn({ kind = '', id = '' }: Readonly<Record<string, string>>): NamedEntry {
  return { kind, id };
}
