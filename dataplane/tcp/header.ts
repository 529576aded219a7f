// Writes the headers of a packet: IP, TCP and its options. The header is described in one reusable
// object; the payload is in its place when the header is written, or follows.

import { PROTOCOL_TCP } from '../wire/ip.ts';
import { writeIpv4, writePartial } from './checksum.ts';
import type { Ends } from './table.ts';
import {
  MAXIMUM_SEGMENT_SIZE,
  NO_OPERATION,
  SACK,
  SACK_PERMITTED,
  TCP_BYTES,
  TIMESTAMP_LINE,
  WINDOW_SCALE,
} from './segment.ts';

export const IPV4_BYTES = 20;
export const IPV6_BYTES = 40;
export const TIMESTAMP_BYTES = 12;
/** Options are at most so long (RFC 9293, 3.1: the header has at most 60 bytes). */
const OPTIONS_MAX = 40;
const HOP_LIMIT = 64;
const DO_NOT_FRAGMENT = 0x4000;

/** A header that is to be written. */
export class Header {
  readonly ends: Ends;
  sequence = 0;
  acknowledgement = 0;
  flags = 0;
  /** Already scaled. */
  window = 0;
  /** 0: no such option. */
  mss = 0;
  /** -1: no such option. */
  shift = -1;
  isSackPermitted = false;
  hasTimestamp = false;
  stamp = 0;
  echo = 0;
  readonly blocks = new Int32Array(8);
  blockCount = 0;

  constructor(ends: Ends) {
    this.ends = ends;
  }

  /** Begins a new header: without options. */
  clear(flags: number, sequence: number): void {
    this.flags = flags;
    this.sequence = sequence;
    this.acknowledgement = 0;
    this.window = 0;
    this.mss = 0;
    this.shift = -1;
    this.isSackPermitted = false;
    this.hasTimestamp = false;
    this.blockCount = 0;
  }
}

/** Bytes of the options; blocks that do not fit are taken away. */
export function optionBytes(header: Header): number {
  let bytes = header.hasTimestamp ? TIMESTAMP_BYTES : 0;
  if (header.mss > 0) bytes += 4;
  if (header.shift >= 0) bytes += 4;
  if (header.isSackPermitted) bytes += 4;
  header.blockCount = Math.min(header.blockCount, (OPTIONS_MAX - 4 - bytes) >> 3);
  return header.blockCount > 0 ? bytes + 4 + 8 * header.blockCount : bytes;
}

/** Bytes of the IP header and the TCP header with its options. */
export function headerBytes(header: Header): number {
  const ip = header.ends.isIpv6 ? IPV6_BYTES : IPV4_BYTES;
  return ip + TCP_BYTES + optionBytes(header);
}

/**
 * Writes a header of `bytes` (`headerBytes`) at `offset`, before `payload` bytes. The checksum
 * covers the pseudo header (`complete` in checksum.ts).
 */
export function writeHeader(
  view: DataView,
  offset: number,
  header: Header,
  bytes: number,
  payload: number,
): void {
  const { isIpv6, words } = header.ends;
  if (isIpv6) writeIpv6(view, offset, words, bytes + payload);
  else writeIp(view, offset, words, bytes + payload);
  const ipBytes = isIpv6 ? IPV6_BYTES : IPV4_BYTES;
  const tcp = offset + ipBytes;
  view.setInt32(tcp, words[8]!);
  view.setInt32(tcp + 4, header.sequence);
  view.setInt32(tcp + 8, header.acknowledgement);
  view.setUint8(tcp + 12, ((bytes - ipBytes) >> 2) << 4);
  view.setUint8(tcp + 13, header.flags);
  view.setUint16(tcp + 14, header.window);
  view.setUint16(tcp + 18, 0);
  writeOptions(view, tcp + TCP_BYTES, header);
  writePartial(view, offset, tcp, bytes - ipBytes + payload);
}

function writeIp(view: DataView, offset: number, words: Int32Array, length: number): void {
  view.setUint16(offset, 0x4500);
  view.setUint16(offset + 2, length);
  // A packet that must not be fragmented needs no identification (RFC 6864, 4.1).
  view.setUint16(offset + 4, 0);
  view.setUint16(offset + 6, DO_NOT_FRAGMENT);
  view.setUint8(offset + 8, HOP_LIMIT);
  view.setUint8(offset + 9, PROTOCOL_TCP);
  view.setInt32(offset + 12, words[0]!);
  view.setInt32(offset + 16, words[4]!);
  writeIpv4(view, offset);
}

function writeIpv6(view: DataView, offset: number, words: Int32Array, length: number): void {
  view.setUint32(offset, 0x6000_0000);
  view.setUint16(offset + 4, length - IPV6_BYTES);
  view.setUint8(offset + 6, PROTOCOL_TCP);
  view.setUint8(offset + 7, HOP_LIMIT);
  for (let i = 0; i < 8; i++) view.setInt32(offset + 8 + 4 * i, words[i]!);
}

/** Each option is filled up to whole words in front, so that its numbers are at even places. */
function writeOptions(view: DataView, from: number, header: Header): void {
  let at = from;
  if (header.mss > 0) {
    view.setUint16(at, (MAXIMUM_SEGMENT_SIZE << 8) | 4);
    view.setUint16(at + 2, header.mss);
    at += 4;
  }
  if (header.isSackPermitted) {
    view.setUint16(at, (NO_OPERATION << 8) | NO_OPERATION);
    view.setUint16(at + 2, (SACK_PERMITTED << 8) | 2);
    at += 4;
  }
  if (header.shift >= 0) {
    view.setUint16(at, (NO_OPERATION << 8) | WINDOW_SCALE);
    view.setUint16(at + 2, (3 << 8) | header.shift);
    at += 4;
  }
  if (header.hasTimestamp) {
    view.setInt32(at, TIMESTAMP_LINE);
    view.setInt32(at + 4, header.stamp);
    view.setInt32(at + 8, header.echo);
    at += TIMESTAMP_BYTES;
  }
  if (header.blockCount === 0) return;
  view.setUint16(at, (NO_OPERATION << 8) | NO_OPERATION);
  view.setUint16(at + 2, (SACK << 8) | (2 + 8 * header.blockCount));
  for (let i = 0; i < 2 * header.blockCount; i++) view.setInt32(at + 4 + 4 * i, header.blocks[i]!);
}
