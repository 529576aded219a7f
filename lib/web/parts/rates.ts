// Bytes a second, out of totals that are read about once a second.

/** A rate is the mean of these last milliseconds, because gateways report once a second. */
const RATE_MS = 4_000;
const READINGS_MAX = 20;

/** Totals at a time, as gateways count them: `txBytes` is what was sent to devices. */
export interface Totals {
  readonly atMs: number;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/** Bytes a second, as devices see them. */
export interface Rate {
  readonly down: number;
  readonly up: number;
}

/** The rates of some things, each with a key. */
export class Rates {
  readonly #readings = new Map<string, Totals[]>();

  /** Notes the totals of one; returns its rate over the last readings. */
  note(key: string, now: Totals): Rate {
    const readings = this.#readings.get(key) ?? [];
    this.#readings.set(key, readings);
    readings.push(now);
    while (
      readings.length > READINGS_MAX ||
      (readings.length > 2 && (readings[1]?.atMs ?? 0) <= now.atMs - RATE_MS)
    )
      readings.shift();
    const [first = now] = readings;
    const seconds = (now.atMs - first.atMs) / 1_000;
    // Nobody looked for a while, or the clock was set back: only the next reading gives a rate.
    if (seconds <= 0 || seconds > 2 * (RATE_MS / 1_000)) {
      readings.splice(0, readings.length, now);
      return { down: 0, up: 0 };
    }
    // A sum falls when a device is deleted.
    const rate = (before: number, after: number): number =>
      Math.round(Math.max(0, after - before) / seconds);
    return { down: rate(first.txBytes, now.txBytes), up: rate(first.rxBytes, now.rxBytes) };
  }

  /** Forgets all but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#readings.keys()) if (!keys.has(key)) this.#readings.delete(key);
  }
}
