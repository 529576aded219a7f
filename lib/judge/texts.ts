// What a text is: an id, an address, an endpoint. It loads no schema and no database, so that a
// command that asks the gateway is there at once.

import { isIP, isIPv6, SocketAddress } from 'node:net';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True for a UUID in any case. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}

/** True for an id of a path for which the database can be searched. */
export function isReadableId(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

/** True for an address without prefix or zone. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

/** Whether two texts are one address; false where one is none. */
export function isSameAddress(a: string, b: string): boolean {
  return isAddress(a) && isAddress(b) && canonical(a) === canonical(b);
}

function canonical(address: string): string {
  return new SocketAddress({ address, family: isIPv6(address) ? 'ipv6' : 'ipv4' }).address;
}

/** Text of an endpoint: `192.0.2.1:51820`, `[2001:db8::1]:51820`. */
export function endpointText(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
