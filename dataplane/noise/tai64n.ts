// TAI64N timestamps (https://cr.yp.to/libtai/tai64.html): 8 bytes of seconds and 4 of nanoseconds,
// big-endian, so that comparing bytes compares times. The low 24 bits of the nanoseconds are
// cleared, as in the kernel, so that a timestamp shows little about the clock.

import { TIMESTAMP_BYTES } from '../constants.ts';

/** TAI64 label of the Unix epoch, with the ten leap seconds of 1970. */
const TAI64_EPOCH_SECONDS = 2n ** 62n + 10n;
const STEP_NANOSECONDS = 2 ** 24;

/**
 * Makes timestamps that only grow for each peer, also when the wall clock is set back or the
 * gateway restarts.
 */
export class TimestampSource {
  #greatestMs: number;
  readonly #next = new Uint8Array(TIMESTAMP_BYTES);

  /** `floorMs` is Unix time; no earlier run used a greater one. */
  constructor(floorMs = Number.NEGATIVE_INFINITY) {
    this.#greatestMs = floorMs;
  }

  /**
   * Replaces the last timestamp that a peer was sent (12 bytes; zeros before the first) by the
   * greatest of: the wall clock, the greatest time ever used, the last timestamp plus one step.
   * `wallMs` is Unix time.
   */
  renew(last: Uint8Array, wallMs: number): void {
    this.#greatestMs = Math.max(this.#greatestMs, wallMs);
    const next = this.#next;
    let seconds = Math.floor(this.#greatestMs / 1000);
    let nanoseconds = Math.floor((this.#greatestMs - seconds * 1000) * 1e6);
    writeTai64n(next, seconds, nanoseconds - (nanoseconds % STEP_NANOSECONDS));
    if (!isLaterTimestamp(next, last)) {
      ({ seconds, nanoseconds } = readTai64n(last));
      nanoseconds += STEP_NANOSECONDS;
      const carries = nanoseconds >= 1e9;
      writeTai64n(next, carries ? seconds + 1 : seconds, carries ? 0 : nanoseconds);
    }
    last.set(next);
  }
}

function writeTai64n(out: Uint8Array, seconds: number, nanoseconds: number): void {
  const view = new DataView(out.buffer, out.byteOffset, TIMESTAMP_BYTES);
  view.setBigUint64(0, TAI64_EPOCH_SECONDS + BigInt(seconds));
  view.setUint32(8, nanoseconds);
}

function readTai64n(bytes: Uint8Array): { seconds: number; nanoseconds: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, TIMESTAMP_BYTES);
  const seconds = Number(view.getBigUint64(0) - TAI64_EPOCH_SECONDS);
  return { seconds, nanoseconds: view.getUint32(8) };
}

/** A timestamp (12 bytes) as Unix time in ms; any bytes give a number, however senseless. */
export function timestampMs(bytes: Uint8Array): number {
  const { seconds, nanoseconds } = readTai64n(bytes);
  return seconds * 1_000 + Math.floor(nanoseconds / 1e6);
}

/** Whether timestamp `a` is later than `b`; both are 12 bytes. */
export function isLaterTimestamp(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < TIMESTAMP_BYTES; i++) {
    if (a[i] !== b[i]) return a[i]! > b[i]!;
  }
  return false;
}
