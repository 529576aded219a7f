// Devices: what may be sent, what is shown, and what the operations do. What needs the database to
// be judged is in judge.ts. docs/api.md#devices.

import { randomBytes } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import {
  type Device,
  type DeviceRow,
  newId,
  readDevices,
  removeDevices,
  type Selection,
  type Transaction,
} from '../../models/index.ts';
import { hasKeySize, isCanonicalBase64, isLowOrderKey, KEY_BYTES } from './keys.ts';
import {
  CLIENT_MTU_MAX,
  defaultSettings,
  type SettingValues,
  shownSettings,
  storedSettings,
} from './settings.ts';
import { ApiError } from '../http/errors.ts';
import {
  address,
  cidrList,
  dnsList,
  endpoint,
  flag,
  integer,
  isUuid,
  mark,
  recordId,
  reference,
  resource,
  text,
  type TextSchema,
  timestamp,
  trimmed,
} from '../judge/fields.ts';
import { isFaultless, type Judged, judgeOf } from '../judge/judge.ts';
import { selectOwner } from '../api/lists.ts';
import {
  type ApiContext,
  type Collection,
  type Shown,
  showTime,
  showTimeOrNull,
} from '../api/routes.ts';
import { type JointWork, refusalFor, refuseFaults, saveChanges } from '../records/writes.ts';
import { DeviceJudge, type DeviceValues, type FoundRow } from './judge.ts';

/** Gateways report status once a second; it may be little older than that. */
const STATUS_KEEP_MS = 200;
const KEY_CHARACTERS = 44;

/** Limits of the settings, which the configuration's defaults obey too. */
export const settingFields = {
  allowed_ips: () => cidrList('AllowedIPs line of the client file, nothing else.'),
  dns: () => dnsList('DNS line of the client file.'),
  endpoint: () => endpoint('Endpoint line of the client file.'),
  mtu: () => integer('MTU line of the client file, in bytes.', 576, CLIENT_MTU_MAX),
  persistent_keepalive: () =>
    integer('PersistentKeepalive line of the client file, in seconds.', 0, 120),
};

/** The fields of a device. */
export const deviceFields = resource({
  id: recordId('Names the device; never changes.'),
  user_id: mark(reference('The owner.').required(), { createOnly: true }),
  name: trimmed('Unique among the devices of its owner; made up when left out.')
    .atLeast(1)
    .atMost(255),
  description: trimmed('Free text.').atMost(2048).allow(null),
  public_key: key("The client's key; unique.")
    .custom(refuse(isLowOrderKey), 'no point of low order')
    .required(),
  preshared_key: key('Random when left out; 32 zero bytes mean none.'),
  server_public_key: readOnly("The gateway's key, the same in every device."),
  ipv4: address('Inside WIREGUARD_IPV4_NETWORK, unique; allocated when left out.', 4).allow(null),
  ipv6: address('Inside WIREGUARD_IPV6_NETWORK, unique; allocated when left out.', 6).allow(null),
  use_default_allowed_ips: settingFlag('allowed_ips'),
  use_default_dns: settingFlag('dns'),
  use_default_endpoint: settingFlag('endpoint'),
  use_default_mtu: settingFlag('mtu'),
  use_default_persistent_keepalive: settingFlag('persistent_keepalive'),
  allowed_ips: mark(settingFields.allowed_ips().allow(null), { neverNull: true }),
  dns: mark(settingFields.dns().allow(null), { neverNull: true }),
  endpoint: mark(settingFields.endpoint().allow(null), { neverNull: true }),
  mtu: settingFields.mtu().allow(null),
  persistent_keepalive: settingFields.persistent_keepalive().allow(null),
  latest_handshake: timestamp('Null until the first.').allow(null),
  remote_ip: readOnly('Outer source address; null until known.').allow(null),
  rx_bytes: readOnlyCount('Received from the device; null until there was traffic.'),
  tx_bytes: readOnlyCount('Sent to the device; null until there was traffic.'),
  inserted_at: timestamp('When the device was made.'),
  updated_at: timestamp('When the device was changed last; status does not count.'),
});

/** By what a list of devices can be narrowed. */
export const deviceFilters = {
  user_id: { schema: text('Only devices of this user.'), select: selectOwner },
};

/** What a device is made of. */
type NewDevice = FoundRow & Pick<Device, 'id' | 'public_key' | 'preshared_key' | 'description'>;

/** What a device was seen to do; nothing yet, when it is made. */
const UNSEEN = {
  gateway_id: null,
  latest_handshake: null,
  remote_ip: null,
  remote_port: null,
  rx_bytes: null,
  tx_bytes: null,
};

const judgeDevice = judgeOf<DeviceValues>(deviceFields);

/** The devices of one server. */
export class Devices implements Collection<DeviceValues> {
  readonly name = 'devices';
  readonly wrapper = 'device';
  readonly sources = [{ table: 'devices' }, { table: 'configurations' }] as const;
  readonly keepMs = STATUS_KEEP_MS;
  readonly filters = deviceFilters;
  readonly judge = judgeDevice;
  readonly #context: ApiContext;
  readonly #judge: DeviceJudge;
  readonly #creation: JointWork<Judged<DeviceValues>, NewDevice, Device>;

  constructor(context: ApiContext) {
    this.#context = context;
    this.#judge = new DeviceJudge(context.services);
    this.#creation = {
      scopes: () => ({ addressPool: true }),
      judge: async (transaction, inputs) => {
        const judgements = await this.#judge.forCreate(inputs, transaction);
        return judgements.map(({ faults, row }, i) =>
          isFaultless(faults) ? newDeviceRow(row, inputs[i]?.values ?? {}) : refusalFor(faults),
        );
      },
      write: (transaction, rows) =>
        this.#database.models.Device.bulkCreate(rows, { transaction, validate: false }),
    };
  }

  async list(selection: Selection): Promise<Shown[]> {
    const defaults = await this.#defaults();
    const devices = await readDevices(this.#database, selection);
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

  async create(request: Request, input: Judged<DeviceValues>): Promise<Shown> {
    const device = await this.#context.writes.join(request, this.#creation, input);
    return this.#show({ ...plainRow(device), ...UNSEEN }, await this.#defaults());
  }

  async update(request: Request, id: string, input: Judged<DeviceValues>): Promise<Shown> {
    const { values } = input;
    const device = await this.#context.writes.run(request, {
      scopes: { addressPool: values.ipv4 !== undefined || values.ipv6 !== undefined },
      judge: async (transaction) => {
        const present = await this.#find(id, transaction);
        refuseFaults(await this.#judge.forUpdate(input, present, transaction));
        return present;
      },
      write: (transaction, present) => this.#save(present, values, transaction),
    });
    const status = await this.#database.models.DeviceStatus.findByPk(device.id);
    const seen = status === null ? UNSEEN : status.get();
    return this.#show({ ...plainRow(device), ...seen }, await this.#defaults());
  }

  async remove(request: Request, id: string): Promise<void> {
    await this.#context.writes.run(request, {
      judge: (transaction) => this.#find(id, transaction),
      write: (transaction, { id: present }) =>
        removeDevices(this.#database, [present], transaction),
    });
  }

  get #database(): ApiContext['services']['database'] {
    return this.#context.services.database;
  }

  async #defaults(): Promise<SettingValues> {
    const { recall, services } = this.#context;
    return defaultSettings(await recall.configuration(), services.config);
  }

  async #find(id: string, transaction: Transaction): Promise<Device> {
    const device = isUuid(id)
      ? await this.#database.models.Device.findByPk(id.toLowerCase(), { transaction, lock: true })
      : null;
    if (device === null) throw new ApiError('not_found');
    return device;
  }

  #save(present: Device, values: DeviceValues, transaction: Transaction): Promise<Device> {
    const { name, description, public_key, preshared_key } = values;
    const { ipv4, ipv6 } = this.#judge.addressesOf(values);
    const sent = { name, description, public_key, preshared_key, ipv4, ipv6 };
    const changes = Object.entries(sent).filter(([, value]) => value !== undefined);
    return saveChanges(
      present,
      { ...Object.fromEntries(changes), ...storedSettings(values) },
      transaction,
    );
  }

  #show(device: DeviceRow, defaults: SettingValues): Shown {
    const { config, serverPublicKey } = this.#context.services;
    return {
      id: device.id,
      user_id: device.user_id,
      name: device.name,
      description: device.description,
      public_key: device.public_key,
      preshared_key: device.preshared_key,
      server_public_key: serverPublicKey,
      ipv4: config.wireguardIpv4Enabled ? device.ipv4 : null,
      ipv6: config.wireguardIpv6Enabled ? device.ipv6 : null,
      use_default_allowed_ips: device.use_default_allowed_ips,
      use_default_dns: device.use_default_dns,
      use_default_endpoint: device.use_default_endpoint,
      use_default_mtu: device.use_default_mtu,
      use_default_persistent_keepalive: device.use_default_persistent_keepalive,
      ...shownSettings(device, defaults),
      latest_handshake: showTimeOrNull(device.latest_handshake),
      remote_ip: device.remote_ip,
      rx_bytes: device.rx_bytes,
      tx_bytes: device.tx_bytes,
      inserted_at: showTime(device.inserted_at),
      updated_at: showTime(device.updated_at),
    };
  }
}

/** The columns of a device that is to be made. */
export function newDeviceRow(row: FoundRow, values: DeviceValues): NewDevice {
  const { public_key = '', description = null } = values;
  const preshared_key = values.preshared_key ?? randomBytes(KEY_BYTES).toString('base64');
  return {
    // The id comes first: the preshared key is sealed for it.
    id: newId(),
    ...row,
    public_key,
    preshared_key,
    description,
    ...storedSettings(values),
  };
}

/** The columns of a row; reading them one by one opens what is encrypted. */
function plainRow(device: Device): Omit<DeviceRow, keyof typeof UNSEEN> {
  return {
    id: device.id,
    user_id: device.user_id,
    name: device.name,
    description: device.description,
    public_key: device.public_key,
    preshared_key: device.preshared_key,
    ipv4: device.ipv4,
    ipv6: device.ipv6,
    use_default_allowed_ips: device.use_default_allowed_ips,
    use_default_dns: device.use_default_dns,
    use_default_endpoint: device.use_default_endpoint,
    use_default_mtu: device.use_default_mtu,
    use_default_persistent_keepalive: device.use_default_persistent_keepalive,
    allowed_ips: device.allowed_ips,
    dns: device.dns,
    endpoint: device.endpoint,
    mtu: device.mtu,
    persistent_keepalive: device.persistent_keepalive,
    disabled_at: device.disabled_at,
    expires_at: device.expires_at,
    inserted_at: device.inserted_at,
    updated_at: device.updated_at,
  };
}

/** A key as text: first its form; its bytes only when the form is right. */
function key(description: string): TextSchema {
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

/** Refuses a key for its bytes; a key of the wrong form is judged no further. */
function refuse(isBad: (value: string) => boolean): Joi.CustomValidator {
  return (value: string, helpers) =>
    value.length === KEY_CHARACTERS && isCanonicalBase64(value) && isBad(value)
      ? helpers.error('key.bad')
      : value;
}

function settingFlag(name: string): Joi.BooleanSchema {
  const description = `True: \`${name}\` shows the default of the configuration.`;
  return mark(flag(description).default(true), { nullIsBlank: true });
}

function readOnly(description: string): TextSchema {
  return mark(text(description), { readOnly: true });
}

function readOnlyCount(description: string): Joi.Schema {
  return mark(Joi.number().integer().min(0).description(description).allow(null), {
    readOnly: true,
  });
}
