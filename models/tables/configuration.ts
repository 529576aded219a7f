// The configurations table: one row that holds the settings administrators change while the
// gateway runs. It never holds more, a unique column sees to that. api.md, sections 1 and 7.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import {
  encryptedJsonColumn,
  idColumn,
  jsonColumn,
  nullable,
  type TableContext,
  timestampColumns,
  timestamps,
} from './columns.ts';
import type { RuleAction } from './rule.ts';

/** An OpenID provider, as administrators send it. */
export interface OpenidConnectProvider {
  id: string;
  label: string;
  client_id: string;
  client_secret: string;
  discovery_document_uri: string;
  auto_create_users: boolean;
  scope: string;
  response_type: string;
  redirect_uri: string | null;
  /** The claim that is read as the e-mail address; left out: `email`. */
  email_claim?: 'email' | 'preferred_username' | 'upn';
  /** Only who has this claim is let in. */
  required_claim?: { name: string; value: string };
}

/** A SAML provider, as administrators send it. */
export interface SamlIdentityProvider {
  id: string;
  label: string;
  auto_create_users: boolean;
  /** May be empty where there is an address and the environment fixes the entry. */
  metadata: string;
  /** Where the provider's metadata are fetched; left out: nowhere. */
  metadata_url?: string;
  base_url: string;
  sign_requests: boolean;
  sign_metadata: boolean;
  signed_assertion_in_resp: boolean;
  signed_envelopes_in_resp: boolean;
  /** The attribute that is read as the e-mail address; left out: what is known to be one. */
  email_attribute?: string;
  /** Admits only who has it; everybody where it is left out. */
  required_attribute?: { name: string; value: string };
}

/** The logo: an address, or data with its type, or nothing at all. */
export interface Logo {
  url?: string | null;
  data?: string | null;
  type?: string | null;
}

/** The one configuration. */
export class Configuration extends Model<
  InferAttributes<Configuration>,
  InferCreationAttributes<Configuration>
> {
  declare id: CreationOptional<string>;
  /** Always 1 and unique: the reason why there is only one row. */
  declare singleton: CreationOptional<number>;
  declare allow_unprivileged_device_management: CreationOptional<boolean>;
  declare allow_unprivileged_device_configuration: CreationOptional<boolean>;
  /** What happens to a packet that no rule matches. */
  declare default_action: CreationOptional<RuleAction>;
  declare default_client_allowed_ips: CreationOptional<string[]>;
  declare default_client_dns: CreationOptional<string[]>;
  /** Null until set: derived from EXTERNAL_URL and WIREGUARD_PORT when read. */
  declare default_client_endpoint: CreationOptional<string | null>;
  /** Null until set: WIREGUARD_MTU when read. */
  declare default_client_mtu: CreationOptional<number | null>;
  /** Seconds. */
  declare default_client_persistent_keepalive: CreationOptional<number>;
  declare disable_vpn_on_oidc_error: CreationOptional<boolean>;
  declare local_auth_enabled: CreationOptional<boolean>;
  /** Seconds; 0 never ends. */
  declare vpn_session_duration: CreationOptional<number>;
  declare logo: CreationOptional<Logo>;
  /** Encrypted as a whole: it holds client secrets. */
  declare openid_connect_providers: CreationOptional<OpenidConnectProvider[]>;
  declare saml_identity_providers: CreationOptional<SamlIdentityProvider[]>;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
}

/** Binds the table to one database. */
export function initConfiguration({ sequelize, keyring }: TableContext): typeof Configuration {
  const flag = (defaultValue: boolean) => ({
    type: DataTypes.BOOLEAN,
    allowNull: false,
    defaultValue,
  });
  return class extends Configuration {}.init(
    {
      id: idColumn(),
      singleton: { type: DataTypes.TINYINT, allowNull: false, defaultValue: 1 },
      allow_unprivileged_device_management: flag(true),
      allow_unprivileged_device_configuration: flag(true),
      default_action: { type: DataTypes.STRING(16), allowNull: false, defaultValue: 'accept' },
      default_client_allowed_ips: jsonColumn('default_client_allowed_ips', ['0.0.0.0/0', '::/0']),
      default_client_dns: jsonColumn('default_client_dns', ['1.1.1.1', '1.0.0.1']),
      default_client_endpoint: nullable(DataTypes.TEXT),
      default_client_mtu: nullable(DataTypes.INTEGER),
      default_client_persistent_keepalive: integer(25),
      disable_vpn_on_oidc_error: flag(false),
      local_auth_enabled: flag(true),
      vpn_session_duration: integer(0),
      logo: jsonColumn('logo', {}),
      openid_connect_providers: encryptedJsonColumn(
        keyring,
        'configurations',
        'openid_connect_providers',
        [],
      ),
      saml_identity_providers: jsonColumn('saml_identity_providers', []),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'configuration', tableName: 'configurations', ...timestamps },
  );
}

function integer(defaultValue: number) {
  return { type: DataTypes.INTEGER, allowNull: false, defaultValue };
}
