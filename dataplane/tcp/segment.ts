// Reads the header of a segment and its options (RFC 9293, 3.1 and 3.2) into one reusable object. A
// segment may be a run: one header, and the payloads of several segments that follow each other.

import type { InnerPacket } from '../wire/ip.ts';

export { TCP_ACK, TCP_FIN, TCP_RST, TCP_SYN } from '../wire/ip.ts';

export const TCP_PSH = 0x08;

/** A header of TCP without options. */
export const TCP_BYTES = 20;
/** Kinds of options (IANA). */
export const END = 0;
export const NO_OPERATION = 1;
export const MAXIMUM_SEGMENT_SIZE = 2;
export const WINDOW_SCALE = 3;
export const SACK_PERMITTED = 4;
export const SACK = 5;
export const TIMESTAMP = 8;
/** Two NO_OPERATION, then TIMESTAMP of 10 bytes: how all systems send it (RFC 7323, appendix A). */
export const TIMESTAMP_LINE = 0x0101_080a;
/** A larger shift counts as 14 (RFC 7323, 2.3). */
const MAX_SHIFT = 14;
const MAX_BLOCKS = 4;

/** A segment that came. */
export class Segment {
  sequence = 0;
  acknowledgement = 0;
  flags = 0;
  /** As the header says, before it is scaled. */
  window = 0;
  /** Where the payload is, and how long. */
  at = 0;
  length = 0;
  /** 0: the segment has no such option. */
  mss = 0;
  /** -1: the segment has no such option. */
  shift = -1;
  isSackPermitted = false;
  hasTimestamp = false;
  /** TSval and TSecr (RFC 7323, 3.2). */
  stamp = 0;
  echo = 0;
  /** Left and right edges of SACK blocks (RFC 2018, 3), and how many blocks. */
  readonly blocks = new Int32Array(2 * MAX_BLOCKS);
  blockCount = 0;
}

/** Reads the segment of a packet at `offset`; false where its header lies about its length. */
export function readSegment(
  view: DataView,
  offset: number,
  packet: InnerPacket,
  segment: Segment,
): boolean {
  const tcp = offset + packet.upperOffset;
  const end = offset + packet.length;
  if (tcp + TCP_BYTES > end) return false;
  const headerBytes = (view.getUint8(tcp + 12) >> 4) << 2;
  const at = tcp + headerBytes;
  if (headerBytes < TCP_BYTES || at > end) return false;
  segment.sequence = view.getInt32(tcp + 4);
  segment.acknowledgement = view.getInt32(tcp + 8);
  segment.flags = view.getUint8(tcp + 13);
  segment.window = view.getUint16(tcp + 14);
  segment.at = at;
  segment.length = end - at;
  segment.mss = 0;
  segment.shift = -1;
  segment.isSackPermitted = false;
  segment.hasTimestamp = false;
  segment.blockCount = 0;
  if (headerBytes === TCP_BYTES + 12 && view.getInt32(tcp + TCP_BYTES) === TIMESTAMP_LINE)
    readTimestamp(view, tcp + TCP_BYTES + 2, segment);
  else readOptions(view, tcp + TCP_BYTES, at, segment);
  return true;
}

/** An option that lies about its length ends the list (RFC 9293, 3.1: MUST-7). */
function readOptions(view: DataView, from: number, end: number, segment: Segment): void {
  for (let at = from; at < end;) {
    const kind = view.getUint8(at);
    if (kind === END) return;
    if (kind === NO_OPERATION) {
      at++;
      continue;
    }
    const length = at + 1 < end ? view.getUint8(at + 1) : 0;
    if (length < 2 || at + length > end) return;
    readOption(view, at, kind, length, segment);
    at += length;
  }
}

function readOption(
  view: DataView,
  at: number,
  kind: number,
  length: number,
  segment: Segment,
): void {
  if (kind === MAXIMUM_SEGMENT_SIZE && length === 4) segment.mss = view.getUint16(at + 2);
  else if (kind === WINDOW_SCALE && length === 3)
    segment.shift = Math.min(MAX_SHIFT, view.getUint8(at + 2));
  else if (kind === SACK_PERMITTED && length === 2) segment.isSackPermitted = true;
  else if (kind === TIMESTAMP && length === 10) readTimestamp(view, at, segment);
  else if (kind === SACK && (length & 7) === 2) readBlocks(view, at, length, segment);
}

function readTimestamp(view: DataView, at: number, segment: Segment): void {
  segment.hasTimestamp = true;
  segment.stamp = view.getInt32(at + 2);
  segment.echo = view.getInt32(at + 6);
}

function readBlocks(view: DataView, at: number, length: number, segment: Segment): void {
  const count = Math.min(MAX_BLOCKS, (length - 2) >> 3);
  for (let i = 0; i < 2 * count; i++) segment.blocks[i] = view.getInt32(at + 2 + 4 * i);
  segment.blockCount = count;
}
