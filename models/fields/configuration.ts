// The fields of the configuration: the settings that administrators change while the gateway runs.
// There is one row. docs/api.md#the-configuration.

import { clientSettings } from './client-settings.ts';
import { limitField, quotaField } from './limits.ts';
import { type ColumnsOf, fieldsOf, holds, type NewColumnsOf } from './field.ts';
import type { OpenidConnectProvider, SamlIdentityProvider } from './provider.ts';

/** The logo: an address, or data with its type, or nothing at all. */
export interface Logo {
  url?: string | null;
  data?: string | null;
  type?: string | null;
}

/** The greatest number of a database's integer; it means that sessions never end, as 0 does. */
const INTEGER_MAX = 2_147_483_647;

const REPLACED =
  'Replaced whole; but the fields of an entry that are answered only where they were sent stay as they are for the same id, until null takes them away.';

/** The table of the record. */
export const configurationFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    api: { kind: 'id', description: 'Names the configuration; never changes.', readOnly: true },
  },
  // Always 1 and unique: the reason why there is only one row.
  singleton: { column: { kind: 'tiny integer', default: 1 }, audit: 'nothing' },
  // Whether WIREGUARD_TUN=auto may take sockets: no version without them has used this database.
  auto_sockets: { column: { kind: 'flag', default: false }, audit: 'nothing' },
  allow_unprivileged_device_management: {
    column: { kind: 'flag', default: true },
    audit: 'value',
    api: {
      kind: 'flag',
      description: 'False: unprivileged users only look at their devices in the portal.',
    },
  },
  allow_unprivileged_device_configuration: {
    column: { kind: 'flag', default: true },
    audit: 'value',
    api: {
      kind: 'flag',
      description:
        'False: the portal takes only name, description and keys from unprivileged users.',
    },
  },
  default_action: {
    column: { kind: 'text', size: 16, words: ['accept', 'drop'], default: 'accept' },
    audit: 'value',
    obeyed: true,
    api: { kind: 'choice', description: 'What happens to packets that no rule matches.' },
  },
  default_client_allowed_ips: {
    column: { kind: 'texts', default: ['0.0.0.0/0', '::/0'] },
    audit: 'value',
    api: clientSettings.allowed_ips,
  },
  default_client_dns: {
    column: { kind: 'texts', default: ['1.1.1.1', '1.0.0.1'] },
    audit: 'value',
    api: clientSettings.dns,
  },
  // Null goes back to what EXTERNAL_URL and WIREGUARD_PORT say.
  default_client_endpoint: {
    column: { kind: 'long text', nullable: true },
    audit: 'value',
    api: { ...clientSettings.endpoint, neverNull: true },
  },
  // Null until set: WIREGUARD_MTU when it is read.
  default_client_mtu: {
    column: { kind: 'integer', nullable: true },
    audit: 'value',
    obeyed: true,
    api: { ...clientSettings.mtu, nullable: false },
  },
  default_client_persistent_keepalive: {
    column: { kind: 'integer', default: 25 },
    audit: 'value',
    api: clientSettings.persistent_keepalive,
  },
  default_client_include_routes: {
    column: { kind: 'flag', default: false },
    audit: 'value',
    api: {
      kind: 'flag',
      description:
        'Whether the files of devices name the networks behind other devices among their allowed IPs.',
    },
  },
  default_limit_down: limitField(
    'The most that each device gets, in bits per second; null: no limit.',
  ),
  default_limit_up: limitField(
    'The most that each device sends, in bits per second; null: no limit.',
  ),
  default_quota: quotaField(
    'The most that all devices of a user get and send in a calendar month (UTC), in bytes; null: no quota.',
  ),
  disable_vpn_on_oidc_error: {
    column: { kind: 'flag', default: false },
    audit: 'value',
    api: {
      kind: 'flag',
      description: 'Whether a refused refresh at the provider disables the user.',
    },
  },
  local_auth_enabled: {
    column: { kind: 'flag', default: true },
    audit: 'value',
    api: {
      kind: 'flag',
      description: 'Sign-in by password; API tokens are untouched by it.',
    },
  },
  vpn_session_duration: {
    column: { kind: 'integer', default: 0 },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'integer',
      description: 'Seconds since the last sign-in; 0 never ends.',
      min: 0,
      max: INTEGER_MAX,
    },
  },
  logo: {
    column: { kind: 'json', holds: holds<Logo>(), default: {} },
    audit: 'value',
    api: {
      kind: 'logo',
      description: '`{}`, a `url`, or `data` with its `type`.',
      nullable: true,
      neverNull: true,
    },
  },
  openid_connect_providers: {
    column: { kind: 'sealed json', holds: holds<OpenidConnectProvider[]>(), default: [] },
    audit: 'own',
    api: { kind: 'openid providers', description: REPLACED },
  },
  saml_identity_providers: {
    column: { kind: 'json', holds: holds<SamlIdentityProvider[]>(), default: [] },
    audit: 'value',
    api: { kind: 'saml providers', description: REPLACED },
  },
  inserted_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the configuration was made.', readOnly: true },
  },
  updated_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the configuration was changed last.', readOnly: true },
  },
});

/** The columns of the configuration. */
export type ConfigurationColumns = ColumnsOf<typeof configurationFields>;

/** The columns of a configuration that is to be made. */
export type NewConfigurationColumns = NewColumnsOf<typeof configurationFields>;
