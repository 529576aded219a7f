// The configuration: what may be sent, what is shown, and how it is changed.
// docs/api.md#the-configuration.

import type { Config } from '../../../config/index.ts';
import {
  type Configuration,
  configurationFields,
  forgetGroupsOfOthers,
  type SentOf,
  type Transaction,
} from '../../../models/index.ts';
import { defaultSettings } from '../devices/settings.ts';
import { entryList, withUnsent } from '../../kit/validation/fields.ts';
import { type Errors, type Validated, validatorOf } from '../../kit/validation/validate.ts';
import type { DocumentLimits } from '../../auth/documents.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import type { PolicyContext } from '../policy/trial.ts';
import { watchFailures } from '../policy/watch.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { schemaOf } from '../../kit/validation/resource.ts';
import { showerOf, type Shown } from '../../kit/records/shown.ts';
import { refuseErrors, saveChanges } from '../../kit/records/writes.ts';
import {
  type EffectiveConfiguration,
  effectiveConfiguration,
  type FixedSettings,
  refuseFixed,
} from '../../kit/records/effective-configuration.ts';
import { validateDocuments } from './provider-documents.ts';
import { forgetTrust, turnedElsewhere } from './provider-trust.ts';
import { standingProviders } from '../../auth/identity/standing-providers.ts';
import {
  logo,
  openidProviderSchema,
  type ProviderValues,
  samlProviderSchema,
} from './providers.ts';

/** Greatest body of the configuration, which holds logos and metadata. */
export const CONFIGURATION_BYTES_MAX = 8_000_000;

/** What the configuration needs of the server. */
export interface ConfigurationContext extends RecordContext {
  readonly services: RecordContext['services'] & {
    /** Bounds of fetches of providers' documents; those of documents.ts where they are left out. */
    readonly discoveryLimits?: DocumentLimits;
  };
}

/** What validates and describes the configuration. */
export const configurationSchema = schemaOf(configurationFields, {
  logo: ({ description }) => logo(description),
  'openid providers': ({ description }) => entryList(description, openidProviderSchema),
  'saml providers': ({ description }) => entryList(description, samlProviderSchema),
});

/** What the fields of the configuration yield. */
export type ConfigurationValues = Omit<SentOf<typeof configurationFields>, keyof ProviderValues> &
  ProviderValues;

/** Validates what was sent, or what variables say. */
export const validateConfiguration = validatorOf<ConfigurationValues>(configurationSchema);

/** Looks at the row under the lock, and says why it is not changed; nothing where it is. */
export type Unless = (present: Configuration, transaction: Transaction) => Errors | Promise<Errors>;

/** Changes the configuration, unless a look at the row under the lock says why not. */
export async function updateConfiguration(
  context: ConfigurationContext,
  caller: Caller,
  { values, errors }: Validated<ConfigurationValues>,
  unless: Unless = () => ({}),
): Promise<Shown> {
  const { services, recall, fixed } = context;
  const { Configuration: configurations } = services.database.models;
  const standing = await recall.configuration();
  refuseFixed(values, fixed, errors);
  await validateDocuments(services.database, values, standing, errors, services.discoveryLimits);
  const written = await context.writes.run(caller, {
    scopes: { configuration: true },
    check: async (transaction) => {
      refuseErrors(errors);
      const found = { transaction, lock: true, rejectOnEmpty: true } as const;
      const present = await configurations.findByPk(standing.id, found);
      refuseErrors(await unless(present, transaction));
      return present;
    },
    write: (transaction, present) => saveConfiguration(context, present, values, transaction),
  });
  return shownConfiguration(context, effectiveConfiguration(written, fixed));
}

/**
 * Writes what validated values change, and removes what providers said of groups that may not say
 * it any more; the audit trail names policy tests that fail because of it.
 */
export function saveConfiguration(
  context: PolicyContext,
  present: Configuration,
  values: ConfigurationValues,
  transaction: Transaction,
): Promise<Configuration> {
  const { config, database } = context.services;
  const changes = configurationChanges(config, present, values);
  const { openid_connect_providers: openid, saml_identity_providers: saml } = changes;
  const hasProviders = openid !== undefined || saml !== undefined;
  const before = effectiveConfiguration(present, context.fixed);
  const write = async (): Promise<Configuration> => {
    const written = await saveChanges(present, changes, transaction);
    if (!hasProviders) return written;
    const lists = effectiveConfiguration(written, context.fixed);
    const turned = await turnedElsewhere(database, before, lists, transaction);
    await forgetTrust(database, lists, transaction);
    await forgetGroupsOfOthers(database, standingProviders(lists, turned), transaction);
    return written;
  };
  const { default_action: action = present.default_action } = changes;
  // Without its entry a provider takes people out of groups.
  const isWatched = hasProviders || action !== present.default_action;
  return isWatched ? watchFailures(context, transaction, write) : write();
}

/** What validated values change of the row. */
export function configurationChanges(
  config: Config,
  present: Configuration,
  values: ConfigurationValues,
): FixedSettings {
  const { default_client_endpoint: endpoint, default_client_mtu: mtu } = values;
  const shown = defaultSettings(present, config);
  return {
    ...storedValues(config, values, present),
    // What is derived stays derived while it is sent back as it was read.
    ...(endpoint === shown.endpoint
      ? { default_client_endpoint: present.default_client_endpoint }
      : {}),
    ...(mtu === shown.mtu ? { default_client_mtu: present.default_client_mtu } : {}),
  };
}

/** The lists of providers as they were. */
type Providers = Pick<Configuration, 'openid_connect_providers' | 'saml_identity_providers'>;

const NONE: Providers = { openid_connect_providers: [], saml_identity_providers: [] };

/** Values in the form in which they are kept: no logo is an empty one, addresses are filled in. */
export function storedValues(
  { externalUrl }: Pick<Config, 'externalUrl'>,
  {
    logo: image,
    openid_connect_providers: openid,
    saml_identity_providers: saml,
    ...others
  }: ConfigurationValues,
  present: Providers = NONE,
): FixedSettings {
  const base_url = `${externalUrl}auth/saml`;
  const listed = saml?.map((provider) => ({ base_url, ...provider }));
  return {
    ...others,
    ...(image === undefined ? {} : { logo: image ?? {} }),
    ...(openid === undefined
      ? {}
      : {
          openid_connect_providers: withUnsent(
            openidProviderSchema,
            openid,
            present.openid_connect_providers,
          ),
        }),
    ...(listed === undefined
      ? {}
      : {
          saml_identity_providers: withUnsent(
            samlProviderSchema,
            listed,
            present.saml_identity_providers,
          ),
        }),
  };
}

/** The configuration as it is shown. */
export function shownConfiguration(
  { services }: { readonly services: { readonly config: Config } },
  row: EffectiveConfiguration,
): Shown {
  const defaults = defaultSettings(row, services.config);
  return shownFields(row, {
    default_client_allowed_ips: defaults.allowed_ips,
    default_client_dns: defaults.dns,
    default_client_endpoint: defaults.endpoint,
    default_client_mtu: defaults.mtu,
    default_client_persistent_keepalive: defaults.persistent_keepalive,
  });
}

const shownFields = showerOf(configurationFields);
