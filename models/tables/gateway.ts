// The gateways table: which gateways serve this database, and how far each has come. Written by
// the gateways about themselves, without change rows. docs/state.md#several-gateways.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { timeColumn, type TableContext } from './columns.ts';

/** One gateway process. */
export class Gateway extends Model<InferAttributes<Gateway>, InferCreationAttributes<Gateway>> {
  /** Chosen by the gateway, the same after a restart. */
  declare id: string;
  declare name: string;
  declare started_at: Date;
  declare seen_at: Date;
  /** The revision that its data plane obeys. */
  declare applied_revision: CreationOptional<number>;
  /** The least TAI64N time that it may send next (docs/packets.md#clocks); null: any. */
  declare clock_floor: CreationOptional<Date | null>;
  /** SHA-256 of the API token that its environment asks for; null: of none. */
  declare bootstrap_sha256: CreationOptional<string | null>;
  /** Its settings that are no secret, JSON; null: it tells none. */
  declare settings: CreationOptional<string | null>;
  /** The key that devices know it by, base64. */
  declare public_key: CreationOptional<string | null>;
  /** The last migration that it knows; null: it is of 1.0.0, which looks for no later ones. */
  declare schema_step: CreationOptional<string | null>;
  /** How packets of devices leave it: `tun`, `sockets`, `none`; null: it does not say. */
  declare egress: CreationOptional<'tun' | 'sockets' | 'none' | null>;
  /** Why that is so; null: nothing is to be said. */
  declare egress_reason: CreationOptional<string | null>;
  /** The last backup of the database that was read back; every gateway has the same. */
  declare last_backup_at: CreationOptional<Date | null>;
}

/** Binds the table to one database. */
export function initGateway({ sequelize }: TableContext): typeof Gateway {
  return class extends Gateway {}.init(
    {
      id: { type: DataTypes.CHAR(36), primaryKey: true },
      name: { type: DataTypes.STRING(255), allowNull: false },
      started_at: { type: DataTypes.DATE(6), allowNull: false },
      seen_at: { type: DataTypes.DATE(6), allowNull: false },
      applied_revision: { type: DataTypes.BIGINT, allowNull: false, defaultValue: 0 },
      clock_floor: timeColumn(),
      bootstrap_sha256: { type: DataTypes.CHAR(64), allowNull: true },
      settings: { type: DataTypes.TEXT, allowNull: true },
      public_key: { type: DataTypes.CHAR(44), allowNull: true },
      schema_step: { type: DataTypes.STRING(64), allowNull: true },
      egress: { type: DataTypes.STRING(16), allowNull: true },
      egress_reason: { type: DataTypes.TEXT, allowNull: true },
      last_backup_at: timeColumn(),
    },
    { sequelize, modelName: 'gateway', tableName: 'gateways', timestamps: false },
  );
}
