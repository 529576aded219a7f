// Texts that name places in a network: addresses, CIDRs, host names, endpoints. Pure: a text goes
// in; its accepted form or the errors that it has come out. docs/api.md#settings-of-a-device.

import { isIP, isIPv6 } from 'node:net';
import { parseAddress } from '../../../models/index.ts';
import { isAddress } from './texts.ts';

/** An address as text in its canonical form, with the family and the sortable key. */
export type Address = NonNullable<ReturnType<typeof parseAddress>>;

/** What is wrong with a host: it is no host name, a port is there or is none. */
export type HostError = 'host.fqdn' | 'host.portInDns' | 'host.badPort';

/** An error and the part of the text that it is about. */
export interface HostErrors {
  readonly host: string;
  readonly codes: readonly HostError[];
}

const LABEL = /^[A-Za-z0-9_-]{1,63}$/;
const HOST_NAME_MAX = 253;
const FOUR_NUMBERS = /^\d+(\.\d+){3}$/;
/** A host and a port; a bare IPv6 address is no match, its brackets are. */
const HOST_AND_PORT = /^([^:]*|\[[^\]]*\]):(-?\d+)$/;
const PORT_MAX = 65_535;

/** Reads an address without prefix or zone; null when it is none. */
export function readAddress(text: string): Address | null {
  // ipaddr.js alone would take octal and hexadecimal numbers inside IPv6 addresses.
  return isAddress(text) ? parseAddress(text) : null;
}

/**
 * The accepted form of an address or a CIDR: host bits and prefix as given, IPv6 as RFC 5952 says.
 * Null when it is neither.
 */
export function readCidr(text: string): string | null {
  const [addressText = '', prefix, rest] = text.split('/');
  const address = readAddress(addressText);
  if (address === null || rest !== undefined) return null;
  if (prefix === undefined) return address.text;
  const bits = address.family === 4 ? 32 : 128;
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > bits) return null;
  return `${address.text}/${prefix}`;
}

/** The accepted form of a DNS server: an address in its canonical form, a host name as given. */
export function canonicalHost(text: string): string {
  return readAddress(text)?.text ?? text;
}

/** Validates a DNS server: an address or a host name, no port, no prefix. */
export function validateDnsServer(text: string): HostErrors {
  if (readAddress(text) !== null) return { host: text, codes: [] };
  const { host, port } = splitPort(text);
  // Brackets belong to a port; alone they are neither an address nor a name.
  const isGood = isHost(host) && (port !== null || !host.startsWith('['));
  const codes: HostError[] = isGood ? [] : ['host.fqdn'];
  if (port !== null) codes.push('host.portInDns');
  return { host, codes };
}

/** Validates an endpoint: `host`, `host:port`, a bare IPv6 address, `[v6]` or `[v6]:port`. */
export function validateEndpoint(text: string): HostErrors {
  if (readAddress(text) !== null) return { host: text, codes: [] };
  const { host, port } = splitPort(text);
  const codes: HostError[] = isHost(host) ? [] : ['host.fqdn'];
  if (port !== null && !(port >= 1 && port <= PORT_MAX)) codes.push('host.badPort');
  return { host, codes };
}

/** Splits off a port where the text ends in a number behind a colon; else it is all host. */
function splitPort(text: string): { host: string; port: number | null } {
  const [, host, port] = HOST_AND_PORT.exec(text) ?? [];
  if (host === undefined || port === undefined) return { host: text, port: null };
  return { host, port: Number(port) };
}

/** True for an IPv4 address, an IPv6 address in brackets, and a host name. */
function isHost(text: string): boolean {
  if (text.startsWith('[') && text.endsWith(']')) {
    const inside = text.slice(1, -1);
    return isIPv6(inside) && !inside.includes('%');
  }
  if (FOUR_NUMBERS.test(text.replace(/\.$/, ''))) return isIP(text) === 4;
  return isHostName(text);
}

/** Labels of letters, digits, `-` and `_`; the dot of the root may end it. */
function isHostName(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  return name.length <= HOST_NAME_MAX && name.split('.').every((label) => LABEL.test(label));
}
