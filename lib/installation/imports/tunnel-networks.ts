// Networks and addresses of an import, read from texts and compared.

import type { NetworkRange } from '../../../dataplane/index.ts';
import { parseAddress, parseRange } from '../../../models/index.ts';
import { isInside } from '../../kit/validation/networks.ts';

/** Whether a network holds an address, both as texts; never where one of them is none. */
export function holds(network: string | null, address: string): boolean {
  const range = network === null ? null : readNetwork(network);
  return range !== null && isInAny([range], address);
}

/** Whether one of some networks holds an address; never where the text is none. */
export function isInAny(networks: readonly NetworkRange[], address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === null) return false;
  const bytes = bytesOf(parsed.key);
  return networks.some((network) => isInside(bytes, network));
}

/** Reads an address or a CIDR; null where it is none. */
export function readNetwork(text: string): NetworkRange | null {
  const range = parseRange(text);
  if (range === null) return null;
  const network = bytesOf(range.start);
  const [, prefix] = text.split('/');
  return { network, prefixBits: prefix === undefined ? 8 * network.length : Number(prefix) };
}

/** The bytes of the sortable key of an address. */
function bytesOf(key: string): Uint8Array {
  return Uint8Array.from(Buffer.from(key, 'hex'));
}
