// What came through the tunnel of a peer, as far as it tells why nothing works although the
// handshake does: when a packet of it last passed, when one was refused, and from which wrong
// address it sent. A peer has one of these; noting something never allocates.

import { type ReasonName, reasonNames, reasons } from '../reasons.ts';
import { formatAddress } from '../wire/address.ts';
import type { InnerPacket } from '../wire/ip.ts';

/** Packets of a peer that were refused. */
export interface RefusedInside {
  readonly reason: Exclude<ReasonName, 'none'>;
  /** Unix time in ms of the last one. */
  readonly atMs: number;
}

/** What came through the tunnel of a peer. Times: Unix ms, null: never. */
export interface InsideSeen {
  /** Since when the worker knows the peer. */
  readonly sinceMs: number;
  /** When a packet of the peer last passed. */
  readonly passedAtMs: number | null;
  /** Bytes of the largest packet of the peer that passed since its latest handshake; 0: none. */
  readonly largest: number;
  /** The last packet of the peer that was refused, but for its source or size. */
  readonly refused: RefusedInside | null;
  /** Packets of the peer with an address that is not its own. */
  readonly wrongSource: {
    readonly address: string;
    readonly count: number;
    readonly atMs: number;
  } | null;
  /** Packets for the peer since its latest handshake that were too big and might not be cut. */
  readonly tooBig: { readonly bytes: number; readonly count: number; readonly atMs: number } | null;
}

const NEVER = Number.NEGATIVE_INFINITY;

/** What came through the tunnel of one peer; `now` is the monotonic clock in ms. */
export class Inside {
  readonly #sinceMs: number;
  #passedAt = NEVER;
  #largest = 0;
  #refusedAt = NEVER;
  #reason: number = reasons.none;
  #wrongSourceAt = NEVER;
  #wrongSources = 0;
  #version = 0;
  readonly #source = new Int32Array(4);
  #tooBigAt = NEVER;
  #tooBigs = 0;
  #tooBigBytes = 0;

  /** `sinceMs`: Unix time in ms. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  /** A packet of the peer passed. */
  passed(bytes: number, now: number): void {
    this.#passedAt = now;
    if (bytes > this.#largest) this.#largest = bytes;
  }

  /** A packet of the peer was refused. */
  refused(reason: number, packet: InnerPacket, now: number): void {
    if (reason !== reasons.inner_source_not_allowed) {
      this.#refusedAt = now;
      this.#reason = reason;
      return;
    }
    this.#wrongSourceAt = now;
    this.#wrongSources++;
    this.#version = packet.version;
    this.#source[0] = packet.source0;
    this.#source[1] = packet.source1;
    this.#source[2] = packet.source2;
    this.#source[3] = packet.source3;
  }

  /** A packet for the peer was too big. */
  tooBig(bytes: number, now: number): void {
    this.#tooBigAt = now;
    this.#tooBigs++;
    this.#tooBigBytes = bytes;
  }

  /** A handshake is complete: sizes are those since then. */
  begin(): void {
    this.#largest = 0;
    this.#tooBigs = 0;
  }

  /** What was seen; `wallMs` is the Unix time in ms at `now`. */
  read(now: number, wallMs: number): InsideSeen {
    const atMs = (at: number): number => Math.round(wallMs - (now - at));
    const isRefused = this.#refusedAt !== NEVER;
    return {
      sinceMs: this.#sinceMs,
      passedAtMs: this.#passedAt === NEVER ? null : atMs(this.#passedAt),
      largest: this.#largest,
      refused: isRefused
        ? {
            reason: reasonNames[this.#reason] as RefusedInside['reason'],
            atMs: atMs(this.#refusedAt),
          }
        : null,
      wrongSource:
        this.#wrongSources === 0
          ? null
          : {
              address: this.#wrongAddress(),
              count: this.#wrongSources,
              atMs: atMs(this.#wrongSourceAt),
            },
      tooBig:
        this.#tooBigs === 0
          ? null
          : { bytes: this.#tooBigBytes, count: this.#tooBigs, atMs: atMs(this.#tooBigAt) },
    };
  }

  #wrongAddress(): string {
    const bytes = new Uint8Array(this.#version === 4 ? 4 : 16);
    const view = new DataView(bytes.buffer);
    for (let i = 0; i < bytes.length / 4; i++) view.setInt32(4 * i, this.#source[i]!);
    return formatAddress(bytes);
  }
}
