// Reads texts: an id, an address, an endpoint, a time. This file loads no schema and no database,
// so that a command that asks the gateway starts at once.

import { isIP, isIPv6, SocketAddress } from 'node:net';

/** Characters of a foreign text that a message repeats. */
const REPEATED_MAX = 200;

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

/** A time with its zone, RFC 3339. */
const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const END_OF_TIMES_MS = Date.UTC(10_000, 0, 1);

/**
 * Reads a time of RFC 3339; null for what is none, the 30th of February too, and for years before
 * 1970 or after 9999 in UTC: no answer and no column of a database has room for all of those.
 */
export function readTime(text: string): Date | null {
  const [, day = ''] = text.length > 64 ? [] : (TIME.exec(text) ?? []);
  const time = new Date(day === '' ? Number.NaN : text);
  if (!(time.getTime() >= 0 && time.getTime() < END_OF_TIMES_MS)) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? time : null;
}

/** A foreign text as messages repeat it, however long it is. */
export function shortened(text: string): string {
  return text.length > REPEATED_MAX ? `${text.slice(0, REPEATED_MAX)}…` : text;
}
