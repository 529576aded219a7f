// The devices table: one machine of a user, a peer of the data plane. The five settings hold the
// device's own values; whether those or the configuration's defaults show is decided by their
// flags when they are read, never copied. api.md, sections 1 and 5.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
  type NonAttribute,
} from 'sequelize';
import {
  addressColumn,
  addressKeyColumn,
  encryptedColumn,
  idColumn,
  jsonColumn,
  nullable,
  type TableContext,
  timeColumn,
  timestampColumns,
  timestamps,
} from './columns.ts';
import type { DeviceStatus } from './device-status.ts';
import type { User } from './user.ts';

/** One device. */
export class Device extends Model<InferAttributes<Device>, InferCreationAttributes<Device>> {
  declare id: CreationOptional<string>;
  declare user_id: string;
  /** Unique per owner. */
  declare name: string;
  declare description: CreationOptional<string | null>;
  /** The client's key, base64 of 32 bytes; unique. */
  declare public_key: string;
  /** Base64 of 32 bytes, encrypted in the database. */
  declare preshared_key: string;
  /** Canonical text; null while IPv4 is off. Setting it sets `ipv4_key`. */
  declare ipv4: CreationOptional<string | null>;
  /** Eight hex digits, unique; set through `ipv4` only. */
  declare ipv4_key: CreationOptional<string | null>;
  /** RFC 5952; null while IPv6 is off. Setting it sets `ipv6_key`. */
  declare ipv6: CreationOptional<string | null>;
  /** 32 hex digits, unique; set through `ipv6` only. */
  declare ipv6_key: CreationOptional<string | null>;
  declare use_default_allowed_ips: CreationOptional<boolean>;
  declare use_default_dns: CreationOptional<boolean>;
  declare use_default_endpoint: CreationOptional<boolean>;
  declare use_default_mtu: CreationOptional<boolean>;
  declare use_default_persistent_keepalive: CreationOptional<boolean>;
  /** The device's own value, kept while its flag hides it; null when none was ever given. */
  declare allowed_ips: CreationOptional<string[] | null>;
  /** As `allowed_ips`. */
  declare dns: CreationOptional<string[] | null>;
  /** As `allowed_ips`. */
  declare endpoint: CreationOptional<string | null>;
  /** As `allowed_ips`. */
  declare mtu: CreationOptional<number | null>;
  /** As `allowed_ips`; seconds. */
  declare persistent_keepalive: CreationOptional<number | null>;
  /** When an administrator switched the device off; null while it is on. */
  declare disabled_at: CreationOptional<Date | null>;
  /** From when on it passes no packet; null: never. */
  declare expires_at: CreationOptional<Date | null>;
  /** What the client's file was made with, 64 hex digits; written by `noteClientFile` alone. */
  declare client_file_sha256: CreationOptional<string | null>;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
  /** Present when the query included it. */
  declare user?: NonAttribute<User>;
  /** Present when the query included it; null until the device was seen. */
  declare status?: NonAttribute<DeviceStatus | null>;
}

/** Binds the table to one database. */
export function initDevice({ sequelize, keyring }: TableContext): typeof Device {
  return class extends Device {}.init(
    {
      id: idColumn(),
      user_id: { type: DataTypes.CHAR(36), allowNull: false },
      name: { type: DataTypes.STRING(255), allowNull: false },
      description: nullable(DataTypes.STRING(2048)),
      public_key: { type: DataTypes.CHAR(44), allowNull: false },
      preshared_key: encryptedColumn(keyring, 'devices', 'preshared_key'),
      ipv4: addressColumn('ipv4', 'ipv4_key', 4),
      ipv4_key: addressKeyColumn(4),
      ipv6: addressColumn('ipv6', 'ipv6_key', 6),
      ipv6_key: addressKeyColumn(6),
      use_default_allowed_ips: flag(),
      use_default_dns: flag(),
      use_default_endpoint: flag(),
      use_default_mtu: flag(),
      use_default_persistent_keepalive: flag(),
      allowed_ips: jsonColumn('allowed_ips'),
      dns: jsonColumn('dns'),
      endpoint: nullable(DataTypes.TEXT),
      mtu: nullable(DataTypes.INTEGER),
      persistent_keepalive: nullable(DataTypes.INTEGER),
      disabled_at: timeColumn(),
      expires_at: timeColumn(),
      client_file_sha256: nullable(DataTypes.CHAR(64)),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'device', tableName: 'devices', ...timestamps },
  );
}

function flag(): { type: typeof DataTypes.BOOLEAN; allowNull: false; defaultValue: true } {
  return { type: DataTypes.BOOLEAN, allowNull: false, defaultValue: true };
}
