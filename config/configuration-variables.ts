// Variables that fix a field of the API's configuration: docs/api.md#the-configuration. This floor
// knows their names and texts alone; lib/domain/configuration/fixed-settings.ts reads the texts by
// the rules that requests obey, so that there is one set of rules.

import type { Setting } from './schema.ts';

/** One variable; its field is its name in lower case. */
export type ConfigurationVariable = Pick<Setting, 'name' | 'example' | 'sentence' | 'secret'> & {
  /** How the text is to be read: as one value, as a list with commas between, or as JSON. */
  readonly form: 'value' | 'list' | 'json';
};

/** The variables, in the order of the fields. */
export const configurationVariables = [
  {
    name: 'ALLOW_UNPRIVILEGED_DEVICE_MANAGEMENT',
    form: 'value',
    example: 'true',
    sentence: 'Whether unprivileged users manage their devices in the portal.',
  },
  {
    name: 'ALLOW_UNPRIVILEGED_DEVICE_CONFIGURATION',
    form: 'value',
    example: 'true',
    sentence: 'Whether the portal takes more than name, description and keys from them.',
  },
  {
    name: 'DEFAULT_ACTION',
    form: 'value',
    example: 'accept',
    sentence: 'What happens to a packet that no rule matches: `accept` or `drop`.',
  },
  {
    name: 'DEFAULT_CLIENT_ALLOWED_IPS',
    form: 'list',
    example: '0.0.0.0/0,::/0',
    sentence: 'Default AllowedIPs of devices, with commas between.',
  },
  {
    name: 'DEFAULT_CLIENT_DNS',
    form: 'list',
    example: '1.1.1.1,1.0.0.1',
    sentence: 'Default DNS of devices, with commas between.',
  },
  {
    name: 'DEFAULT_CLIENT_ENDPOINT',
    form: 'value',
    example: 'vpn.example.com:51820',
    sentence: 'Default endpoint of devices.',
  },
  {
    name: 'DEFAULT_CLIENT_MTU',
    form: 'value',
    example: '1280',
    sentence: 'Default MTU of devices in bytes.',
  },
  {
    name: 'DEFAULT_CLIENT_PERSISTENT_KEEPALIVE',
    form: 'value',
    example: '25',
    sentence: 'Default keepalive of devices in seconds.',
  },
  {
    name: 'DEFAULT_CLIENT_INCLUDE_ROUTES',
    form: 'value',
    example: 'true',
    sentence: 'Whether files of devices name the networks behind other devices.',
  },
  {
    name: 'DEFAULT_LIMIT_DOWN',
    form: 'value',
    example: '100000000',
    sentence: 'The most that each device gets, in bits per second.',
  },
  {
    name: 'DEFAULT_LIMIT_UP',
    form: 'value',
    example: '20000000',
    sentence: 'The most that each device sends, in bits per second.',
  },
  {
    name: 'DEFAULT_QUOTA',
    form: 'value',
    example: '100000000000',
    sentence: 'The most that the devices of each user carry in a calendar month (UTC), in bytes.',
  },
  {
    name: 'DISABLE_VPN_ON_OIDC_ERROR',
    form: 'value',
    example: 'false',
    sentence: 'Whether a user whom an OpenID provider refuses is disabled.',
  },
  {
    name: 'LOCAL_AUTH_ENABLED',
    form: 'value',
    example: 'true',
    sentence: 'Whether users sign in by password.',
  },
  {
    name: 'VPN_SESSION_DURATION',
    form: 'value',
    example: '86400',
    sentence: 'Seconds since the last sign-in after which devices stop; 0 never.',
  },
  {
    name: 'LOGO',
    form: 'json',
    example: '{"url":"https://example.com/logo.png"}',
    sentence: 'The logo, as JSON.',
  },
  {
    name: 'OPENID_CONNECT_PROVIDERS',
    form: 'json',
    example: '[]',
    sentence: 'The OpenID providers, as JSON; each as the API takes it.',
    secret: true,
  },
  {
    name: 'SAML_IDENTITY_PROVIDERS',
    form: 'json',
    example: '[]',
    sentence: 'The SAML providers, as JSON; each as the API takes it.',
  },
] as const satisfies readonly ConfigurationVariable[];
