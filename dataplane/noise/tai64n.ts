// TAI64N timestamps (https://cr.yp.to/libtai/tai64.html): 8 bytes of seconds, 4 of nanoseconds,
// big-endian, so that a later one is greater as bytes. The low 24 bits of the nanoseconds are
// cleared, as the kernel does, so that the timestamp tells little about the clock.

import { TIMESTAMP_BYTES } from '../constants.ts';

/** TAI64 label of the Unix epoch, with the ten leap seconds of 1970. */
const TAI64_EPOCH_SECONDS = 2n ** 62n + 10n;
const STEP_NANOSECONDS = 2 ** 24;

/** Makes timestamps that only ever grow, whatever the wall clock does. */
export class TimestampSource {
  #lastSeconds = 0;
  #lastNanoseconds = 0;

  /** Writes max(wall clock, last timestamp + one step); `wallMs` is Unix time. */
  write(out: Uint8Array, wallMs: number): void {
    let seconds = Math.floor(wallMs / 1000);
    let nanoseconds = Math.floor((wallMs - seconds * 1000) * 1e6);
    nanoseconds -= nanoseconds % STEP_NANOSECONDS;
    const isLater =
      seconds > this.#lastSeconds ||
      (seconds === this.#lastSeconds && nanoseconds > this.#lastNanoseconds);
    if (!isLater) {
      seconds = this.#lastSeconds;
      nanoseconds = this.#lastNanoseconds + STEP_NANOSECONDS;
      if (nanoseconds >= 1e9) {
        seconds += 1;
        nanoseconds = 0;
      }
    }
    this.#lastSeconds = seconds;
    this.#lastNanoseconds = nanoseconds;
    writeTai64n(out, seconds, nanoseconds);
  }
}

function writeTai64n(out: Uint8Array, seconds: number, nanoseconds: number): void {
  const view = new DataView(out.buffer, out.byteOffset, TIMESTAMP_BYTES);
  view.setBigUint64(0, TAI64_EPOCH_SECONDS + BigInt(seconds));
  view.setUint32(8, nanoseconds);
}

/** Whether timestamp `a` is later than `b`; both are 12 bytes. */
export function isLaterTimestamp(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < TIMESTAMP_BYTES; i++) {
    if (a[i] !== b[i]) return a[i]! > b[i]!;
  }
  return false;
}
