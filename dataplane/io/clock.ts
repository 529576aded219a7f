// The clocks. The packet path never reads one: it gets `now` and `wallMs` with each call.

/** Two clocks, both in milliseconds: one that only goes forward, and Unix time. */
export interface Clock {
  now(): number;
  wall(): number;
}

/** The clocks of this machine; `bootTime` reads CLOCK_BOOTTIME, null without the addon. */
export function systemClock(bootTime: (() => number) | null): Clock {
  return { now: bootTime ?? (() => performance.now()), wall: () => Date.now() };
}
