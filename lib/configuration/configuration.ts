// The configuration: what may be sent, what is shown, and its two operations.
// docs/api.md#the-configuration.

import type { Request, ServerRoute } from '@hapi/hapi';
import type { Config } from '../../config/index.ts';
import type {
  Configuration,
  Logo,
  OpenidConnectProvider,
  RuleAction,
  SamlIdentityProvider,
  Transaction,
} from '../../models/index.ts';
import { defaultSettings } from '../devices/settings.ts';
import { CONFIGURATION_BYTES_MAX, judgedBody, takesBody } from '../api/body.ts';
import {
  choice,
  entryList,
  flag,
  integer,
  mark,
  recordId,
  resource,
  timestamp,
  withUnsent,
} from '../judge/fields.ts';
import { type Faults, type Judged, judgeOf } from '../judge/judge.ts';
import { type ApiContext, route, type Shown, showTime } from '../api/routes.ts';
import { refuseFaults, saveChanges } from '../records/writes.ts';
import { settingFields } from '../devices/devices.ts';
import {
  type EffectiveConfiguration,
  effectiveConfiguration,
  type FixedSettings,
  refuseFixed,
} from '../records/effective-configuration.ts';
import { judgeDocuments } from './provider-documents.ts';
import { logo, openidConnectFields, samlFields } from './providers.ts';

/** The greatest number of a database's integer; it means that sessions never end, as 0 does. */
const INTEGER_MAX = 2_147_483_647;

const REPLACED =
  'Replaced whole; but the fields of an entry that are answered only where they were sent stay as they are for the same id, until null takes them away.';

/** The fields of the configuration. */
export const configurationFields = resource({
  id: recordId('Names the configuration; never changes.'),
  allow_unprivileged_device_management: flag(
    'False: unprivileged users only look at their devices in the portal.',
  ),
  allow_unprivileged_device_configuration: flag(
    'False: the portal takes only name, description and keys from unprivileged users.',
  ),
  default_action: choice('What happens to packets that no rule matches.', 'accept', 'drop'),
  default_client_allowed_ips: settingFields.allowed_ips(),
  default_client_dns: settingFields.dns(),
  // Null goes back to what EXTERNAL_URL and WIREGUARD_PORT say.
  default_client_endpoint: mark(settingFields.endpoint().allow(null), { neverNull: true }),
  default_client_mtu: settingFields.mtu(),
  default_client_persistent_keepalive: settingFields.persistent_keepalive(),
  disable_vpn_on_oidc_error: flag('Whether a refused refresh at the provider shuts a user out.'),
  local_auth_enabled: flag('Sign-in by password; API tokens are untouched by it.'),
  vpn_session_duration: integer('Seconds since the last sign-in; 0 never ends.', 0, INTEGER_MAX),
  logo: mark(logo('`{}`, a `url`, or `data` with its `type`.').allow(null), {
    neverNull: true,
  }),
  openid_connect_providers: entryList(REPLACED, openidConnectFields),
  saml_identity_providers: entryList(REPLACED, samlFields),
  inserted_at: timestamp('When the configuration was made.'),
  updated_at: timestamp('When the configuration was changed last.'),
});

/** What the fields of the configuration yield. */
export interface ConfigurationValues {
  allow_unprivileged_device_management?: boolean;
  allow_unprivileged_device_configuration?: boolean;
  default_action?: RuleAction;
  default_client_allowed_ips?: string[];
  default_client_dns?: string[];
  default_client_endpoint?: string | null;
  default_client_mtu?: number;
  default_client_persistent_keepalive?: number;
  disable_vpn_on_oidc_error?: boolean;
  local_auth_enabled?: boolean;
  vpn_session_duration?: number;
  logo?: Logo | null;
  openid_connect_providers?: OpenidConnectProvider[];
  saml_identity_providers?: SamlValues[];
}

/** A SAML provider before `base_url` is filled in. */
export type SamlValues = Omit<SamlIdentityProvider, 'base_url'> & { base_url?: string };

/** Judges what was sent, or what variables say. */
export const judgeConfiguration = judgeOf<ConfigurationValues>(configurationFields);

/** The operations on the configuration. */
export function configurationRoutes(context: ApiContext): ServerRoute[] {
  const path = '/v0/configuration';
  const body = takesBody({
    wrapper: 'configuration',
    judge: judgeConfiguration,
    mode: 'update',
    maxBytes: CONFIGURATION_BYTES_MAX,
  });
  return [
    route('GET', path, {}, async () => ({
      data: shownConfiguration(context, await context.recall.configuration()),
    })),
    route(['PATCH', 'PUT'], path, body, async (request) => ({
      data: await updateConfiguration(context, request, judgedBody(request)),
    })),
  ];
}

/**
 * Changes the configuration. `unless` looks at the row under the lock, and may refuse what was made
 * of an older one.
 */
export async function updateConfiguration(
  context: ApiContext,
  request: Request,
  { values, faults }: Judged<ConfigurationValues>,
  unless: (present: Configuration) => Faults = () => ({}),
): Promise<Shown> {
  const { services, recall, fixed } = context;
  const { Configuration: configurations } = services.database.models;
  const standing = await recall.configuration();
  refuseFixed(values, fixed, faults);
  await judgeDocuments(services.database, values, standing, faults, services.discoveryLimits);
  const written = await context.writes.run(request, {
    scopes: { configuration: true },
    judge: async (transaction) => {
      refuseFaults(faults);
      const found = { transaction, lock: true, rejectOnEmpty: true } as const;
      const present = await configurations.findByPk(standing.id, found);
      refuseFaults(unless(present));
      return present;
    },
    write: (transaction, present) => save(context, present, values, transaction),
  });
  return shownConfiguration(context, effectiveConfiguration(written, fixed));
}

function save(
  context: ApiContext,
  present: Configuration,
  values: ConfigurationValues,
  transaction: Transaction,
): Promise<Configuration> {
  const changes = configurationChanges(context.services.config, present, values);
  return saveChanges(present, changes, transaction);
}

/** What judged values change of the row. */
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
            openidConnectFields,
            openid,
            present.openid_connect_providers,
          ),
        }),
    ...(listed === undefined
      ? {}
      : {
          saml_identity_providers: withUnsent(samlFields, listed, present.saml_identity_providers),
        }),
  };
}

/** The configuration as it is shown. */
export function shownConfiguration(
  { services }: { readonly services: { readonly config: Config } },
  row: EffectiveConfiguration,
): Shown {
  const defaults = defaultSettings(row, services.config);
  return {
    id: row.id,
    allow_unprivileged_device_management: row.allow_unprivileged_device_management,
    allow_unprivileged_device_configuration: row.allow_unprivileged_device_configuration,
    default_action: row.default_action,
    default_client_allowed_ips: defaults.allowed_ips,
    default_client_dns: defaults.dns,
    default_client_endpoint: defaults.endpoint,
    default_client_mtu: defaults.mtu,
    default_client_persistent_keepalive: defaults.persistent_keepalive,
    disable_vpn_on_oidc_error: row.disable_vpn_on_oidc_error,
    local_auth_enabled: row.local_auth_enabled,
    vpn_session_duration: row.vpn_session_duration,
    logo: row.logo,
    openid_connect_providers: row.openid_connect_providers,
    saml_identity_providers: row.saml_identity_providers,
    inserted_at: showTime(row.inserted_at),
    updated_at: showTime(row.updated_at),
  };
}
