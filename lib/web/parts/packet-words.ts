// Packets in words, for the pages that show packets.

import { BlockList, isIPv4 } from 'node:net';
import { endpointText } from '../../kit/validation/texts.ts';
import type { ShownRefusal } from '../../observe/live/fields.ts';

/** An address and its port: `10.0.0.5:443`, `[fd00::5]:443`. */
export function placeInWords(address: string, port: number | null): string {
  return port === null ? address : endpointText(address, port);
}

/** A protocol: `TCP`, or the number of one without a name. */
export function protocolInWords(protocol: string): string {
  return /^\d+$/.test(protocol) ? `IP protocol ${protocol}` : protocol.toUpperCase();
}

/** An address as a cell of a table; one of IPv6 is too long for a line of a phone. */
export function addressCell(address: string | null): { text: string; isWhole: boolean } {
  const text = address ?? 'not readable';
  return { text, isWhole: !text.includes(':') || /^[\d.]+:\d+$/.test(text) };
}

/** What a packet asks for, as one text or none: `TCP 22`. */
export function serviceInWords({
  protocol,
  port,
}: Pick<ShownRefusal, 'protocol' | 'port'>): string[] {
  if (protocol === null) return [];
  return [port === null ? protocolInWords(protocol) : `${protocolInWords(protocol)} ${port}`];
}

/**
 * The page that explains what becomes of such a packet; null where it cannot be asked: what could
 * not be read, and later fragments that were given up, which have no ports.
 */
export function explainHref(refusal: ShownRefusal): string | null {
  const { device_id: device, direction, source, destination, protocol, port } = refusal;
  if (device === null || source === null || destination === null || protocol === null) return null;
  if (port === null && (protocol === 'tcp' || protocol === 'udp')) return null;
  const query = new URLSearchParams({
    ...(direction === 'from_device' ? { device_id: device } : {}),
    source,
    destination,
    protocol,
    ...(port === null ? {} : { port: String(port) }),
  });
  return `/explain?${query.toString()}`;
}

/** Reasons for which a rule that accepts lets a packet pass. */
const BY_RULES: ReadonlySet<string> = new Set(['rule_drop', 'default_drop']);

/** A packet of a device, and why it was refused. */
export interface Refused {
  readonly deviceId: string | null;
  /** Whether the device sent it: no rule judges what comes to it from elsewhere. */
  readonly isSent: boolean;
  readonly destination: string | null;
  readonly protocol: string | null;
  readonly port: number | null;
  readonly reason: string | null;
}

/** The form of a rule that accepts such packets, filled; null where no rule would help. */
export function acceptHref(refused: Refused): string | null {
  const { deviceId, isSent, destination, protocol, port, reason } = refused;
  if (deviceId === null || !isSent || destination === null || protocol === null) return null;
  if (!BY_RULES.has(reason ?? '')) return null;
  const hasPorts = protocol === 'tcp' || protocol === 'udp';
  if (hasPorts && port === null) return null;
  const query = new URLSearchParams({
    device_id: deviceId,
    destination,
    ...(hasPorts ? { protocol, port: String(port) } : {}),
    ...(protocol === 'icmp' ? { protocol } : {}),
  });
  return `/rules/new?${query.toString()}`;
}

/** Multicast, link-local and broadcast: devices send there by themselves, to find neighbours. */
const NEIGHBOURS = new BlockList();
for (const [network, bits] of [
  ['224.0.0.0', 4],
  ['169.254.0.0', 16],
  ['255.255.255.255', 32],
  ['ff00::', 8],
  ['fe80::', 10],
] as const)
  NEIGHBOURS.addSubnet(network, bits, familyOf(network));

/** Whether a device sent such packets by itself, and no person caused them. */
export function isUnasked({ destination, reason }: ShownRefusal): boolean {
  // Some program asked for the data of the host's cloud, which are at a link-local address.
  if (destination === null || reason === 'inner_destination_metadata') return false;
  return NEIGHBOURS.check(destination, familyOf(destination));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
