// What the audit trail tells of each table: fields by the names that the API gives them, derived
// columns left out, secrets only by the fact that they changed. design.md, section 7.

import type { Model } from 'sequelize';
import type { Configuration } from './configuration.ts';
import type { Rule } from './rule.ts';
import type { AuditedTable, FieldReader } from '../storage/auditing.ts';

/** Stands for a client secret. */
const HIDDEN = '(hidden)';

/** The audited tables; all that are tracked. */
export const auditedTables = {
  User: {
    kind: 'user',
    fields: {
      ...plain('email', 'role', 'disabled_at', 'disabled_by', 'disabled_provider'),
      password: stored('password_hash'),
    },
  },
  Device: {
    kind: 'device',
    fields: {
      ...plain('user_id', 'name', 'description', 'public_key', 'ipv4', 'ipv6'),
      ...plain('use_default_allowed_ips', 'use_default_dns', 'use_default_endpoint'),
      ...plain('use_default_mtu', 'use_default_persistent_keepalive'),
      ...plain('allowed_ips', 'dns', 'endpoint', 'mtu', 'persistent_keepalive'),
      ...plain('disabled_at', 'expires_at'),
      preshared_key: stored('preshared_key'),
    },
  },
  Rule: {
    kind: 'rule',
    fields: {
      ...plain('action', 'destination', 'port_type', 'user_id'),
      port_range: { read: (row) => portRange(row as Rule) },
    },
  },
  Configuration: {
    kind: 'configuration',
    fields: {
      ...plain('allow_unprivileged_device_management', 'allow_unprivileged_device_configuration'),
      ...plain('default_action'),
      ...plain('default_client_allowed_ips', 'default_client_dns', 'default_client_endpoint'),
      ...plain('default_client_mtu', 'default_client_persistent_keepalive'),
      ...plain('disable_vpn_on_oidc_error', 'local_auth_enabled', 'vpn_session_duration'),
      ...plain('logo', 'saml_identity_providers'),
      openid_connect_providers: { read: (row) => withoutSecrets(row as Configuration) },
      client_secret: { secret: (row) => clientSecrets(row as Configuration) },
    },
  },
  ApiToken: { kind: 'token', fields: plain('user_id', 'name', 'expires_at') },
  Secret: { kind: 'secret', fields: { value: stored('value') } },
  Identity: {
    kind: 'identity',
    fields: plain('user_id', 'kind', 'provider_id', 'issuer', 'subject', 'relink_until'),
  },
  TrustedProvider: {
    kind: 'trusted_provider',
    fields: plain('kind', 'provider_id', 'authority'),
  },
} as const satisfies Readonly<Record<string, AuditedTable>>;

function plain(...names: string[]): Record<string, FieldReader> {
  return Object.fromEntries(
    names.map((name) => [name, { read: (row: Model): unknown => row.get(name) }]),
  );
}

/** A secret as it is kept, hashed or sealed: equal texts are equal secrets. */
function stored(column: string): FieldReader {
  return { secret: (row) => row.getDataValue(column as never) };
}

function portRange({ port_start: start, port_end: end }: Rule): string | null {
  if (start === null || end === null) return null;
  return start === end ? String(start) : `${start} - ${end}`;
}

function withoutSecrets(row: Configuration): object[] {
  return row.openid_connect_providers.map((provider) => ({ ...provider, client_secret: HIDDEN }));
}

function clientSecrets(row: Configuration): string[][] | null {
  const secrets = row.openid_connect_providers.map(({ id, client_secret }) => [id, client_secret]);
  return secrets.length === 0 ? null : secrets;
}
