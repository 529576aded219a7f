// Puts the fragments of a device's datagram together. The packet path holds them back until all
// are there and hands them over one after the other and in order (path/datagrams.ts), so one
// datagram is at work at a time; what does not fit to it is dropped.

import { reasons } from '../reasons.ts';
import {
  hasMore,
  headBytes,
  longest,
  nextHeaderOf,
  turnIntoWhole,
  wholeBytes,
} from '../wire/fragment.ts';
import { FIRST_FRAGMENT, InnerPacket, parseInner } from '../wire/ip.ts';

/** The arena of the sockets where it is put together. */
export const JOINED_ARENA = 3;
const ROOM = 40 + 65_535 + 64;

/** The datagram at work. */
export class Joiner {
  readonly bytes = Buffer.from(new ArrayBuffer(ROOM));
  readonly view = new DataView(this.bytes.buffer, this.bytes.byteOffset, ROOM);
  readonly #first = new InnerPacket();
  #device = -1;
  /** Bytes of the fragmentable part that are there. */
  #have = 0;
  #next = 0;

  /**
   * Takes a fragment of a device. True: the datagram is whole at the beginning of `bytes`, and
   * `packet` describes it.
   */
  take(
    device: number,
    from: Uint8Array,
    view: DataView,
    offset: number,
    packet: InnerPacket,
  ): boolean {
    const isLast = !hasMore(view, offset, packet);
    if (packet.fragment === FIRST_FRAGMENT) this.#begin(device, from, view, offset, packet);
    else if (!this.#continues(device, packet)) {
      this.#device = -1;
      return false;
    }
    const payload = packet.length - packet.fragmentedAt;
    const end = this.#have + payload;
    const first = this.#first;
    if (wholeBytes(first, end) > longest(first)) {
      this.#device = -1;
      return false;
    }
    const at = offset + packet.fragmentedAt;
    this.bytes.set(from.subarray(at, at + payload), headBytes(first) + this.#have);
    this.#have = end;
    if (!isLast) return false;
    this.#device = -1;
    const length = wholeBytes(first, end);
    turnIntoWhole(this.view, 0, first, length, first.hopLimit, this.#next);
    return parseInner(this.view, 0, length, packet) === reasons.none;
  }

  #begin(
    device: number,
    from: Uint8Array,
    view: DataView,
    offset: number,
    packet: InnerPacket,
  ): void {
    this.#device = device;
    this.#have = 0;
    this.#next = packet.version === 6 ? nextHeaderOf(view, offset, packet) : 0;
    parseInner(view, offset, packet.length, this.#first);
    this.bytes.set(from.subarray(offset, offset + headBytes(packet)), 0);
  }

  #continues(device: number, packet: InnerPacket): boolean {
    const first = this.#first;
    return (
      this.#device === device &&
      first.version === packet.version &&
      first.identification === packet.identification &&
      packet.fragmentOffset * 8 === this.#have
    );
  }
}
