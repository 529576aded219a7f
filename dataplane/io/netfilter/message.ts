// Messages to the packet filter of the kernel over netlink: a header and attributes, as
// linux/netlink.h, linux/netfilter/nfnetlink.h and linux/netfilter/nf_tables.h have them. All
// messages between a begin and an end are one transaction.

import { endianness } from 'node:os';
import { getSystemErrorMessage, getSystemErrorName } from 'node:util';
import { loadAddon } from '../../native/index.ts';

/** A number is written as 32 bits in network order, a text with a zero behind it. */
export type Value = number | string | Uint8Array | readonly Attribute[];
export type Attribute = readonly [type: number, value: Value];

/** One message of nf_tables. */
export interface Message {
  readonly type: number;
  /** The family of the table; left out: inet. */
  readonly family?: number;
  /** Flags of netlink, beside that of a request. */
  readonly flags: number;
  readonly attributes: readonly Attribute[];
  /** What it asks for, in words: "the chain forward". */
  readonly what: string;
}

/** Why something was refused: the name of the error (EPERM), and a sentence. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** How to fix a refusal. */
export function fixOfRefusal({ code }: Refusal): string {
  if (code === 'ENOSYS') return 'apt-get install g++ && npm run build:native';
  return code === 'EPERM'
    ? 'run as root or with CAP_NET_ADMIN'
    : 'where the kernel lacks it: modprobe -a nf_tables nft_masq nft_ct';
}

/** The order of bytes in this machine, which headers of netlink have. */
const IS_LITTLE = endianness() === 'LE';

export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;
/** All objects of a kind are read. */
export const NLM_F_DUMP = 0x300;
const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const NLA_F_NESTED = 0x8000;
const NLA_TYPE_MASK = 0x3fff;
const HEADER_BYTES = 16;
/** Header, then the family, a version and the subsystem of `nfgenmsg`. */
const START_BYTES = 20;
const ATTRIBUTE_BYTES = 4;
const NFNL_SUBSYS_NFTABLES = 10;
const NFNL_MSG_BATCH_BEGIN = 16;
const NFNL_MSG_BATCH_END = 17;
const NFPROTO_INET = 1;

/**
 * Lets the kernel do all of it or nothing; returns null or why not. A check changes nothing:
 * without an end the kernel judges what was sent, and drops it.
 */
export function transact(
  messages: readonly Message[],
  mode: 'commit' | 'check' = 'commit',
): Refusal | null {
  const last = messages.length - 1;
  const frames = messages.map((message, i) => requestOf(message, i + 1, i === last));
  const end = mode === 'commit' ? [boundOf(NFNL_MSG_BATCH_END)] : [];
  const answers = ask([boundOf(NFNL_MSG_BATCH_BEGIN), ...frames, ...end]);
  if ('code' in answers) return answers;
  for (const { error, sequence } of answers) {
    const what = messages[sequence - 1]?.what ?? 'the transaction';
    if (error !== 0) return refusal(error, `the kernel refuses ${what}`);
  }
  return null;
}

/** Reads what a message asks for; returns the attributes of each object, or why there is none. */
export function read(message: Message): Buffer[] | Refusal {
  const answers = ask([requestOf(message, 1, false)]);
  if ('code' in answers) return answers;
  for (const { error } of answers)
    if (error !== 0) return refusal(error, `the kernel does not show ${message.what}`);
  return answers.map(({ attributes }) => attributes);
}

/** The value of an attribute among others; empty where there is none. */
export function find(attributes: Buffer, type: number): Buffer {
  for (let at = 0; at + ATTRIBUTE_BYTES <= attributes.length;) {
    const length = readInteger(attributes, at, 2);
    if (length < ATTRIBUTE_BYTES) break;
    if ((readInteger(attributes, at + 2, 2) & NLA_TYPE_MASK) === type)
      return attributes.subarray(at + ATTRIBUTE_BYTES, at + length);
    at += aligned(length);
  }
  return Buffer.alloc(0);
}

/** 32 bits in the order of this machine, as registers of the kernel have numbers. */
export function native32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  writeInteger(bytes, value, 0, 4);
  return bytes;
}

/** 16 bits in network order. */
export function network16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff);
}

interface Answer {
  readonly sequence: number;
  /** 0, or an error below 0. */
  readonly error: number;
  readonly attributes: Buffer;
}

function refusal(error: number, what: string): Refusal {
  const message = `${what}: ${getSystemErrorMessage(error) ?? `error ${-error}`}`;
  return { code: getSystemErrorName(error), message };
}

function ask(frames: readonly Frame[]): Answer[] | Refusal {
  const { addon } = loadAddon();
  if (addon === null) return { code: 'ENOSYS', message: 'the addon was not built' };
  try {
    return answersIn(Buffer.from(addon.askNetfilter(write(frames))));
  } catch (error) {
    const { code = 'EIO', message } = error as NodeJS.ErrnoException;
    return { code, message };
  }
}

function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const length = readInteger(bytes, at, 4);
    if (length < HEADER_BYTES) break;
    const type = readInteger(bytes, at + 4, 2);
    if (type === NLMSG_DONE) break;
    answers.push({
      sequence: readInteger(bytes, at + 8, 4),
      error: type === NLMSG_ERROR ? readInteger(bytes, at + HEADER_BYTES, 4) | 0 : 0,
      attributes: bytes.subarray(at + START_BYTES, at + length),
    });
    at += aligned(length);
  }
  return answers;
}

/** A message as it is written. */
interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** The bytes of `nfgenmsg`. */
  readonly family: Uint8Array;
  readonly attributes: readonly Attribute[];
}

/** The kernel answers a refusal, and where it is asked to. */
function requestOf(
  { type, family = NFPROTO_INET, flags, attributes }: Message,
  sequence: number,
  isAnswered: boolean,
): Frame {
  return {
    type: (NFNL_SUBSYS_NFTABLES << 8) | type,
    flags: flags | NLM_F_REQUEST | (isAnswered ? NLM_F_ACK : 0),
    sequence,
    family: Uint8Array.of(family, 0, 0, 0),
    attributes,
  };
}

/** Where a transaction begins or ends. */
function boundOf(type: number): Frame {
  const family = Uint8Array.of(0, 0, 0, NFNL_SUBSYS_NFTABLES);
  return { type, flags: NLM_F_REQUEST, sequence: 0, family, attributes: [] };
}

function write(frames: readonly Frame[]): Buffer {
  const sizes = frames.map(({ attributes }) => START_BYTES + sizeOf(attributes));
  const bytes = Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const [i, { type, flags, sequence, family, attributes }] of frames.entries()) {
    writeInteger(bytes, sizes[i] ?? 0, at, 4);
    writeInteger(bytes, type, at + 4, 2);
    writeInteger(bytes, flags, at + 6, 2);
    writeInteger(bytes, sequence, at + 8, 4);
    bytes.set(family, at + HEADER_BYTES);
    at = writeList(bytes, attributes, at + START_BYTES);
  }
  return bytes;
}

/** Writes attributes; returns where they end. */
function writeList(bytes: Buffer, attributes: readonly Attribute[], start: number): number {
  let at = start;
  for (const [type, value] of attributes) {
    const end = writeValue(bytes, value, at + ATTRIBUTE_BYTES);
    writeInteger(bytes, end - at, at, 2);
    writeInteger(bytes, Array.isArray(value) ? type | NLA_F_NESTED : type, at + 2, 2);
    at = aligned(end);
  }
  return at;
}

function writeValue(bytes: Buffer, value: Value, at: number): number {
  if (typeof value === 'number') return bytes.writeInt32BE(value | 0, at);
  if (typeof value === 'string') return at + bytes.write(value, at) + 1;
  if (!(value instanceof Uint8Array)) return writeList(bytes, value, at);
  bytes.set(value, at);
  return at + value.length;
}

function sizeOf(attributes: readonly Attribute[]): number {
  let size = 0;
  for (const [, value] of attributes) size += ATTRIBUTE_BYTES + aligned(valueSize(value));
  return size;
}

function valueSize(value: Value): number {
  if (typeof value === 'number') return 4;
  if (typeof value === 'string') return Buffer.byteLength(value) + 1;
  return value instanceof Uint8Array ? value.length : sizeOf(value);
}

function writeInteger(bytes: Buffer, value: number, at: number, size: 2 | 4): void {
  if (IS_LITTLE) bytes.writeUIntLE(value, at, size);
  else bytes.writeUIntBE(value, at, size);
}

function readInteger(bytes: Buffer, at: number, size: 2 | 4): number {
  return IS_LITTLE ? bytes.readUIntLE(at, size) : bytes.readUIntBE(at, size);
}

function aligned(length: number): number {
  return (length + 3) & ~3;
}
