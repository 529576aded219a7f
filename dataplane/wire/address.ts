// Internet addresses as bytes, and endpoint records. A record is 64 bytes in one shared buffer: the
// address and port of a sender, and the own address at which its datagram arrived, so that answers
// leave from that address. Records are copied, never allocated.

/** Bytes of one endpoint record. */
export const ENDPOINT_BYTES = 64;

/** Field offsets of an endpoint record. Ports and families are little-endian 16 bit. */
export const endpoint = {
  /** 0 (none), 4 or 6. */
  family: 0,
  port: 2,
  /** Interface of a link-local address, 0 for others. */
  scope: 4,
  /** 16 bytes; IPv4 uses the first four. */
  address: 8,
  /** Our own address, 16 bytes; zeros when it is not known. */
  local: 24,
  /** Interface at which the datagram arrived, 0 when it is not known. */
  interface: 40,
  /** Bytes that identify the endpoint; only the engine uses the bytes after them. */
  identity: 44,
} as const;

const IDENTITY_WORDS = endpoint.identity / 4;
const RECORD_WORDS = ENDPOINT_BYTES / 4;

/** A buffer of endpoint records, with three views of it. */
export interface EndpointTable {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly view: DataView;
}

/** Makes a table of `count` empty records. */
export function createEndpointTable(count: number): EndpointTable {
  const buffer = new ArrayBuffer(count * ENDPOINT_BYTES);
  return {
    bytes: new Uint8Array(buffer),
    words: new Int32Array(buffer),
    view: new DataView(buffer),
  };
}

/** Whether two records have the same remote and the same own address. */
export function sameEndpoint(table: EndpointTable, a: number, b: number): boolean {
  const { words } = table;
  const left = a * RECORD_WORDS;
  const right = b * RECORD_WORDS;
  for (let i = 0; i < IDENTITY_WORDS; i++) {
    if (words[left + i] !== words[right + i]) return false;
  }
  return true;
}

/** Copies a whole record. */
export function copyEndpoint(table: EndpointTable, from: number, to: number): void {
  const start = from * RECORD_WORDS;
  table.words.copyWithin(to * RECORD_WORDS, start, start + RECORD_WORDS);
}

/** Empties a record. */
export function clearEndpoint(table: EndpointTable, slot: number): void {
  table.words.fill(0, slot * RECORD_WORDS, (slot + 1) * RECORD_WORDS);
}

/** Whether a record names an endpoint. */
export function hasEndpoint(table: EndpointTable, slot: number): boolean {
  return table.bytes[slot * ENDPOINT_BYTES + endpoint.family] !== 0;
}

/**
 * The source of a record: its IPv4 address, or the first 64 bits of its IPv6 address, as a number.
 * One sender has all addresses of a /64, so limits count sources.
 */
export function sourceOf(table: EndpointTable, slot: number): bigint {
  return table.view.getBigUint64(slot * ENDPOINT_BYTES + endpoint.address);
}

/** The sender of a record: its source and its port, as a number. */
export function senderOf(table: EndpointTable, slot: number): bigint {
  const port = table.view.getUint16(slot * ENDPOINT_BYTES + endpoint.port, true);
  return (sourceOf(table, slot) << 16n) | BigInt(port);
}

/** An endpoint as plain data, for configuration and statistics. */
export interface Endpoint {
  /** IPv4 or IPv6 address as text, without port; after a link-local one, `%` and its interface. */
  address: string;
  port: number;
}

/** Reads a record; null when it is empty. It allocates, so the packet path does not use it. */
export function readEndpoint(table: EndpointTable, slot: number): Endpoint | null {
  const at = slot * ENDPOINT_BYTES;
  if (!hasEndpoint(table, slot)) return null;
  const bytes = addressIn(table, slot, endpoint.address);
  const scope = table.view.getUint32(at + endpoint.scope, true);
  const address = scope === 0 ? formatAddress(bytes) : `${formatAddress(bytes)}%${scope}`;
  return { address, port: table.view.getUint16(at + endpoint.port, true) };
}

/** The own address in a record as text; null where it is not known. */
export function readLocal(table: EndpointTable, slot: number): string | null {
  const bytes = addressIn(table, slot, endpoint.local);
  return bytes.some((byte) => byte !== 0) ? formatAddress(bytes) : null;
}

function addressIn(table: EndpointTable, slot: number, field: number): Uint8Array {
  const at = slot * ENDPOINT_BYTES;
  const length = table.bytes[at] === 4 ? 4 : 16;
  return table.bytes.subarray(at + field, at + field + length);
}

/**
 * Writes what `readEndpoint` and `readLocal` have read. Returns false, and writes nothing, where
 * the address cannot be read.
 */
export function restoreEndpoint(
  table: EndpointTable,
  slot: number,
  { address: text, port }: Endpoint,
  local: string | null,
): boolean {
  const [host = '', scope = '0'] = text.split('%');
  const address = parseAddress(host);
  if (address === null) return false;
  writeEndpoint(table, slot, address, port);
  const at = slot * ENDPOINT_BYTES;
  table.view.setUint32(at + endpoint.scope, Number(scope) || 0, true);
  const own = local === null ? null : parseAddress(local);
  if (own?.length === address.length) table.bytes.set(own, at + endpoint.local);
  return true;
}

/** Writes an endpoint; the own address is not known. */
export function writeEndpoint(
  table: EndpointTable,
  slot: number,
  address: Uint8Array,
  port: number,
): void {
  clearEndpoint(table, slot);
  const at = slot * ENDPOINT_BYTES;
  const view = new DataView(table.bytes.buffer, at, ENDPOINT_BYTES);
  view.setUint16(endpoint.family, address.length === 4 ? 4 : 6, true);
  view.setUint16(endpoint.port, port, true);
  table.bytes.set(address, at + endpoint.address);
}

/** Text of an endpoint: `192.0.2.1:51820`, `[2001:db8::1]:51820`. */
export function formatEndpoint({ address, port }: Endpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Text of 4 or 16 address bytes; IPv6 as RFC 5952 says. */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  const run = longestZeroRun(groups);
  if (run.length < 2) return groups.map((group) => group.toString(16)).join(':');
  const head = groups.slice(0, run.start).map((group) => group.toString(16));
  const tail = groups.slice(run.start + run.length).map((group) => group.toString(16));
  return `${head.join(':')}::${tail.join(':')}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let i = 0; i <= groups.length; i++) {
    if (i < groups.length && groups[i] === 0) continue;
    if (i - start > best.length) best = { start, length: i - start };
    start = i + 1;
  }
  return best;
}

/** Bytes of an IPv4 (dotted quad) or IPv6 address, null for any other text. */
export function parseAddress(text: string): Uint8Array | null {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4) return null;
  const bytes = new Uint8Array(4);
  for (const [i, part] of parts.entries()) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return null;
    bytes[i] = Number(part);
  }
  return bytes;
}

function parseIpv6(text: string): Uint8Array | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  const bytes = new Uint8Array(16);
  for (const [i, group] of groups.entries()) {
    bytes[2 * i] = group >> 8;
    bytes[2 * i + 1] = group & 0xff;
  }
  return bytes;
}

/** Groups of one side of `::`; the last one may be a dotted quad (RFC 4291, 2.2). */
function parseGroups(text: string, mayEndInIpv4: boolean): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    if (part.includes('.')) {
      const quad = mayEndInIpv4 && i === parts.length - 1 ? parseIpv4(part) : null;
      if (quad === null) return null;
      groups.push((quad[0]! << 8) | quad[1]!, (quad[2]! << 8) | quad[3]!);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return null;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}
