// The five settings of a client's file, as devices have them and as the configuration has their
// defaults: one reading and one limit for both. docs/api.md#devices.

/** How the API takes them. */
export const clientSettings = {
  allowed_ips: {
    kind: 'cidrs',
    description: 'AllowedIPs line of the client file, nothing else.',
  },
  dns: { kind: 'dns', description: 'DNS line of the client file.' },
  endpoint: { kind: 'endpoint', description: 'Endpoint line of the client file.' },
  mtu: {
    kind: 'integer',
    description: 'MTU line of the client file, in bytes.',
    min: 576,
    max: 1_500,
  },
  persistent_keepalive: {
    kind: 'integer',
    description: 'PersistentKeepalive line of the client file, in seconds.',
    min: 0,
    max: 120,
  },
} as const;

/** Name of a setting; in devices its flag is called `use_default_<name>`. */
export type SettingName = keyof typeof clientSettings;
