// The file of a device's client, as wg-quick and the WireGuard apps read it. Only the client has
// the private key: code that has the key passes it, and code that has not, such as the server's
// pages, gets a line to fill in. docs/api.md#devices.

import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Config } from '../../../config/index.ts';
import type { DeviceRow, RoutedDevice } from '../../../models/index.ts';
import { KEY_BYTES } from '../../kit/validation/keys.ts';
import { type SettingValues, shownSettings } from './settings.ts';

/** The text in place of the private key in the file; no key looks like it. */
export const PRIVATE_KEY_BLANK = 'PASTE-THE-PRIVATE-KEY-HERE';

/** Text of 32 zero bytes: no preshared key. */
const NO_PRESHARED_KEY = Buffer.alloc(KEY_BYTES).toString('base64');
/** Characters of an interface's name, which wg-quick takes from the file's. */
const NAME_CHARACTERS_MAX = 15;

/** What a file holds besides the private key. */
export interface ClientConfig extends SettingValues {
  /** The public key of the private key in the file; the file does not hold it. */
  public_key: string;
  /** Null where it cannot be decrypted; such a device is not served. */
  preshared_key: string | null;
  server_public_key: string;
  ipv4: string | null;
  ipv6: string | null;
  /** For an endpoint that names no port. */
  port: number;
}

/** What a file holds of the gateway. */
export interface GatewaySide {
  readonly config: Config;
  readonly serverPublicKey: string;
  /** Devices whose networks the files of other devices name; left out: none. */
  readonly included?: readonly RoutedDevice[];
}

/** What the file of a device holds at present. */
export function clientConfigOf(
  device: DeviceRow,
  defaults: SettingValues,
  { config, serverPublicKey, included = [] }: GatewaySide,
): ClientConfig {
  const settings = shownSettings(device, defaults);
  const others = included.filter(({ id }) => id !== device.id).flatMap(({ routes }) => routes);
  return {
    ...settings,
    allowed_ips: [...new Set([...(settings.allowed_ips ?? []), ...others])],
    public_key: device.public_key,
    preshared_key: device.preshared_key,
    server_public_key: serverPublicKey,
    ipv4: config.wireguardIpv4Enabled ? device.ipv4 : null,
    ipv6: config.wireguardIpv6Enabled ? device.ipv6 : null,
    port: config.wireguardPort,
  };
}

/** The text of the file; without a private key it has a line to fill in. */
export function clientFile(client: ClientConfig, privateKey: string = PRIVATE_KEY_BLANK): string {
  const { ipv4, ipv6, preshared_key: presharedKey } = client;
  const addresses = [ipv4 && `${ipv4}/32`, ipv6 && `${ipv6}/128`].filter((one) => one !== null);
  const self = [
    line('PrivateKey', privateKey),
    line('Address', addresses),
    line('DNS', client.dns),
    line('MTU', client.mtu),
  ];
  const peer = [
    line('PublicKey', client.server_public_key),
    line('PresharedKey', presharedKey === NO_PRESHARED_KEY ? null : presharedKey),
    line('AllowedIPs', client.allowed_ips),
    line('Endpoint', client.endpoint === null ? null : withPort(client.endpoint, client.port)),
    line('PersistentKeepalive', client.persistent_keepalive),
  ];
  return `[Interface]\n${self.join('')}\n[Peer]\n${peer.join('')}`;
}

/**
 * A good name for the file. wg-quick gives the interface the name of the file, so the name has at
 * most 15 characters, all of them allowed by wg-quick.
 */
export function clientFileName(deviceName: string): string {
  const name = deviceName
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-zA-Z0-9_=+.-]+/g, '-')
    // A dot hides a file, a hyphen makes an option of it.
    .replace(/^[-.]+/, '')
    .slice(0, NAME_CHARACTERS_MAX)
    .replace(/[-.]+$/, '');
  return `${name === '' ? 'postern' : name}.conf`;
}

/** A hash that is the same for two files that differ only in the line of the private key. */
export function clientFileHash(client: ClientConfig): string {
  const text = `${client.public_key}\n${clientFile(client)}`;
  return createHash('sha256').update(text).digest('hex');
}

/** One line; nothing where there is no value. Zero is one. */
function line(key: string, value: string | number | readonly string[] | null): string {
  const text = Array.isArray(value) ? value.join(', ') : value;
  return text === null || text === '' ? '' : `${key} = ${String(text)}\n`;
}

/** The endpoint as wg reads it: IPv6 in brackets, and a port always. */
function withPort(endpoint: string, port: number): string {
  if (isIPv6(endpoint)) return `[${endpoint}]:${port}`;
  return /^(\[[^\]]*\]|[^:]*):\d+$/.test(endpoint) ? endpoint : `${endpoint}:${port}`;
}
