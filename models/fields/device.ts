// The fields of a device: one machine of a user, a peer of the data plane. The five settings hold
// the device's own values; whether those or the configuration's defaults show is decided by their
// flags when they are read, never copied. docs/api.md#devices.

import { clientSettings } from './client-settings.ts';
import { limitField } from './limits.ts';
import { type ColumnsOf, fieldsOf, type NewColumnsOf, type ObeyedOf, type RowOf } from './field.ts';

/** True: the setting of that name shows the configuration's default. */
function useDefault<Name extends string>(name: Name) {
  return {
    column: { kind: 'flag', default: true },
    audit: 'value',
    api: {
      kind: 'flag',
      description: `True: \`${name}\` shows the default of the configuration.`,
      nullIsBlank: true,
    },
  } as const;
}

/** The table of the record. */
export const deviceFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    obeyed: true,
    api: { kind: 'id', description: 'Names the device; never changes.', readOnly: true },
  },
  user_id: {
    column: { kind: 'char', size: 36 },
    audit: 'value',
    obeyed: true,
    api: { kind: 'reference', description: 'The owner.', required: true, createOnly: true },
  },
  name: {
    column: { kind: 'text', size: 255 },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'trimmed',
      description: 'Unique among the devices of its owner; made up when left out.',
      atLeast: 1,
      atMost: 255,
    },
  },
  description: {
    column: { kind: 'text', size: 2048, nullable: true },
    audit: 'value',
    api: { kind: 'trimmed', description: 'Free text.', atMost: 2048 },
  },
  public_key: {
    column: { kind: 'char', size: 44 },
    audit: 'value',
    obeyed: true,
    api: { kind: 'public key', description: "The client's key; unique.", required: true },
  },
  preshared_key: {
    column: { kind: 'sealed' },
    audit: 'secret',
    obeyed: true,
    api: { kind: 'key', description: 'Random when left out; 32 zero bytes mean none.' },
  },
  server_public_key: {
    api: {
      kind: 'text',
      description: "The gateway's key, the same in every device.",
      readOnly: true,
    },
  },
  ipv4: {
    column: { kind: 'ipv4', nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'ipv4',
      description: 'Inside WIREGUARD_IPV4_NETWORK, unique; allocated when left out.',
    },
  },
  // Sortable: eight hex digits.
  ipv4_key: {
    column: { kind: 'char', size: 8, nullable: true, derived: true, inRows: false },
    audit: 'nothing',
  },
  ipv6: {
    column: { kind: 'ipv6', nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'ipv6',
      description: 'Inside WIREGUARD_IPV6_NETWORK, unique; allocated when left out.',
    },
  },
  // Sortable: 32 hex digits.
  ipv6_key: {
    column: { kind: 'char', size: 32, nullable: true, derived: true, inRows: false },
    audit: 'nothing',
  },
  use_default_allowed_ips: useDefault('allowed_ips'),
  use_default_dns: useDefault('dns'),
  use_default_endpoint: useDefault('endpoint'),
  use_default_mtu: { ...useDefault('mtu'), obeyed: true },
  use_default_persistent_keepalive: useDefault('persistent_keepalive'),
  // The device's own values, kept while their flags hide them; null when none was ever given.
  allowed_ips: {
    column: { kind: 'texts', nullable: true },
    audit: 'value',
    api: { ...clientSettings.allowed_ips, neverNull: true },
  },
  dns: {
    column: { kind: 'texts', nullable: true },
    audit: 'value',
    api: { ...clientSettings.dns, neverNull: true },
  },
  endpoint: {
    column: { kind: 'long text', nullable: true },
    audit: 'value',
    api: { ...clientSettings.endpoint, neverNull: true },
  },
  mtu: {
    column: { kind: 'integer', nullable: true },
    audit: 'value',
    obeyed: true,
    api: clientSettings.mtu,
  },
  persistent_keepalive: {
    column: { kind: 'integer', nullable: true },
    audit: 'value',
    api: clientSettings.persistent_keepalive,
  },
  // Null: none.
  routes: {
    column: { kind: 'texts', nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'networks',
      description:
        'Networks behind the device, such as that of a branch office: packets to them go to the device, and it may send from them. No two devices share one.',
      neverNull: true,
    },
  },
  enabled: {
    api: {
      kind: 'flag',
      description: 'False: the device is switched off and passes no packet.',
      default: true,
    },
  },
  ends_at: {
    api: {
      kind: 'time',
      description: 'From then on the device passes no packet; null: it does not end.',
      nullable: true,
    },
  },
  limit_down: limitField(
    'The most that the device gets, in bits per second; null: as its owner or the configuration says.',
  ),
  limit_up: limitField(
    'The most that the device sends, in bits per second; null: as its owner or the configuration says.',
  ),
  // When somebody switched the device off; null while it is on.
  disabled_at: { column: { kind: 'time', nullable: true }, audit: 'value', obeyed: true },
  // Null while the device is on, and where an earlier version switched it off: only administrators
  // could then. Owners switch on what owners switched off.
  disabled_by: {
    column: { kind: 'text', size: 16, words: ['owner', 'administrator'], nullable: true },
    audit: 'value',
    api: {
      kind: 'choice',
      description: 'Who switched the device off; null while it is on, or if nobody knows.',
      readOnly: true,
    },
  },
  // From when on it passes no packet; null: never.
  expires_at: { column: { kind: 'time', nullable: true }, audit: 'value', obeyed: true },
  // What the client's file was made with, 64 hex digits; `noteClientFile` alone writes it.
  client_file_sha256: {
    column: { kind: 'char', size: 64, nullable: true, inRows: false },
    audit: 'nothing',
  },
  // The gateway of the latest handshake.
  gateway_id: { status: { kind: 'char' }, obeyed: true },
  latest_handshake: {
    status: { kind: 'time' },
    obeyed: true,
    api: { kind: 'time', description: 'Null until the first.', readOnly: true, nullable: true },
  },
  remote_ip: {
    status: { kind: 'text' },
    obeyed: true,
    api: {
      kind: 'text',
      description: 'Outer source address; null until known.',
      readOnly: true,
      nullable: true,
    },
  },
  remote_port: { status: { kind: 'integer' }, obeyed: true },
  own_ip: { status: { kind: 'text' }, obeyed: true },
  rx_bytes: {
    status: { kind: 'big integer' },
    api: {
      kind: 'count',
      description: 'Upload of the device: received from it; null until there was traffic.',
      readOnly: true,
      nullable: true,
    },
  },
  tx_bytes: {
    status: { kind: 'big integer' },
    api: {
      kind: 'count',
      description: 'Download of the device: sent to it; null until there was traffic.',
      readOnly: true,
      nullable: true,
    },
  },
  inserted_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the device was made.', readOnly: true },
  },
  updated_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: {
      kind: 'time',
      description: 'When the device was changed last; status does not count.',
      readOnly: true,
    },
  },
});

/** The columns of a device. */
export type DeviceColumns = ColumnsOf<typeof deviceFields>;

/** The columns of a device that is to be made. */
export type NewDeviceColumns = NewColumnsOf<typeof deviceFields>;

/** A device with what the gateways saw of it last; null until it was seen. */
export type DeviceRow = RowOf<typeof deviceFields>;

/** What gateways read of a device. */
export type ObeyedDevice = ObeyedOf<typeof deviceFields>;
