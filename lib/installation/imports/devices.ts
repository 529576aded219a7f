// Devices of an import: validated as the API validates those that it makes, in order, each as if
// those before it were there. Only the limit of devices per user does not count here.

import type { Config } from '../../../config/index.ts';
import type { Database, Transaction } from '../../../models/index.ts';
import { hasNoErrors, validatorOf } from '../../kit/validation/validate.ts';
import { DeviceChecks, type DeviceValues } from '../../domain/devices/checks.ts';
import { deviceSchema, newDeviceRow } from '../../domain/devices/devices.ts';
import { errorLines, ERRORS_MAX, type FieldPlaces, type ImportedDevice } from './run.ts';

/** Devices that are validated at once. */
const BATCH = 200;

/** A device of a file. */
export interface WantedDevice {
  /** Where in the file. */
  readonly place: string;
  /** Where the file has its fields. Left out: the file names them as the API does. */
  readonly places?: FieldPlaces;
  /** As the API takes them. */
  readonly fields: object;
  /** Columns that the API would not set, such as the id. */
  readonly columns: { readonly id?: string; readonly inserted_at?: Date };
}

/** What importing devices needs. */
export interface DeviceImport {
  readonly config: Config;
  readonly database: Database;
  /** The gateway's public key, which no device may have; empty where there is none yet. */
  readonly serverPublicKey: string;
}

/**
 * Makes the devices that have no error, and names them to `onMade`; returns the errors of the
 * others. It stops when there are more of them than are named.
 */
export async function importDevices(
  services: DeviceImport,
  wanted: readonly WantedDevice[],
  transaction: Transaction,
  onMade: (device: ImportedDevice) => void = () => undefined,
): Promise<string[]> {
  const config = { ...services.config, maxDevicesPerUser: Number.MAX_SAFE_INTEGER };
  const checks = new DeviceChecks({ ...services, config });
  const validateFields = validatorOf<DeviceValues>(deviceSchema);
  const errors: string[] = [];
  // Read once: what each batch would read grows with those before it.
  const standing = wanted.length === 0 ? undefined : await checks.standing(transaction);
  for (let at = 0; at < wanted.length && errors.length <= ERRORS_MAX;) {
    const batch = wanted.slice(at, at + BATCH);
    const inputs = batch.map(({ fields }) => validateFields(fields, 'create'));
    const checked = await checks.forCreate(inputs, transaction, standing);
    const rows = [];
    for (const [i, { errors: found, row }] of checked.entries()) {
      const { place, places, columns } = batch[i] as WantedDevice;
      if (!hasNoErrors(found)) errors.push(...errorLines(place, found, places));
      // The id keeps its place before the preshared key, which is sealed for it.
      else {
        rows.push({ ...newDeviceRow(row, inputs[i]?.values ?? {}), ...columns });
        onMade({ name: row.name, isNamed: inputs[i]?.values.name !== undefined, place });
      }
    }
    if (rows.length > 0)
      await services.database.models.Device.bulkCreate(rows, { transaction, validate: false });
    at += checked.length;
  }
  return errors;
}
