// RST for segments of no connection (RFC 9293, 3.10.7.1). They wait in a ring of fixed size until
// they are made into packets; what finds the ring full is not answered, which the RFC allows.

import type { Header } from './header.ts';
import type { Ends } from './table.ts';
import { type Segment, TCP_ACK, TCP_FIN, TCP_RST, TCP_SYN } from './segment.ts';

const PLACES = 256;
/** Words of a place: device, family, nine words of the ends, sequence, acknowledgement, flags. */
const STRIDE = 14;

/** The RSTs that wait. */
export class Resets {
  readonly #words = new Int32Array(PLACES * STRIDE);
  #first = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Answers a segment between ends that have no connection. */
  answer(device: number, ends: Ends, segment: Segment): void {
    if ((segment.flags & TCP_RST) !== 0 || this.#count === PLACES) return;
    const at = ((this.#first + this.#count++) % PLACES) * STRIDE;
    const words = this.#words;
    words[at] = device;
    words[at + 1] = ends.isIpv6 ? 1 : 0;
    for (let i = 0; i < 9; i++) words[at + 2 + i] = ends.words[i]!;
    const hasAck = (segment.flags & TCP_ACK) !== 0;
    words[at + 11] = hasAck ? segment.acknowledgement : 0;
    words[at + 12] = hasAck ? 0 : (segment.sequence + lengthOf(segment)) | 0;
    words[at + 13] = hasAck ? TCP_RST : TCP_RST | TCP_ACK;
  }

  /** Takes the first one into a header; returns its device. */
  take(header: Header): number {
    const at = this.#first * STRIDE;
    this.#first = (this.#first + 1) % PLACES;
    this.#count--;
    const words = this.#words;
    header.clear(words[at + 13]!, words[at + 11]!);
    header.acknowledgement = words[at + 12]!;
    header.ends.isIpv6 = words[at + 1] === 1;
    for (let i = 0; i < 9; i++) header.ends.words[i] = words[at + 2 + i]!;
    return words[at]!;
  }
}

/** Sequence numbers that a segment takes (RFC 9293, 3.4: SEG.LEN). */
export function lengthOf(segment: Segment): number {
  const ofSyn = (segment.flags & TCP_SYN) === 0 ? 0 : 1;
  return segment.length + ofSyn + (segment.flags & TCP_FIN);
}
