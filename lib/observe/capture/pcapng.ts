// Writes pcapng (draft-ietf-opsawg-pcapng), the file format of Wireshark: one section with three
// interfaces, one for each place where packets are captured. Little-endian. It knows no gateway:
// the packets and the texts about them go in, bytes come out.

/** Block types. */
const SECTION_HEADER = 0x0a0d0d0a;
const INTERFACE_DESCRIPTION = 1;
const NAME_RESOLUTION = 4;
const INTERFACE_STATISTICS = 5;
const ENHANCED_PACKET = 6;

const BYTE_ORDER_MAGIC = 0x1a2b3c4d;
const VERSION = [1, 0] as const;
/** Packets begin with their IP header. */
const LINKTYPE_RAW = 101;

/** Options of blocks; those with the same number belong to different blocks. */
const option = {
  end: 0,
  comment: 1,
  interfaceName: 2,
  interfaceDescription: 3,
  application: 4,
  packetFlags: 2,
  statisticsStart: 2,
  statisticsEnd: 3,
  received: 4,
  lost: 5,
} as const;

/** Records of a block of names. */
const name = { end: 0, ipv4: 1, ipv6: 2 } as const;

/** Directions, of the flags of a packet. */
const INBOUND = 1;
const OUTBOUND = 2;

/** Bytes of a block of a packet, without packet and comment and what fills them up. */
const PACKET_FIXED_BYTES = 28 + 4 + 8 + 4 + 4;
const US_PER_MS = 1_000;
const WORD = 2 ** 32;

/** One interface of a section. */
export interface Interface {
  readonly name: string;
  readonly description: string;
}

/** A packet and what is said of it. */
export interface PacketFields {
  /** The number of its interface in the section. */
  readonly interface: number;
  /** Unix time in ms. */
  readonly wallMs: number;
  /** Bytes of the whole packet. */
  readonly length: number;
  /** Its first bytes. */
  readonly bytes: Uint8Array;
  /** Whether it goes to the device. */
  readonly isOutbound: boolean;
  /** UTF-8. */
  readonly comment: Uint8Array;
}

/** What is said of an interface from time to time. */
export interface InterfaceCounts {
  /** The number of the interface in the section. */
  readonly interface: number;
  /** Unix times in ms. */
  readonly beganMs: number;
  readonly nowMs: number;
  /** Packets that came, those that were lost among them. */
  readonly received: number;
  readonly lost: number;
  /** Left out: none. */
  readonly comment?: string;
}

/** The block that begins a file. */
export function sectionHeader(application: string, comment: string): Buffer {
  const body = Buffer.alloc(16);
  body.writeUInt32LE(BYTE_ORDER_MAGIC, 0);
  body.writeUInt16LE(VERSION[0], 4);
  body.writeUInt16LE(VERSION[1], 6);
  // The length of the section is not known.
  body.writeBigInt64LE(-1n, 8);
  return block(
    SECTION_HEADER,
    body,
    textOption(option.comment, comment),
    textOption(option.application, application),
    END_OF_OPTIONS,
  );
}

/** The block of one interface; they are numbered in the order of their blocks, from 0 on. */
export function interfaceBlock({ name: text, description }: Interface, snaplen: number): Buffer {
  const body = Buffer.alloc(8);
  body.writeUInt16LE(LINKTYPE_RAW, 0);
  body.writeUInt32LE(snaplen, 4);
  return block(
    INTERFACE_DESCRIPTION,
    body,
    textOption(option.interfaceName, text),
    textOption(option.interfaceDescription, description),
    END_OF_OPTIONS,
  );
}

/** The block that names addresses (4 or 16 bytes each). */
export function namesBlock(
  names: readonly { readonly address: Uint8Array; readonly name: string }[],
): Buffer {
  const records = names.map(({ address, name: text }) =>
    record(
      address.length === 4 ? name.ipv4 : name.ipv6,
      Buffer.concat([address, Buffer.from(`${printable(text)}\0`)]),
    ),
  );
  return block(NAME_RESOLUTION, ...records, record(name.end, Buffer.alloc(0)));
}

/** The block of counts of one interface. */
export function statisticsBlock(counts: InterfaceCounts): Buffer {
  const { beganMs, nowMs, received, lost, comment } = counts;
  const body = Buffer.alloc(12);
  body.writeUInt32LE(counts.interface, 0);
  writeTime(blockMemory(body).view, 4, nowMs);
  return block(
    INTERFACE_STATISTICS,
    body,
    ...(comment === undefined ? [] : [textOption(option.comment, comment)]),
    timeOption(option.statisticsStart, beganMs),
    timeOption(option.statisticsEnd, nowMs),
    countOption(option.received, received),
    countOption(option.lost, lost),
    END_OF_OPTIONS,
  );
}

/** Bytes of the block of a packet. */
export function packetBlockBytes({ bytes, comment }: PacketFields): number {
  return PACKET_FIXED_BYTES + padded(bytes.length) + padded(comment.length);
}

/** Memory for blocks: the same bytes twice, because a DataView writes numbers fastest. */
export interface BlockMemory {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function blockMemory(bytes: Buffer): BlockMemory {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}

/** Writes the block of a packet at `start`; returns where it ends. */
export function writePacketBlock(into: BlockMemory, start: number, packet: PacketFields): number {
  const { view } = into;
  const { bytes, comment } = packet;
  const size = packetBlockBytes(packet);
  view.setUint32(start, ENHANCED_PACKET, true);
  view.setUint32(start + 4, size, true);
  view.setUint32(start + 8, packet.interface, true);
  writeTime(view, start + 12, packet.wallMs);
  view.setUint32(start + 20, bytes.length, true);
  view.setUint32(start + 24, packet.length, true);
  let at = writePadded(into, start + 28, bytes);
  view.setUint16(at, option.comment, true);
  view.setUint16(at + 2, comment.length, true);
  at = writePadded(into, at + 4, comment);
  view.setUint16(at, option.packetFlags, true);
  view.setUint16(at + 2, 4, true);
  view.setUint32(at + 4, packet.isOutbound ? OUTBOUND : INBOUND, true);
  view.setUint32(at + 8, option.end, true);
  view.setUint32(at + 12, size, true);
  return at + 16;
}

// ---- parts of blocks -------------------------------------------------------------------------

function block(type: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const whole = Buffer.alloc(12 + body.length);
  whole.writeUInt32LE(type, 0);
  whole.writeUInt32LE(whole.length, 4);
  body.copy(whole, 8);
  whole.writeUInt32LE(whole.length, 8 + body.length);
  return whole;
}

/** An option, or a record of names: both have a number, a length, and a value that is filled up. */
function record(code: number, value: Uint8Array): Buffer {
  const whole = Buffer.alloc(4 + padded(value.length));
  whole.writeUInt16LE(code, 0);
  whole.writeUInt16LE(value.length, 2);
  whole.set(value, 4);
  return whole;
}

const END_OF_OPTIONS = record(option.end, Buffer.alloc(0));

function textOption(code: number, text: string): Buffer {
  return record(code, Buffer.from(printable(text)));
}

function timeOption(code: number, wallMs: number): Buffer {
  const value = Buffer.alloc(8);
  writeTime(blockMemory(value).view, 0, wallMs);
  return record(code, value);
}

function countOption(code: number, count: number): Buffer {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(BigInt(count));
  return record(code, value);
}

/** Writes a time as two words of microseconds, the high one first. */
function writeTime(into: DataView, at: number, wallMs: number): void {
  const us = Math.round(wallMs * US_PER_MS);
  into.setUint32(at, Math.floor(us / WORD), true);
  into.setUint32(at + 4, us % WORD, true);
}

function writePadded(into: BlockMemory, start: number, bytes: Uint8Array): number {
  into.bytes.set(bytes, start);
  const end = start + padded(bytes.length);
  for (let at = start + bytes.length; at < end; at++) into.bytes[at] = 0;
  return end;
}

function padded(bytes: number): number {
  return (bytes + 3) & ~3;
}

/** Names come from people: programs that show them must not read more than a name. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?');
}
