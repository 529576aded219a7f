// The device_statuses table: what the gateways saw of a device last. It is observed, not
// configured: written by `recordStatus` alone, without change rows, and it never moves the
// device's `updated_at`. docs/state.md#status.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { nullable, type TableContext, timeColumn } from './columns.ts';

/** The last observation of one device. */
export class DeviceStatus extends Model<
  InferAttributes<DeviceStatus>,
  InferCreationAttributes<DeviceStatus>
> {
  declare device_id: string;
  /** The gateway that saw the latest handshake. */
  declare gateway_id: string;
  declare latest_handshake: CreationOptional<Date | null>;
  /** The handshake with which it came to that gateway from another, or at all. */
  declare arrived_at: CreationOptional<Date | null>;
  /** Outer source address, without port. */
  declare remote_ip: CreationOptional<string | null>;
  declare remote_port: CreationOptional<number | null>;
  /** The address of the gateway at which it was heard; null where that is not known. */
  declare own_ip: CreationOptional<string | null>;
  /** Total over all gateways, received from the device. */
  declare rx_bytes: CreationOptional<number>;
  /** Total over all gateways, sent to the device. */
  declare tx_bytes: CreationOptional<number>;
  /** When a gateway last reported. */
  declare updated: Date;
}

/** Binds the table to one database. */
export function initDeviceStatus({ sequelize }: TableContext): typeof DeviceStatus {
  return class extends DeviceStatus {}.init(
    {
      device_id: { type: DataTypes.CHAR(36), primaryKey: true },
      gateway_id: { type: DataTypes.CHAR(36), allowNull: false },
      latest_handshake: timeColumn(),
      arrived_at: timeColumn(),
      remote_ip: nullable(DataTypes.STRING(45)),
      remote_port: nullable(DataTypes.INTEGER),
      own_ip: nullable(DataTypes.STRING(45)),
      rx_bytes: { type: DataTypes.BIGINT, allowNull: false, defaultValue: 0 },
      tx_bytes: { type: DataTypes.BIGINT, allowNull: false, defaultValue: 0 },
      updated: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'device_status', tableName: 'device_statuses', timestamps: false },
  );
}
