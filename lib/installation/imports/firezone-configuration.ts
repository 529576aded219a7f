// The configuration of a dump: validated as the API validates a change of it, but for the discovery
// documents, which are fetched at the first sign-in. Providers that are there stay unless the dump
// has one of their id.

import type { Config } from '../../../config/index.ts';
import {
  type Configuration,
  type Database,
  type OpenidConnectProvider,
  type Transaction,
} from '../../../models/index.ts';
import { addError, type Errors, hasNoErrors, isObject } from '../../kit/validation/validate.ts';
import { type FieldError, metadataError } from '../../kit/validation/messages.ts';
import {
  type ConfigurationValues,
  storedValues,
  validateConfiguration,
} from '../../domain/configuration/configuration.ts';
import { fixedSettingsOf } from '../../domain/configuration/fixed-settings.ts';
import { metadataDoubts } from '../../auth/saml/metadata-findings.ts';
import { namedEntities, parseSamlMetadata, samlMetadataError } from '../../auth/saml-metadata.ts';
import type { DumpRecord } from './firezone-dump.ts';
import { errorLines } from './run.ts';

/** Stands for a secret that the dump does not tell; no provider has it. */
const UNKNOWN_SECRET = 'to-be-set-anew';
/** What programs show in the place of a secret. */
const MASKED = /^(?:[*•.xX]+|\W*(?:redacted|hidden|masked|secret|filtered)\W*)$/i;

/** Validates the configuration of a dump and saves it where there is no error. */
export async function importConfiguration(
  { config, database }: { config: Config; database: Database },
  dumped: DumpRecord,
  transaction: Transaction,
): Promise<{ errors: string[]; notes: string[] }> {
  const notes: string[] = [];
  const { values, errors } = validateConfiguration(readable(dumped, notes), 'update');
  const fixed = fixedSettingsOf(config);
  for (const name of Object.keys(fixed) as (keyof typeof fixed)[]) {
    if (!Object.hasOwn(values, name) && errors[name] === undefined) continue;
    delete values[name];
    delete errors[name];
    notes.push(`configuration.${name} is fixed by the environment and was left as it is`);
  }
  validateMetadata(values, errors, notes);
  if (!hasNoErrors(errors)) return { errors: errorLines('configuration', errors), notes };
  const present = await lockConfiguration(database, transaction);
  const stored = storedValues(config, values, present);
  await present.update(
    {
      ...stored,
      openid_connect_providers: merged(
        present.openid_connect_providers,
        stored.openid_connect_providers,
      ),
      saml_identity_providers: merged(
        present.saml_identity_providers,
        stored.saml_identity_providers,
      ),
    },
    { transaction },
  );
  return { errors: [], notes };
}

/** The configuration, or a fresh one that goes with the transaction of an import that fails. */
async function lockConfiguration(
  { models: { Configuration: configurations } }: Database,
  transaction: Transaction,
): Promise<Configuration> {
  const present = await configurations.findOne({ transaction, lock: true });
  return present ?? configurations.create({}, { transaction });
}

/** The fields as a request would send them: what is not set is left out, masks are replaced. */
function readable(dumped: DumpRecord, notes: string[]): DumpRecord {
  const given = Object.entries(dumped).filter(([, value]) => value !== null);
  const fields: Record<string, unknown> = Object.fromEntries(given);
  const providers = fields['openid_connect_providers'];
  if (Array.isArray(providers))
    fields['openid_connect_providers'] = providers.map((provider: unknown) => {
      if (!isObject(provider)) return provider;
      const { client_secret: secret, id } = provider as Partial<OpenidConnectProvider>;
      if (typeof secret === 'string' && secret !== '' && !MASKED.test(secret)) return provider;
      notes.push(
        `openid_connect_providers: the dump hides the client_secret of ${String(id)}; set it anew, ` +
          'nobody can sign in through this provider before',
      );
      return { ...provider, client_secret: UNKNOWN_SECRET };
    });
  return fields;
}

function validateMetadata(
  { saml_identity_providers: saml = [] }: ConfigurationValues,
  errors: Errors,
  notes: string[],
) {
  if (errors['saml_identity_providers'] !== undefined) return;
  const found = saml.map((provider) => {
    const { id, metadata, entity_id: wanted } = provider;
    const entry: Record<string, FieldError[]> = {};
    const error = samlMetadataError(metadata, wanted);
    if (error !== null) {
      addError(entry, 'metadata', metadataError(error));
      return entry;
    }
    const { entityId, entityIds } = parseSamlMetadata(metadata, wanted);
    if (wanted === undefined && entityIds !== undefined) {
      // An entry never trusts a provider that nobody named.
      provider.entity_id = entityId;
      notes.push(
        `saml_identity_providers: ${id}: The metadata describe ${entityIds.length} identity ` +
          `providers: ${namedEntities(entityIds)}. Firezone sent people to the first one, so ` +
          `entity_id is now ${entityId}; change it if your people are at another one`,
      );
    }
    const read = parseSamlMetadata(metadata, provider.entity_id);
    for (const { text, fix } of metadataDoubts(read, provider.entity_id))
      notes.push(`saml_identity_providers: ${id}: ${text} ${fix}`);
    return entry;
  });
  if (found.some((entry) => !hasNoErrors(entry))) errors['saml_identity_providers'] = found;
}

function merged<Provider extends { readonly id: string }>(
  present: readonly Provider[],
  dumped: readonly Provider[] = [],
): Provider[] {
  const kept = present.filter(({ id }) => !dumped.some((provider) => provider.id === id));
  return [...kept, ...dumped];
}
