// The operations on devices. docs/api.md#devices.

import { type Operation, UUID_PARAM } from '../../kit/operations/operation.ts';
import { recordOperations } from '../../kit/operations/records.ts';
import { deviceFilters, type Devices, deviceSchema, validateDevice } from './devices.ts';

/** The operations on devices. */
export const deviceOperations: readonly Operation<{ readonly devices: Devices }>[] =
  recordOperations(
    {
      name: 'devices',
      wrapper: 'device',
      title: 'Device',
      fields: deviceSchema,
      validate: validateDevice,
      filters: deviceFilters,
      params: UUID_PARAM,
      isTriable: true,
    },
    ({ devices }) => devices,
  );
