// Devices: what may be sent, what is shown, and what the operations do. Checks that need the
// database are in checks.ts. docs/api.md#devices.

import { randomBytes } from 'node:crypto';
import type Joi from 'joi';
import {
  type ApiField,
  type Database,
  type Device,
  deviceFields,
  type DeviceRow,
  type NewDeviceColumns,
  newId,
  readDevices,
  removeDevices,
  rowColumns,
  type Selection,
  type Transaction,
} from '../../../models/index.ts';
import {
  hasKeySize,
  isCanonicalBase64,
  isLowOrderKey,
  KEY_BYTES,
} from '../../kit/validation/keys.ts';
import { storedRoutes } from './routes.ts';
import { isHeld, ownSwitchValues, type Switches, switchValues } from './switches.ts';
import { defaultSettings, type SettingValues, shownSettings, storedSettings } from './settings.ts';
import { ApiError } from '../../kit/http/errors.ts';
import {
  choice,
  idFilter,
  isUuid,
  mark,
  networkList,
  text,
  type TextSchema,
} from '../../kit/validation/fields.ts';
import { hasNoErrors, type Validated, validatorOf } from '../../kit/validation/validate.ts';
import { columnsSent, schemaOf } from '../../kit/validation/resource.ts';
import type { Caller } from '../../kit/process/caller.ts';
import {
  type Collection,
  lockRecord,
  OBSERVED_KEEP_MS,
  type RecordContext,
  selectOwner,
  type Selected,
} from '../../kit/records/collection.ts';
import { oneOf } from '../../kit/validation/messages.ts';
import { showerOf, type Shown, showTimeOrNull } from '../../kit/records/shown.ts';
import { type JointWork, refusalFor, refuseErrors, saveChanges } from '../../kit/records/writes.ts';
import { devicesByFile } from './old-files.ts';
import { type CheckServices, DeviceChecks, type DeviceValues, type FoundRow } from './checks.ts';

const KEY_CHARACTERS = 44;
const TRUTHS = ['true', 'false'];

/** What validates and describes a device. */
export const deviceSchema = schemaOf(deviceFields, {
  key,
  networks: ({ description }) => networkList(description),
  'public key': (field) => key(field).custom(refuse(isLowOrderKey), 'no point of low order'),
});

/** Reads a filter that no device answers by itself: a slip must not look like an empty list. */
function isTrue(name: string, value: string): boolean {
  if (!TRUTHS.includes(value))
    throw new ApiError('unprocessable', { errors: { [name]: [oneOf(TRUTHS)] } });
  return value === 'true';
}

/** By what a list of devices can be filtered. */
export const deviceFilters = {
  user_id: { schema: idFilter('Only devices of this user.'), select: selectOwner },
  file_out_of_date: {
    schema: choice(
      'Only devices whose client’s file, as it was made last, is out of date, or is not.',
      ...TRUTHS,
    ),
    select: (value: string) => ({ isFileOld: isTrue('file_out_of_date', value) }),
  },
};

/** What a device is made of. */
type NewDevice = NewDeviceColumns & Pick<Device, 'id'>;

/** What a device was seen to do; nothing yet, when it is made. */
const UNSEEN = {
  gateway_id: null,
  latest_handshake: null,
  remote_ip: null,
  remote_port: null,
  rx_bytes: null,
  tx_bytes: null,
};

/** Validates the fields of a device by themselves. */
export const validateDevice = validatorOf<DeviceValues>(deviceSchema);
const shownDevice = showerOf(deviceFields);

/** What devices need of the server. */
export interface DeviceContext extends RecordContext {
  readonly services: CheckServices;
}

/** The devices of one server. */
export class Devices implements Collection<DeviceValues> {
  readonly name = 'devices';
  readonly sources = [{ table: 'devices' }, { table: 'configurations' }] as const;
  readonly keepMs = OBSERVED_KEEP_MS;
  readonly filters = deviceFilters;
  readonly validate = validateDevice;
  readonly #context: DeviceContext;
  readonly #checks: DeviceChecks;
  readonly #creation: JointWork<Validated<DeviceValues>, NewDevice, Device>;

  constructor(context: DeviceContext) {
    this.#context = context;
    this.#checks = new DeviceChecks(context.services);
    this.#creation = {
      scopes: () => ({ addressPool: true }),
      check: async (transaction, inputs) => {
        const checked = await this.#checks.forCreate(inputs, transaction);
        return checked.map(({ errors, row }, i) =>
          hasNoErrors(errors) ? newDeviceRow(row, inputs[i]?.values ?? {}) : refusalFor(errors),
        );
      },
      write: (transaction, rows) =>
        this.#database.models.Device.bulkCreate(rows, { transaction, validate: false }),
    };
  }

  async list({ isFileOld, ...selection }: Selection & Selected): Promise<Shown[]> {
    const defaults = await this.#defaults();
    const { services, recall } = this.#context;
    const devices =
      isFileOld === undefined
        ? await readDevices(this.#database, selection)
        : await devicesByFile(services, await recall.configuration(), selection, isFileOld);
    return devices.map((device) => this.#show(device, defaults));
  }

  async show(id: string): Promise<Shown> {
    const defaults = await this.#defaults();
    const [device] = isUuid(id)
      ? await readDevices(this.#database, { ids: [id.toLowerCase()] })
      : [];
    if (device === undefined) throw new ApiError('not_found');
    return this.#show(device, defaults);
  }

  async create(caller: Caller, input: Validated<DeviceValues>): Promise<Shown> {
    const device = await this.#context.writes.join(caller, this.#creation, input);
    return this.#show({ ...plainRow(device), ...UNSEEN }, await this.#defaults());
  }

  update(caller: Caller, id: string, input: Validated<DeviceValues>): Promise<Shown> {
    return this.#update(caller, id, input, null);
  }

  /**
   * Changes a device of the caller; of anybody else's none is found. The key of a device that an
   * administrator switched off, or let end, stays.
   */
  updateOwn(caller: Caller, id: string, input: Validated<DeviceValues>): Promise<Shown> {
    return this.#update(caller, id, input, ownerIn(caller));
  }

  /**
   * Switches a device of the caller; of anybody else's none is found. False: it stays off, because
   * an administrator switched it off.
   */
  switchOwn(caller: Caller, id: string, isOn: boolean): Promise<boolean> {
    return this.#context.writes.run(caller, {
      check: async (transaction) => {
        const present = await this.#lock(id, ownerIn(caller), transaction);
        return { present, values: ownSwitchValues(present, isOn) };
      },
      write: async (transaction, { present, values }) => {
        if (values !== null) await saveChanges(present, values, transaction);
        return values !== null;
      },
    });
  }

  remove(caller: Caller, id: string): Promise<void> {
    return this.#remove(caller, id, null);
  }

  /**
   * Removes a device of the caller; of anybody else's none is found. A device that an administrator
   * switched off, or let end, stays.
   */
  removeOwn(caller: Caller, id: string): Promise<void> {
    return this.#remove(caller, id, ownerIn(caller));
  }

  get #database(): Database {
    return this.#context.services.database;
  }

  /** `ownerId`: whose the device must be when it is written; null: anybody's. */
  async #update(
    caller: Caller,
    id: string,
    input: Validated<DeviceValues>,
    ownerId: string | null,
  ): Promise<Shown> {
    const { values } = input;
    const device = await this.#context.writes.run(caller, {
      scopes: { addressPool: movesInNetworks(values) },
      check: async (transaction) => {
        const present = await this.#lock(id, ownerId, transaction);
        const { public_key: key = present.public_key } = values;
        if (ownerId !== null && key !== present.public_key) refuseHeld(present, 'public_key');
        refuseErrors(await this.#checks.forUpdate(input, present, transaction));
        return present;
      },
      write: (transaction, present) => this.#save(present, values, transaction),
    });
    const status = await this.#database.models.DeviceStatus.findByPk(device.id);
    const seen = status === null ? UNSEEN : status.get();
    return this.#show({ ...plainRow(device), ...seen }, await this.#defaults());
  }

  async #remove(caller: Caller, id: string, ownerId: string | null): Promise<void> {
    await this.#context.writes.run(caller, {
      check: async (transaction) => {
        const present = await this.#lock(id, ownerId, transaction);
        if (ownerId !== null) refuseHeld(present, 'base');
        return present;
      },
      write: (transaction, { id: present }) =>
        removeDevices(this.#database, [present], transaction),
    });
  }

  async #lock(id: string, ownerId: string | null, transaction: Transaction): Promise<Device> {
    const device = await lockRecord(this.#database.models.Device, id, transaction);
    if (ownerId !== null && device.user_id !== ownerId) throw new ApiError('not_found');
    return device;
  }

  async #defaults(): Promise<SettingValues> {
    const { recall, services } = this.#context;
    return defaultSettings(await recall.configuration(), services.config);
  }

  #save(present: Device, values: DeviceValues, transaction: Transaction): Promise<Device> {
    const { ipv4: _ipv4, ipv6: _ipv6, ...sent } = columnsSent(deviceFields, values);
    return saveChanges(
      present,
      {
        ...sent,
        ...this.#checks.addressesOf(values),
        ...storedSettings(values),
        ...storedRoutes(values),
        ...switchValues(present, switchesOf(values)),
      },
      transaction,
    );
  }

  #show(device: DeviceRow, defaults: SettingValues): Shown {
    const { config, serverPublicKey } = this.#context.services;
    return shownDevice(device, {
      server_public_key: serverPublicKey,
      ipv4: config.wireguardIpv4Enabled ? device.ipv4 : null,
      ipv6: config.wireguardIpv6Enabled ? device.ipv6 : null,
      ...shownSettings(device, defaults),
      routes: device.routes ?? [],
      enabled: device.disabled_at === null,
      ends_at: showTimeOrNull(device.expires_at),
    });
  }
}

/** The columns of a device that is to be made. */
export function newDeviceRow(row: FoundRow, values: DeviceValues): NewDevice {
  return {
    // The id comes first: the preshared key is sealed for it.
    id: newId(),
    public_key: '',
    preshared_key: randomBytes(KEY_BYTES).toString('base64'),
    ...columnsSent(deviceFields, values),
    ...storedSettings(values),
    ...storedRoutes(values),
    ...switchValues({ disabled_at: null }, switchesOf(values)),
    ...row,
  };
}

/** Whose devices are a caller's own; nobody's where no user asks. */
function ownerIn({ userId }: Caller): string {
  return userId ?? '';
}

/** Refuses to an owner what would make a device that is held a new one. */
function refuseHeld(device: Device, field: string): void {
  if (isHeld(device, Date.now())) refuseErrors({ [field]: [{ code: 'heldDevice' }] });
}

/** Whether an update gives a device other addresses, or networks behind it. */
function movesInNetworks({ ipv4, ipv6, routes }: DeviceValues): boolean {
  return [ipv4, ipv6, routes].some((value) => value !== undefined);
}

/** What was sent of the switches of a device. */
function switchesOf({ enabled, ends_at }: DeviceValues): Switches {
  return {
    ...(enabled === undefined ? {} : { isOn: enabled }),
    ...(ends_at === undefined ? {} : { expiresAt: ends_at }),
  };
}

/** The columns of a row; reading them one by one opens what is encrypted. */
function plainRow(device: Device): Omit<DeviceRow, keyof typeof UNSEEN> {
  const columns = rowColumns(deviceFields).map((name) => [
    name,
    name === 'preshared_key' ? presharedKeyOf(device) : device[name],
  ]);
  return Object.fromEntries(columns) as Omit<DeviceRow, keyof typeof UNSEEN>;
}

/** Null where it does not open, as in lists: such a device must be switched off all the same. */
function presharedKeyOf(device: Device): string | null {
  try {
    return device.preshared_key;
  } catch {
    return null;
  }
}

/** A key as text: first its form; its bytes only when the form is right. */
function key({ description }: ApiField): TextSchema {
  const schema = text(description)
    .exactly(KEY_CHARACTERS)
    .custom(
      (value: string, helpers) => (isCanonicalBase64(value) ? value : helpers.error('key.base64')),
      'standard base64',
    )
    .custom(
      refuse((value) => !hasKeySize(value)),
      '32 bytes',
    ) as TextSchema;
  return mark(schema, { json: { pattern: '^[A-Za-z0-9+/]{43}=$' } });
}

/** Refuses a key for its bytes; a key of the wrong form is checked no further. */
function refuse(isBad: (value: string) => boolean): Joi.CustomValidator {
  return (value: string, helpers) =>
    value.length === KEY_CHARACTERS && isCanonicalBase64(value) && isBad(value)
      ? helpers.error('key.bad')
      : value;
}
