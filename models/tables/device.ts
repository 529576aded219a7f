// The devices table: one machine of a user, a peer of the data plane. Its columns are those of
// fields/device.ts. docs/api.md#devices.

import type { NonAttribute } from 'sequelize';
import { type DeviceColumns, deviceFields, type NewDeviceColumns } from '../fields/device.ts';
import { type TableContext, timestamps } from './columns.ts';
import type { DeviceStatus } from './device-status.ts';
import { columnsFrom, modelOf } from './from-fields.ts';
import type { User } from './user.ts';

/** One device; its columns are properties of it. */
export class Device extends modelOf<DeviceColumns, NewDeviceColumns>() {
  /** Present when the query included it. */
  declare user?: NonAttribute<User>;
  /** Present when the query included it; null until the device was seen. */
  declare status?: NonAttribute<DeviceStatus | null>;
}

/** Binds the table to one database. */
export function initDevice(context: TableContext): typeof Device {
  const { sequelize } = context;
  return class extends Device {}.init(columnsFrom(deviceFields, 'devices', context), {
    sequelize,
    modelName: 'device',
    tableName: 'devices',
    ...timestamps,
  });
}
