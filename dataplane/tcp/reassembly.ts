// The text of segments (RFC 9293, 3.10.7.4, seventh step): bytes in order go to the owner at once,
// and what the owner does not take waits, as does what came out of order. Nothing that was
// acknowledged is dropped. The window follows what the owner has taken (RFC 9293, 3.8.6.2.2).

import { CHUNK_BYTES } from './buffers.ts';
import {
  ACK_NOW,
  ABORTED,
  DEVICE,
  DSACK_DUE,
  DSACK_FROM,
  DSACK_TO,
  FIN_AT,
  FIN_REPORTED,
  FIN_TAKEN,
  FLAGS,
  IRS,
  MSS,
  OFFERED,
  ORPHAN,
  QUICK,
  RANGE_FIRST,
  RCV_ADV,
  RCV_LIMIT,
  RCV_NXT,
  RCV_SHIFT,
  RCV_STREAM,
  SACK_OK,
  STATE,
  TAKEN,
  TAKEN_SINCE,
  WORDS,
} from './columns.ts';
import type { Core } from './core.ts';
import { earlier, isAfter, isBefore } from './numbers.ts';

/** So many bytes may wait for the owner at first, and at most. */
const FIRST_LIMIT = 65_536;
const LAST_LIMIT = 4 * 1_048_576;
/** So many segments at the beginning are acknowledged at once. */
const QUICK_SEGMENTS = 16;
const LARGEST_FIELD = 65_535;
/** So much may come even if there is no memory: bytes in order go to the owner without any. */
const LEAST_ROOM = 16_384;

/** Bytes that come, of all connections. */
export class Reassembly {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /** The other side's SYN has come: its bytes begin after `irs`. */
  begin(slot: number, irs: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    words[w + IRS] = irs;
    words[w + RCV_NXT] = words[w + TAKEN] = words[w + RCV_ADV] = (irs + 1) | 0;
    words[w + RCV_LIMIT] = FIRST_LIMIT;
    words[w + QUICK] = QUICK_SEGMENTS;
  }

  /**
   * Takes the text of a segment: `length` bytes from `from` on, inside of the window. False where
   * the connection has ended meanwhile.
   */
  take(slot: number, bytes: Buffer, at: number, from: number, length: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const late = (words[w + RCV_NXT]! - from) | 0;
    if (late > 0) this.#noteDuplicate(w, from, earlier((from + length) | 0, words[w + RCV_NXT]!));
    const skipped = Math.max(0, late);
    if (skipped >= length) return true;
    const rest = length - skipped;
    if (late < 0) return this.#keepForLater(slot, bytes, at, from, rest);
    return this.#takeInOrder(slot, bytes, at + skipped, rest);
  }

  #takeInOrder(slot: number, bytes: Buffer, at: number, length: number): boolean {
    const { words, ranges, table } = this.#core;
    const w = slot * WORDS;
    const handle = table.handleOf(slot);
    let taken = 0;
    if (words[w + TAKEN] === words[w + RCV_NXT]) {
      taken = this.#offer(slot, handle, bytes, at, length);
      if (taken < 0) return false;
      words[w + RCV_NXT] = (words[w + RCV_NXT]! + taken) | 0;
      this.#noteTaken(slot, taken);
    }
    if (taken < length) {
      const kept = this.#keep(slot, bytes, at + taken, words[w + RCV_NXT]!, length - taken);
      words[w + RCV_NXT] = (words[w + RCV_NXT]! + kept) | 0;
    }
    if (words[w + RANGE_FIRST] === 0) {
      if (taken === length) this.#release(slot);
      return true;
    }
    const end = ranges.advance(slot, words[w + RCV_NXT]!);
    words[w + FLAGS]! |= ACK_NOW;
    if (end === words[w + RCV_NXT]) return true;
    words[w + RCV_NXT] = end;
    return this.deliver(slot);
  }

  /** Bytes after a hole: they are kept and reported by SACK, at once (RFC 5681, 4.2). */
  #keepForLater(slot: number, bytes: Buffer, at: number, from: number, length: number): boolean {
    const { words, ranges } = this.#core;
    const w = slot * WORDS;
    words[w + FLAGS]! |= ACK_NOW;
    const to = (from + length) | 0;
    if (ranges.includes(slot, from, to)) {
      this.#noteDuplicate(w, from, to);
      return true;
    }
    if (!ranges.hasRoom(slot)) return true;
    const kept = this.#keep(slot, bytes, at, from, length);
    if (kept > 0) ranges.add(slot, from, (from + kept) | 0);
    return true;
  }

  /** Writes bytes to their place in the queue; returns for how many there was memory. */
  #keep(slot: number, bytes: Buffer, at: number, from: number, length: number): number {
    const { words, streams } = this.#core;
    const w = slot * WORDS;
    const queue = w + RCV_STREAM;
    const first = (words[w + IRS]! + 1) | 0;
    const position = (from - first) | 0;
    const start = (words[w + TAKEN]! - first) | 0;
    const device = words[w + DEVICE]!;
    const isWhole = streams.extend(queue, device, start, position + length - 1);
    const kept = isWhole ? length : Math.min(length, streams.roomAfter(queue, position));
    if (kept > 0) streams.write(queue, position, bytes, at, kept);
    return kept;
  }

  /** Offers what waits to the owner. False where the connection has ended meanwhile. */
  deliver(slot: number): boolean {
    const { words, streams, buffers, table } = this.#core;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & OFFERED) !== 0) return true;
    const handle = table.handleOf(slot);
    const queue = w + RCV_STREAM;
    while (words[w + TAKEN] !== this.#end(w)) {
      const position = (words[w + TAKEN]! - words[w + IRS]! - 1) | 0;
      const within = position & (CHUNK_BYTES - 1);
      const waiting = (this.#end(w) - words[w + TAKEN]!) | 0;
      const chunk = streams.chunkAt(queue, position);
      let length = CHUNK_BYTES - within;
      for (let last = chunk; length < waiting && buffers.isFollowed(last); last++)
        length += CHUNK_BYTES;
      length = Math.min(length, waiting);
      const at = buffers.offsetOf(chunk) + within;
      const taken = this.#offer(slot, handle, buffers.bytesOf(chunk), at, length);
      if (taken < 0) return false;
      this.#noteTaken(slot, taken);
      if (taken < length) break;
    }
    this.#release(slot);
    return true;
  }

  /** The end of the bytes that came in order: a FIN is none. */
  #end(w: number): number {
    const { words } = this.#core;
    return (words[w + FLAGS]! & FIN_TAKEN) === 0 ? words[w + RCV_NXT]! : words[w + FIN_AT]!;
  }

  /** Gives back the memory of what was taken. */
  #release(slot: number): void {
    const { words, streams } = this.#core;
    const w = slot * WORDS;
    const queue = w + RCV_STREAM;
    if (streams.isEmpty(queue)) return;
    const device = words[w + DEVICE]!;
    const isAll = words[w + TAKEN] === this.#end(w) && words[w + RANGE_FIRST] === 0;
    if (isAll) streams.clear(queue, device);
    else streams.trim(queue, device, (words[w + TAKEN]! - words[w + IRS]! - 1) | 0);
  }

  /** How many bytes the owner takes; -1 where the connection has ended meanwhile. */
  #offer(slot: number, handle: number, bytes: Buffer, at: number, length: number): number {
    const { words, owner, table } = this.#core;
    const w = slot * WORDS;
    if ((words[w + FLAGS]! & ORPHAN) !== 0) return length;
    words[w + FLAGS]! |= OFFERED;
    const taken = owner.received(handle, bytes, at, length);
    if (table.slotOf(handle) !== slot || words[w + STATE] === ABORTED) return -1;
    words[w + FLAGS]! &= ~OFFERED;
    return taken < length ? Math.max(0, taken) : length;
  }

  /** The owner has taken bytes: the more it takes at once, the more may wait. */
  #noteTaken(slot: number, taken: number): void {
    const { words } = this.#core;
    const w = slot * WORDS;
    words[w + TAKEN] = (words[w + TAKEN]! + taken) | 0;
    if (words[w + RCV_LIMIT]! >= LAST_LIMIT) return;
    words[w + TAKEN_SINCE]! += taken;
    if (words[w + TAKEN_SINCE]! < words[w + RCV_LIMIT]! || words[w + TAKEN] !== this.#end(w))
      return;
    words[w + RCV_LIMIT]! *= 2;
    words[w + TAKEN_SINCE] = 0;
  }

  /** RFC 2883, 4: what came twice is reported once. */
  #noteDuplicate(w: number, from: number, to: number): void {
    const { words } = this.#core;
    words[w + FLAGS]! |= ACK_NOW;
    if ((words[w + FLAGS]! & SACK_OK) === 0) return;
    words[w + FLAGS]! |= DSACK_DUE;
    words[w + DSACK_FROM] = from;
    words[w + DSACK_TO] = to;
  }

  /** A whole segment came again that was acknowledged before. */
  noteRepeated(slot: number, from: number, length: number): void {
    const w = slot * WORDS;
    const next = this.#core.words[w + RCV_NXT]!;
    if (isBefore(from, next)) this.#noteDuplicate(w, from, earlier((from + length) | 0, next));
  }

  /** Tells the owner that all has come, once it has all. False where the connection has ended. */
  finish(slot: number): boolean {
    const { words, owner, table } = this.#core;
    const w = slot * WORDS;
    const flags = words[w + FLAGS]!;
    if ((flags & (FIN_TAKEN | FIN_REPORTED)) !== FIN_TAKEN || (flags & ORPHAN) !== 0) return true;
    if (words[w + TAKEN] !== words[w + FIN_AT]) return true;
    words[w + FLAGS]! |= FIN_REPORTED;
    const handle = table.handleOf(slot);
    owner.finished(handle);
    return table.slotOf(handle) === slot && words[w + STATE] !== ABORTED;
  }

  // ---- the window -------------------------------------------------------------------------------

  /** The right edge that may be announced: it never moves back (RFC 9293, 3.8.6: SHLD-14). */
  #edge(slot: number): number {
    const { words, buffers } = this.#core;
    const w = slot * WORDS;
    const waiting = (words[w + RCV_NXT]! - words[w + TAKEN]!) | 0;
    const ofPool = buffers.roomOf(words[w + DEVICE]!);
    const memory = waiting === 0 ? Math.max(ofPool, LEAST_ROOM) : ofPool;
    const room = Math.min(words[w + RCV_LIMIT]! - waiting, memory);
    const edge = (words[w + RCV_NXT]! + Math.max(0, room)) | 0;
    const growth = (edge - words[w + RCV_ADV]!) | 0;
    const least = Math.min(words[w + RCV_LIMIT]! >> 1, words[w + MSS]!);
    return growth < least ? words[w + RCV_ADV]! : edge;
  }

  /** Whether the window has grown so much that the other side should know. */
  isWorthAnUpdate(slot: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    const growth = (this.#edge(slot) - words[w + RCV_ADV]!) | 0;
    const window = (words[w + RCV_ADV]! - words[w + RCV_NXT]!) | 0;
    return growth > 0 && (window < words[w + MSS]! * 2 || growth >= words[w + RCV_LIMIT]! >> 1);
  }

  /** The window for a segment that is made now, as its field has it; notes what was announced. */
  announce(slot: number, isScaled: boolean): number {
    const { words } = this.#core;
    const w = slot * WORDS;
    const edge = this.#edge(slot);
    const shift = isScaled ? words[w + RCV_SHIFT]! : 0;
    const window = (edge - words[w + RCV_NXT]!) | 0;
    // An edge that stays where it is must not move back by what the shift cuts off; nor may it move
    // on each time that the other side sends a byte (RFC 7323, 2.4).
    const waiting = (words[w + RCV_NXT]! - words[w + TAKEN]!) | 0;
    const unit = 1 << shift;
    const isKept = edge === words[w + RCV_ADV] && waiting + window <= words[w + RCV_LIMIT]! + unit;
    const scaled = isKept ? (window + unit - 1) >> shift : window >> shift;
    const field = Math.min(scaled, LARGEST_FIELD);
    const announced = (words[w + RCV_NXT]! + (field << shift)) | 0;
    if (isAfter(announced, words[w + RCV_ADV]!)) words[w + RCV_ADV] = announced;
    return field;
  }

  /** Whether bytes are there that the owner has not taken. */
  isWaiting(slot: number): boolean {
    const { words } = this.#core;
    const w = slot * WORDS;
    return isBefore(words[w + TAKEN]!, this.#end(w));
  }
}
