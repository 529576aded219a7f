// What the gateway of this process carried lately, in memory: of the gateway the last five minutes
// in seconds, of each device the same in steps of five seconds, for charts that are full at once;
// and of gateway, devices and rules the last two hours in minutes. All of it is what the samples
// saw, which are taken in any case. Nothing of it is written. docs/state.md#history.

import type { Sample } from '../../../dataplane/index.ts';
import { Steps } from './steps.ts';

/** Seconds of a chart that is live. */
export const LIVE_S = 300;
/** Seconds of one step in which the last hours are kept. */
export const MINUTE_S = 60;
const MINUTES_KEPT = 120;
/** Devices, and rules, of which minutes are kept: 30 MB at most of each. */
const SUBJECTS_MAX = 32_768;
/** A step that is not over has a rate when so much of it is. */
const PART_MS = 1_000;

/** The records of which minutes are kept, as in `Traffic`. */
export type MinutesOf = 'device' | 'rule' | 'all';

const NOBODY = '';

/** Steps of a live chart: what was carried in each of them, bytes a second. */
export interface LiveSteps {
  /** When the first one begins, Unix time in seconds. */
  readonly from: number;
  /** Seconds of one step. */
  readonly step: number;
  readonly down: readonly number[];
  readonly up: readonly number[];
}

/** What the recent traffic is made of. */
export interface RecentTrafficOptions {
  /** The device behind a public key, null when it is gone. */
  readonly deviceIdOf: (publicKey: string) => string | null;
  /** Unix time in ms. */
  readonly wallMs?: () => number;
}

/** What the gateway of this process carried lately. */
export class RecentTraffic {
  readonly #deviceIdOf: RecentTrafficOptions['deviceIdOf'];
  readonly #wallMs: () => number;
  readonly #gateway = new Steps({ stepMs: 1_000, kept: LIVE_S, counts: 2, max: 1 });
  readonly #devices = new Steps({ stepMs: 5_000, kept: LIVE_S / 5, counts: 2, max: SUBJECTS_MAX });
  readonly #minutes: Readonly<Record<MinutesOf, Steps>> = {
    device: minutesOf(2, SUBJECTS_MAX),
    rule: minutesOf(2, SUBJECTS_MAX),
    all: minutesOf(3, 1),
  };
  /** When this began, Unix ms. */
  readonly beganMs: number;
  #sampledMs: number;
  #refused = 0;

  constructor({ deviceIdOf, wallMs = () => Date.now() }: RecentTrafficOptions) {
    this.#deviceIdOf = deviceIdOf;
    this.#wallMs = wallMs;
    this.beganMs = wallMs();
    this.#sampledMs = this.beganMs;
  }

  /** Takes what a sample saw. */
  observe({ peers, rules, drops }: Sample): void {
    const nowMs = this.#wallMs();
    const sinceMs = Math.min(this.#sampledMs, nowMs);
    this.#sampledMs = nowMs;
    const sum = { down: 0, up: 0, rx: 0, tx: 0 };
    for (const { publicKey, rxBytes, txBytes, rxInnerBytes, txInnerBytes } of peers) {
      const id = this.#deviceIdOf(publicKey);
      if (id === null || rxBytes + txBytes === 0) continue;
      this.#devices.add(id, [txBytes, rxBytes], nowMs, sinceMs);
      sum.down += txBytes;
      sum.up += rxBytes;
      // Keepalives and handshakes alone carry nothing.
      if (rxInnerBytes + txInnerBytes === 0) continue;
      this.#minutes.device.add(id, [rxInnerBytes, txInnerBytes], nowMs);
      sum.rx += rxInnerBytes;
      sum.tx += txInnerBytes;
    }
    for (const { id, packets, bytes } of rules) this.#minutes.rule.add(id, [packets, bytes], nowMs);
    const refused = this.#newlyRefused(drops);
    if (sum.down + sum.up > 0) this.#gateway.add(NOBODY, [sum.down, sum.up], nowMs, sinceMs);
    if (sum.rx + sum.tx + refused > 0)
      this.#minutes.all.add(NOBODY, [sum.rx, sum.tx, refused], nowMs);
  }

  /** The steps of a device, or, for null, of the gateway that end after a time in seconds. */
  live(deviceId: string | null, afterS = 0): LiveSteps {
    const [steps, step] = deviceId === null ? [this.#gateway, 1] : [this.#devices, 5];
    const stepMs = step * 1_000;
    const last = Math.floor(this.#sampledMs / stepMs);
    const oldest = Math.max(last - LIVE_S / step + 1, Math.floor(this.beganMs / stepMs));
    const first = Math.max(oldest, Math.floor(afterS / step));
    const down: number[] = [];
    const up: number[] = [];
    for (let number = first; number <= last; number += 1) {
      const beganMs = Math.max(number * stepMs, this.beganMs);
      const partMs = Math.min((number + 1) * stepMs, this.#sampledMs) - beganMs;
      if (number === last && partMs < PART_MS) break;
      const counts = steps.read(deviceId ?? NOBODY, number);
      const rate = (count = 0): number => Math.round((count * 1_000) / Math.max(partMs, PART_MS));
      down.push(rate(counts?.[0]));
      up.push(rate(counts?.[1]));
    }
    return { from: first * step, step, down, up };
  }

  /** What was counted of some records together in the minute that begins at a time in seconds. */
  minute(of: MinutesOf, ids: readonly string[], at: number): number[] {
    const steps = this.#minutes[of];
    const sum: number[] = [];
    for (const id of of === 'all' ? [NOBODY] : ids) steps.addTo(sum, id, at / MINUTE_S);
    return sum;
  }

  /** How many more packets were refused than when this was asked last. */
  #newlyRefused(drops: Sample['drops']): number {
    const refused = Object.values(drops).reduce((sum, count) => sum + count, 0);
    const increment = refused - this.#refused;
    this.#refused = refused;
    // A data plane that was started again counts from zero.
    return increment < 0 ? refused : increment;
  }
}

function minutesOf(counts: number, max: number): Steps {
  return new Steps({ stepMs: MINUTE_S * 1_000, kept: MINUTES_KEPT, counts, max });
}
